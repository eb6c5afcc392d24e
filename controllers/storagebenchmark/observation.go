package storagebenchmark

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
)

// observation is the input of a decision. The objects that it points to must not be modified.
type observation struct {
	benchmark *v1alpha1.StorageBenchmark
	// hash is the hash of the current spec.run.
	hash string
	// active is the observed state of status.activeRun.
	active activeRun
	// runs are the runs of this benchmark, including the active one. Runs that have ended may be trimmed (see
	// TrimEndedRun).
	runs []v1alpha1.BenchmarkRun
	// times describes which runs the schedule requests.
	times timetable
	// candidate is the input for a new run. It is set only if a run may be created.
	candidate candidate
	// review is the newest evaluated run, if it must be evaluated again.
	review review
	now    time.Time
}

func (o *observation) startsOnChange() bool { return o.benchmark.Spec.Trigger.StartsOnChange() }

// activeState is the state of the run that status.activeRun names.
type activeState string

const (
	// noActive means that the status names no run.
	noActive activeState = "none"
	// activeIntended means that the run is recorded but does not exist yet.
	activeIntended activeState = "intended"
	// activeTaken means that the run is recorded but cannot be created, because another run has its name.
	activeTaken activeState = "taken"
	// activeLive means that the run exists and has not ended.
	activeLive activeState = "live"
	// activeEnded means that the run exists and has ended.
	activeEnded activeState = "ended"
	// activeDeleted means that the run existed but no longer does.
	activeDeleted activeState = "deleted"
)

// activeRun is the observed state of status.activeRun.
type activeRun struct {
	state activeState
	// run is the run that was found under the recorded name, or nil if there is none. A run that has ended is complete,
	// because it was read from the API server (see TrimEndedRun).
	run *v1alpha1.BenchmarkRun
}

// activeOf determines the state of status.activeRun from the object that was found under its name. found is nil if
// there is none.
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

// isIntended reports whether status.activeRun refers to the given run. It does not rely on the name alone, because a
// name contains only a part of the digest of the request (see identityOf).
func isIntended(benchmark *v1alpha1.StorageBenchmark, run *v1alpha1.BenchmarkRun) bool {
	hash := benchmark.Status.ActiveRun.Hash
	return metav1.IsControlledBy(run, benchmark) && run.Spec.Hash == hash &&
		run.Spec.Seed == identityOf(benchmark, &benchmark.Status, hash).seed
}

// ended reports whether a run has ended. A failed run counts as ended only when its end time is set, after cleanup.
func ended(run *v1alpha1.BenchmarkRun) bool {
	return run.Status.EndTime != nil || isTrue(run.Status.Conditions, v1alpha1.ConditionComplete)
}

// candidate is the input from which a new run is created, or the reasons why no run can be created.
type candidate struct {
	// missing lists references to objects that do not exist. reason is the condition reason for the first missing
	// object.
	missing field.ErrorList
	reason  string
	// problems are the reasons why no plan can be made. They can be resolved only by editing the benchmark.
	problems field.ErrorList

	run *v1alpha1.RunSpec
	// catalog and cluster are inputs for planning the run.
	catalog *limits.Catalog
	cluster plan.Cluster
}
