package storagebenchmark

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// outcome is the result of an action's writes to the API server.
type outcome struct {
	// created is the run that now exists, or nil if none was created.
	created *v1alpha1.BenchmarkRun
	// again requests another reconcile soon, because the cluster no longer matches the observation.
	again bool
	// refused is the reason why the run could not be created, for the status.
	refused string
	// err is an error that causes the reconcile to be retried later.
	err error
}

// report is the outcome of a reconcile: the complete new status, the events to send, and when to reconcile again if
// nothing changes.
type report struct {
	status v1alpha1.StorageBenchmarkStatus
	events []benchmarkEvent
	wake   time.Duration
}

// reportOn derives the new status and the events from the observation, the action and its outcome.
func reportOn(obs observation, act action, out outcome) report {
	status := obs.benchmark.Status.DeepCopy()
	status.ObservedGeneration = obs.benchmark.Generation
	// Record the scheduled time before the other facts, because the name of a scheduled run is derived from it.
	obs.times.note(status, obs, act)
	recordFacts(status, obs, act, out)
	revise(status, obs, act)
	drawn := conditionsFor(status, obs, act, out)
	drawn.regressed = regressedCondition(status, obs)
	status.Conditions = drawn.conditions(obs)
	status.Stage = v1alpha1.Truncate(stageOf(status, obs, act), 64)
	fit(status)
	return report{status: *status, events: slices.Concat(eventsOf(obs, act, out, status), skippedEvent(obs), revisedEvent(obs, act, status), turnEvents(obs, status)), wake: sooner(drawn.wake, obs.times.wake(obs.now))}
}

// recordFacts records an action in the status: the requests that it has handled, the active run, and the verdict.
func recordFacts(status *v1alpha1.StorageBenchmarkStatus, obs observation, act action, out outcome) {
	if adoptsManual(obs.benchmark) {
		status.LastHandledManual = boundedRequest(obs.benchmark.Spec.Trigger.Manual)
	}
	switch act.do {
	case intend:
		recordIntent(status, obs)
	case create:
		if out.created != nil {
			status.ActiveRun.UID = string(out.created.UID)
		}
	case adopt:
		status.ActiveRun = new(referenceTo(act.run))
	case judge:
		if withoutVerdict(obs.active.run) {
			recordWithoutVerdict(status, obs)
			return
		}
		keep(status, verdictOn(obs, obs.active.run), obs.active.run)
		status.ActiveRun = nil
	case miss:
		keep(status, verdictOnDeleted(obs, *status.ActiveRun), nil)
		status.ActiveRun = nil
	case leave, watch, replace, hold, await, refuse, yield:
	}
}

// recordIntent records the run to be created, and the requests that it handles.
func recordIntent(status *v1alpha1.StorageBenchmarkStatus, obs observation) {
	asked := requestOf(obs.benchmark)
	if asked.manual != "" {
		status.LastHandledManual = asked.manual
	}
	if asked.annotation != "" {
		status.LastHandledRequest = asked.annotation
	}
	status.ActiveRun = &v1alpha1.RunReference{Name: identityOf(obs.benchmark, status, obs.hash).name, Hash: obs.hash}
}

// stageOf returns the stage, which names the current activity in one word.
func stageOf(status *v1alpha1.StorageBenchmarkStatus, obs observation, act action) string {
	switch act.do {
	case watch, adopt, replace:
		run := cmp.Or(obs.active.run, act.run)
		if run.Status.Stage != "" {
			return run.Status.Stage
		}
		return v1alpha1.StagePending
	case hold:
		return v1alpha1.StageSuspended
	case refuse:
		return v1alpha1.StageFailed
	case leave, judge, miss:
		switch {
		case !judged(status, obs.hash):
			return v1alpha1.StagePending
		case status.LastRun.Reason == v1alpha1.ReasonPassed:
			return v1alpha1.StageComplete
		case status.LastRun.Reason == v1alpha1.ReasonObjectiveMissed:
			return v1alpha1.StageMissed
		case status.LastRun.Reason == v1alpha1.ReasonRegressed:
			return v1alpha1.StageRegressed
		}
		return v1alpha1.StageFailed
	case await, yield, intend, create:
	}
	return v1alpha1.StagePending
}

func isTrue(conditions []metav1.Condition, kind string) bool {
	return meta.IsStatusConditionTrue(conditions, kind)
}

// find returns the condition of the given type, or nil.
func find(conditions []metav1.Condition, kind string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, kind)
}
