package storagebenchmark

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
)

// observation is what a decision is made on. Nobody changes what it points to.
type observation struct {
	benchmark *v1alpha1.StorageBenchmark
	// hash of the present spec.run.
	hash string
	// active is what became of status.activeRun.
	active activeRun
	// runs of this benchmark, the active one included. Those that have ended may be trimmed (see
	// TrimEndedRun).
	runs []v1alpha1.BenchmarkRun
	// times are those of the schedule.
	times timetable
	// candidate is what would be frozen into a new run. It is looked at only where one may be created.
	candidate candidate
	// review is the newest judged run where it has to be judged again.
	review review
	now    time.Time
}

// activeState is what became of the run that status.activeRun names.
type activeState string

const (
	// noActive: status names none.
	noActive activeState = "none"
	// activeIntended: it is recorded and does not exist yet.
	activeIntended activeState = "intended"
	// activeTaken: it is recorded and cannot be created, because its name is another object's.
	activeTaken activeState = "taken"
	// activeLive: it exists and has not ended.
	activeLive activeState = "live"
	// activeEnded: it exists and has ended.
	activeEnded activeState = "ended"
	// activeDeleted: it existed and does not any more.
	activeDeleted activeState = "deleted"
)

// activeRun is status.activeRun as it was found.
type activeRun struct {
	state activeState
	// run is set where it exists: whole where it has ended.
	run *v1alpha1.BenchmarkRun
}

// activeOf judges what was found under the name of status.activeRun; found is nil where there is
// nothing.
func activeOf(benchmark *v1alpha1.StorageBenchmark, found *v1alpha1.BenchmarkRun) activeRun {
	recorded := benchmark.Status.ActiveRun
	switch {
	case recorded == nil:
		return activeRun{state: noActive}
	case recorded.UID != "" && (found == nil || string(found.UID) != recorded.UID):
		return activeRun{state: activeDeleted}
	case found == nil:
		return activeRun{state: activeIntended}
	case recorded.UID == "" && !isIntended(benchmark, found):
		return activeRun{state: activeTaken, run: found}
	case ended(found):
		return activeRun{state: activeEnded, run: found}
	}
	return activeRun{state: activeLive, run: found}
}

// isIntended reports whether a run is the one that status.activeRun asks for, which only a part of
// its digest in the name cannot prove.
func isIntended(benchmark *v1alpha1.StorageBenchmark, run *v1alpha1.BenchmarkRun) bool {
	hash := benchmark.Status.ActiveRun.Hash
	return metav1.IsControlledBy(run, benchmark) && run.Spec.Hash == hash &&
		run.Spec.Seed == identityOf(benchmark, &benchmark.Status, hash).seed
}

// ended reports whether nothing happens in a run any more. A run that has failed ends when its data is
// removed.
func ended(run *v1alpha1.BenchmarkRun) bool {
	return run.Status.EndTime != nil || isTrue(run.Status.Conditions, v1alpha1.ConditionComplete)
}

func isTrue(conditions []metav1.Condition, kind string) bool {
	return meta.IsStatusConditionTrue(conditions, kind)
}

// candidate is what a new run would be made of, or why there can be none.
type candidate struct {
	// missing are references to what is not there, and reason the API's word for the first.
	missing field.ErrorList
	reason  string
	// problems keep the plan from being made; nothing but an edit helps.
	problems field.ErrorList

	run *v1alpha1.RunSpec
	// storage is what plans are made with.
	storage plan.Storage
}
