package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/hang"
)

// TestProfileLibrary checks that --profile-library=false neither creates nor removes profiles, that the operator
// otherwise creates the library, and that it never touches users' profiles. Operators without, with and again without
// the library run one after the other.
func TestProfileLibrary(t *testing.T) {
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	all, err := library.Profiles()
	must(t, err)
	tidy := func() {
		must(t, cluster.DeleteAllOf(context.WithoutCancel(t.Context()), &v1alpha1.ClusterWorkloadProfile{}, client.HasLabels{v1alpha1.LabelLibrary}))
	}
	tidy() // operators of earlier tests may have applied the library
	t.Cleanup(tidy)
	// One of the user's profiles has the name of a profile in the library.
	for _, name := range []string{"etcd-wal", "own"} {
		own := builders.ClusterProfile(name, builders.Fio())
		must(t, cluster.Create(t.Context(), own))
		t.Cleanup(func() { must(t, client.IgnoreNotFound(cluster.Delete(context.WithoutCancel(t.Context()), own))) })
	}
	users := profiles(t)

	without(t)
	if now := profiles(t); !maps.Equal(now, users) {
		t.Errorf("without the library there are %v, want those of the user alone: %v", slices.Sorted(maps.Keys(now)), users)
	}

	o := start(t)
	hang.Until(t, "the library is applied", func() bool {
		return strings.Contains(strings.Join(o.lines(), "\n"), "Applied the profile library")
	})
	made := profiles(t)
	for _, one := range all {
		if made[one.Name] == "" {
			t.Errorf("there is no %s", one.Name)
		}
	}
	if len(made) != len(all)+1 || made["etcd-wal"] != users["etcd-wal"] || made["own"] != users["own"] {
		t.Errorf("with the library there are %v; the user's were %v", made, users)
	}
	end(t, o)

	changed := &v1alpha1.ClusterWorkloadProfile{}
	must(t, cluster.Get(t.Context(), client.ObjectKey{Name: "oltp-8k"}, changed))
	changed.Spec.Fio.QueueDepth = new(int32(3))
	must(t, cluster.Update(t.Context(), changed))
	must(t, cluster.Delete(t.Context(), &v1alpha1.ClusterWorkloadProfile{ObjectMeta: metav1.ObjectMeta{Name: "seq-read-1m"}}))
	left := profiles(t)
	without(t)
	if now := profiles(t); !maps.Equal(now, left) {
		t.Errorf("the profiles changed from %v to %v", left, now)
	}
}

// without runs an operator without the library until a run has its pods: by then, it would also have applied the
// library.
func without(t *testing.T) {
	t.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "library-off-"}}
	must(t, cluster.Create(t.Context(), space))
	o := start(t, "--profile-library=false")
	makesPodsIn(t, space.Name)
	end(t, o)
	if log := strings.Join(o.lines(), "\n"); strings.Contains(log, "library of profiles") {
		t.Errorf("its log mentions the library:\n%s", log)
	}
}

func end(t *testing.T, o *operator) {
	t.Helper()
	o.signal(t, syscall.SIGTERM)
	if code := o.exit(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

// profiles returns the cluster's profiles by name, each as its UID, generation and library label.
func profiles(t *testing.T) map[string]string {
	t.Helper()
	var list v1alpha1.ClusterWorkloadProfileList
	must(t, cluster.List(t.Context(), &list))
	found := map[string]string{}
	for _, one := range list.Items {
		found[one.Name] = fmt.Sprintf("%s, generation %d, label %q", one.UID, one.Generation, one.Labels[v1alpha1.LabelLibrary])
	}
	return found
}
