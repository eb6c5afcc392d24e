package newestrun

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// world returns a keeper with a fake API server that holds the given objects.
func world(t *testing.T, objects ...client.Object) (*Keeper, client.Client) {
	t.Helper()
	kinds := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(kinds).WithObjects(objects...).Build()
	return &Keeper{client: api, direct: api, kept: map[client.ObjectKey]kept{}}, api
}

func benchmark(uid types.UID, run string, runUID string) *v1alpha1.StorageBenchmark {
	made := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "b", UID: uid}}
	if run != "" {
		made.Status.LastRun = &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: run, UID: runUID}}
	}
	return made
}

func run(name string, uid types.UID, phase string) *v1alpha1.BenchmarkRun {
	made := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: uid}}
	made.Spec.BenchmarkRef.Name = "b"
	made.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionValid, Status: metav1.ConditionTrue}}
	made.Status.Phases = []v1alpha1.PhaseResult{{Name: phase, Targets: []v1alpha1.TargetResult{{Target: "a",
		Operations: []v1alpha1.OperationResult{{Operation: v1alpha1.OperationRead, BytesPerSecond: new(int64(5))}}}}}}
	return made
}

// phases lists the phases in the kept results of a benchmark, or returns "unknown" if there are no results.
func phases(k *Keeper, of *v1alpha1.StorageBenchmark) string {
	points, known := k.Results(of)
	if !known {
		return "unknown"
	}
	var names []string
	for _, point := range points {
		if point.Family.Name == "benchmark_throughput_bytes_per_second" {
			names = append(names, point.Labels[2])
		}
	}
	return strings.Join(names, " ")
}

func TestKeeper(t *testing.T) {
	first := benchmark("1", "r1", "x")
	k, api := world(t, first, run("r1", "x", "old"), run("r2", "y", "new"))
	look := func() {
		t.Helper()
		if _, err := k.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(first)}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(what string, of *v1alpha1.StorageBenchmark, want string) {
		t.Helper()
		if got := phases(k, of); got != want {
			t.Errorf("%s: the results are those of %q, want %q", what, got, want)
		}
	}
	is("before it was looked at", first, "unknown")
	look()
	is("the newest run", first, "old")
	is("a benchmark that was made again", benchmark("2", "r1", "x"), "unknown")
	is("another run that was not read yet", benchmark("1", "r2", "y"), "unknown")
	second := first.DeepCopy()
	second.Status.LastRun = &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: "r2", UID: "y"}}
	if err := api.Update(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	look()
	is("the newest run now", second, "new")
	third := second.DeepCopy()
	third.Status.LastRun = &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: "r2", UID: "another of that name"}}
	if err := api.Update(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	look()
	is("a run that is gone, with another of its name", third, "unknown")
	if err := api.Delete(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	look()
	if len(k.kept) > 0 {
		t.Errorf("results of a deleted benchmark are kept: %+v", k.kept)
	}
}

// TestJudgedAnother checks that a run is read only when it becomes the benchmark's newest judged run.
func TestJudgedAnother(t *testing.T) {
	if newestRunChanged(event.UpdateEvent{ObjectOld: benchmark("1", "r1", "x"), ObjectNew: benchmark("1", "r1", "x")}) {
		t.Error("the same run is read again")
	}
	if !newestRunChanged(event.UpdateEvent{ObjectOld: benchmark("1", "", ""), ObjectNew: benchmark("1", "r1", "x")}) {
		t.Error("a new newest run is not read")
	}
}

// TestDeletedRunIsForgotten checks that deleting a run, but not creating or changing one, causes a reconcile, which
// drops the results of the deleted run.
func TestDeletedRunIsForgotten(t *testing.T) {
	judged, of := run("r1", "x", "old"), benchmark("1", "r1", "x")
	k, api := world(t, of, judged)
	look := func() {
		t.Helper()
		if _, err := k.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(of)}); err != nil {
			t.Fatal(err)
		}
	}
	look()
	if runDeleted.Create(event.CreateEvent{Object: judged}) || runDeleted.Update(event.UpdateEvent{ObjectOld: judged, ObjectNew: judged}) {
		t.Error("a new or changed run causes a reconcile")
	}
	if !runDeleted.Delete(event.DeleteEvent{Object: judged}) {
		t.Fatal("the deletion of a run causes no reconcile")
	}
	if err := api.Delete(t.Context(), judged); err != nil {
		t.Fatal(err)
	}
	look()
	if got := phases(k, of); got != "unknown" {
		t.Errorf("the results of phase %s are still kept", got)
	}
}
