package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/version"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/soak"
)

// leaves checks what there is more than before.
func (u *userTools) leaves(before, want []string, but ...string) {
	u.Helper()
	var left []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		// Pods and what belongs to kinds end a little later.
		left = more(before, u.inventory(but...))
		if len(want) > 0 {
			// The library's profiles stay as all objects of the kinds do.
			left = slices.DeleteFunc(left, func(one string) bool { return strings.HasPrefix(one, "clusterworkloadprofiles /") })
		}
		if slices.Equal(left, want) {
			return
		}
	}
	u.Errorf("left are\n  %s\nwant\n  %s", strings.Join(left, "\n  "), strings.Join(want, "\n  "))
}

// ownProfiles takes one profile of the library away, and puts one of a user's in the place of another; it gives all that are there then.
func ownProfiles(u *userTools) map[string]string {
	u.Helper()
	for _, name := range []string{"seq-read-1m", "etcd-wal"} {
		must(u.T, u.in.api.Delete(u.Context(), &v1alpha1.ClusterWorkloadProfile{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	must(u.T, u.in.api.Create(u.Context(), builders.ClusterProfile("etcd-wal", builders.Fio())))
	return profilesOf(u)
}

// profilesOf are the profiles of the cluster by their names: which object it is, and which generation of its spec.
func profilesOf(u *userTools) map[string]string {
	u.Helper()
	var list v1alpha1.ClusterWorkloadProfileList
	must(u.T, u.in.api.List(u.Context(), &list))
	found := map[string]string{}
	for _, one := range list.Items {
		found[one.Name] = fmt.Sprintf("%s, generation %d", one.UID, one.Generation)
	}
	return found
}

func uids(pods []corev1.Pod) []types.UID {
	var all []types.UID
	for _, pod := range pods {
		all = append(all, pod.UID)
	}
	slices.Sort(all)
	return all
}

func kindOf(u *userTools) *unstructured.Unstructured {
	u.Helper()
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	must(u.T, u.in.api.Get(u.Context(), client.ObjectKey{Name: "storagebenchmarks.storagebench.dev"}, kind))
	return kind
}

// suspendOf is where the kind has the field spec.suspend.
var suspendOf = []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "suspend"}

func hasSuspend(t *testing.T, kind *unstructured.Unstructured) bool {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(kind.Object, "spec", "versions")
	must(t, err)
	_, found, err := unstructured.NestedMap(versions[0].(map[string]any), suspendOf...)
	must(t, err)
	return found
}

// olderKinds takes a field out of a kind, as if it were of an older version.
func olderKinds(u *userTools) {
	u.Helper()
	kind := kindOf(u)
	versions, _, err := unstructured.NestedSlice(kind.Object, "spec", "versions")
	must(u.T, err)
	unstructured.RemoveNestedField(versions[0].(map[string]any), suspendOf...)
	must(u.T, unstructured.SetNestedSlice(kind.Object, versions, "spec", "versions"))
	must(u.T, u.in.api.Update(u.Context(), kind))
	if hasSuspend(u.T, kindOf(u)) {
		u.Fatal("the kind still has the field")
	}
}

// TestHelmInSomeNamespaces: an operator, and one that stands by, for one namespace; with the reads of the cluster, and
// without. The leader is deleted in the middle of a run.
func TestHelmInSomeNamespaces(t *testing.T) {
	soak.Only(t)
	const release = "narrow"
	// How many seconds the run takes in which the leader is deleted. The next one leads after some five, and on a busy machine
	// later.
	const led = 25
	u := withoutInstallation(t, "storagebench-narrow")
	began := time.Now()
	watched, other := newSpace(t), newSpace(t)
	chart := u.chart()
	u.helm("install", release, chart, "--create-namespace", "--wait", "--timeout", "2m", "--set", "image.registry="+version.Registry,
		"--set", "watch.namespaces={"+watched.namespace+"}", "--set", "operator.replicas=2")
	t.Cleanup(func() {
		u.kubectl("delete", "--ignore-not-found", "--wait", "-f", filepath.Join(u.in.root, "charts", "storagebench", "crds"))
		u.kubectl("delete", "--wait", "namespace", u.namespace)
	})
	t.Cleanup(func() { u.helm("uninstall", release, "--wait") })
	for _, s := range []*space{watched, other} {
		s.claim("data", "1Gi")
	}
	other.apply(small(2).Obj())
	census := watched.census()
	watched.apply(small(led).Obj())
	watched.busy("01-write")
	leader := u.leading()
	u.kubectl("delete", "pod", "--namespace", u.namespace, "--wait=false", leader)
	u.until("the other operator leads", 30*time.Second, func() bool { now := u.leading(); return now != "" && now != leader })
	if run := watched.run(); run.Status.EndTime != nil {
		t.Error("the run was over before another operator led: this shows nothing")
	}
	run := watched.ended(wholeRun)
	undisturbed(watched, run, census)
	didAll(t, run, "write", 2, led, 95)
	if storage := run.Status.Storage; len(storage) != 1 || len(storage[0].Volumes) != 1 || storage[0].Volumes[0].VolumeName == "" {
		t.Errorf("the storage is described as %+v", storage)
	}
	if told := deniedEvents(watched); len(told) > 0 {
		t.Errorf("something could not be read: %q", told)
	}
	u.asksOnly(t, began, other.namespace)

	// The same without the reads of the cluster. Something else is changed with it: an operator that only loses rights
	// notices after a minute.
	u.helm("upgrade", release, chart, "--reuse-values", "--set", "watch.clusterReads=false", "--set", "operator.replicas=1",
		"--set", "operator.logLevel=debug", "--wait", "--timeout", "2m")
	u.available(1)
	// One client: two of them may begin so far apart that a short run is not valid, on a busy machine.
	second := small(2).Clients(1).Obj()
	second.Name = "second"
	watched.apply(second)
	run = watched.ended(wholeRun)
	if run.Spec.BenchmarkRef.Name != "second" {
		watched.until("the second benchmark has its run", wholeRun, func() bool {
			run = watched.run()
			return run.Spec.BenchmarkRef.Name == "second" && run.Status.EndTime != nil
		})
	}
	isComplete(t, run)
	if told := deniedEvents(watched); len(told) != 1 || !strings.Contains(told[0], "persistentvolumes") {
		t.Errorf("what could not be read is told as %q", told)
	}
	if log := u.log(); !strings.Contains(log, `"kind":"persistentvolumes"`) {
		t.Error("the log does not say that volumes cannot be read")
	}
	if status := other.benchmark("bench").Status; status.ObservedGeneration > 0 || len(status.Conditions) > 0 || len(other.runs()) > 0 {
		t.Errorf("the benchmark of a namespace that is not watched has the status %+v", status)
	}
}

// deniedEvents say what could not be read.
func deniedEvents(s *space) []string {
	s.Helper()
	var events corev1.EventList
	must(s.T, s.api.List(s.Context(), &events, client.InNamespace(s.namespace)))
	var told []string
	for _, event := range events.Items {
		if event.Reason == v1alpha1.EventDiscoveryDenied {
			told = append(told, event.Message)
		}
	}
	return told
}

// asksOnly checks that the operator has asked for nothing that it may not have, and for nothing of a namespace.
func (u *userTools) asksOnly(t *testing.T, since time.Time, but string) {
	t.Helper()
	var wrong []string
	seen := 0
	err := u.in.State.Audit("system:serviceaccount:"+u.namespace+":storagebench-operator", func(event auditv1.Event) {
		if event.StageTimestamp.Time.Before(since) {
			return
		}
		seen++
		if decision(&event) == "forbid" || event.ObjectRef != nil && event.ObjectRef.Namespace == but {
			wrong = append(wrong, fmt.Sprintf("%s %s %s", decision(&event), event.Verb, event.RequestURI))
		}
	})
	must(t, err)
	if len(wrong) > 0 || seen == 0 {
		t.Errorf("of %d requests of the operator these are wrong: %q", seen, wrong)
	}
}

// TestInstallYAML: one file, a run, and the file taken away again.
func TestInstallYAML(t *testing.T) {
	soak.Only(t)
	u := withoutInstallation(t, "storagebench-yaml")
	before := u.inventory()
	file := u.manifests(u.namespace, "default")
	u.kubectl("apply", "-f", file)
	u.available(1)
	s := newSpace(t)
	census := s.census()
	u.sample(s, "quickstart.yaml")
	s.until("the benchmark is Ready", wholeRun, func() bool {
		return meta.IsStatusConditionTrue(s.benchmark("quickstart").Status.Conditions, v1alpha1.ConditionReady)
	})
	undisturbed(s, s.ended(time.Minute), census)
	u.kubectl("delete", "--namespace", s.namespace, "storagebenchmarks", "--all", "--wait")
	u.kubectl("delete", "--wait", "--ignore-not-found", "-f", file)
	u.leaves(before, nil, s.namespace)
}
