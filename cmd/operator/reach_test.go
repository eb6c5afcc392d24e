package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	coretesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/hang"
)

// narrow is the namespace of an operator that watches only one namespace, the one in watched.
const (
	narrow  = "storagebench-narrow"
	watched = "watched"
)

// installNarrow grants that operator the rights of config/namespaced, but no cluster-wide reads.
func installNarrow(t *testing.T) {
	t.Helper()
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	for _, name := range []string{narrow, watched} {
		must(t, cluster.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	manifests, err := render.Folder(os.DirFS("../../config"), render.Namespaced, "")
	must(t, err)
	manifests = bytes.ReplaceAll(manifests, []byte(namespace), []byte(narrow))
	manifests = bytes.ReplaceAll(manifests, []byte("namespace: benchmarks\n"), []byte("namespace: "+watched+"\n"))
	made := 0
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(document, object))
		if kind := object.GetKind(); slices.Contains([]string{"ServiceAccount", "Role", "RoleBinding"}, kind) {
			must(t, cluster.Create(t.Context(), object))
			made++
		}
	}
	if made != 5 {
		t.Fatalf("there are %d objects, want an account and two roles with their bindings", made)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOperatorOfOneNamespace(t *testing.T) {
	installNarrow(t)
	makesProfile := builders.ClusterProfile("everybodys-narrow", builders.Fio())
	must(t, cluster.Create(t.Context(), makesProfile))
	elsewhere := builders.Benchmark("elsewhere").Target("data").Clients(1).Prepare("layout").Obj()
	elsewhere.Namespace = "default"
	must(t, cluster.Create(t.Context(), elsewhere))
	t.Cleanup(func() { _ = cluster.Delete(context.WithoutCancel(t.Context()), elsewhere) })

	o := startAs(t, narrow, "--namespaces="+watched+",absent")
	profile := builders.Profile(watched, "judged", builders.Fio())
	must(t, cluster.Create(t.Context(), profile))
	hang.Until(t, "the profile is judged", func() bool {
		must(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(profile), profile))
		return meta.IsStatusConditionTrue(profile.Status.Conditions, v1alpha1.ConditionReady)
	})
	refers := builders.Benchmark("refers").Target("data").Clients(1).Prepare("layout").Obj()
	refers.Namespace = watched
	refers.Spec.Run.Workload = &v1alpha1.Workload{ProfileRef: &v1alpha1.ProfileRef{Kind: v1alpha1.ClusterWorkloadProfileKind, Name: makesProfile.Name}}
	must(t, cluster.Create(t.Context(), refers))
	hang.Until(t, "the benchmark says that the profile may not be read", func() bool {
		must(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(refers), refers))
		ready := meta.FindStatusCondition(refers.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == v1alpha1.ReasonProfileNotFound && strings.Contains(ready.Message, "no permission to read cluster-scoped profiles")
	})
	makesPodsIn(t, watched)
	// An operator that acts in other namespaces would have done so by now.
	must(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), elsewhere))
	if elsewhere.Status.ObservedGeneration > 0 || len(elsewhere.Status.Conditions) > 0 {
		t.Errorf("a benchmark of a namespace that is not watched has the status %+v", elsewhere.Status)
	}
	must(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(makesProfile), makesProfile))
	if len(makesProfile.Status.Conditions) > 0 {
		t.Errorf("a profile of the cluster was judged: %+v", makesProfile.Status)
	}

	o.signal(t, syscall.SIGTERM)
	if code := o.exit(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	log := strings.Join(o.lines(), "\n")
	for _, want := range []string{`"watched":"absent"`, `"kind":"clusterworkloadprofiles.storagebench.dev"`, `"kind":"persistentvolumes"`, `"namespaces":["watched"]`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %s", want)
		}
	}
	for _, unwanted := range []string{"forbidden", "is not cached"} {
		if strings.Contains(log, unwanted) {
			t.Errorf("%q is in the log", unwanted)
		}
	}
}

func TestOperatorOfNoNamespaceItMayRead(t *testing.T) {
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	// The service account has no rights in the namespace default.
	if err := cluster.Get(t.Context(), client.ObjectKey{Name: narrow}, &corev1.Namespace{}); apierrors.IsNotFound(err) {
		installNarrow(t)
	}
	o := startAs(t, narrow, "--namespaces=default")
	if code := o.exit(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	lines := o.lines()
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "error: --namespaces is default") {
		t.Errorf("the last line is %q", last)
	}
}

// TestReachIsWatched checks that the watch ends with an error once rights are granted or revoked.
func TestReachIsWatched(t *testing.T) {
	var allowed atomic.Bool
	asked := make(chan struct{}, 100)
	fakes := fake.NewClientset()
	fakes.PrependReactor("create", "selfsubjectaccessreviews", func(action coretesting.Action) (bool, runtime.Object, error) {
		review := action.(coretesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		about := review.Spec.ResourceAttributes
		review.Status.Allowed = about.Namespace == "a" || allowed.Load()
		select {
		case asked <- struct{}{}:
		default:
		}
		return true, review, nil
	})
	known, err := installation.FindReach(t.Context(), fakes.AuthorizationV1(), []string{"a", "b"})
	must(t, err)
	watch := &reachWatch{asked: []string{"a", "b"}, known: known, reviews: fakes.AuthorizationV1(), every: time.Millisecond}
	if watch.NeedLeaderElection() {
		t.Error("an operator on standby does not watch its rights")
	}
	ended := make(chan error, 1)
	go func() { ended <- watch.Start(t.Context()) }()
	for range 50 {
		<-asked
	}
	select {
	case err := <-ended:
		t.Fatalf("the watch ended although nothing has changed: %v", err)
	default:
	}
	allowed.Store(true)
	if err := <-ended; !errors.Is(err, errReachChanged) {
		t.Errorf("the watch ended with %v", err)
	}
}
