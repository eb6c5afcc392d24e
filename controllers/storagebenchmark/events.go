package storagebenchmark

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// benchmarkEvent is an event about a benchmark. It is sent once the status change that it reports is stored.
type benchmarkEvent struct {
	kind, reason string
	// action is a machine-readable name for what the operator did.
	action string
	note   string
	// related is the run that the event is about, if any.
	related *v1alpha1.BenchmarkRun
}

// Values of benchmarkEvent.action, which name what the operator did.
const (
	actionCreate = "CreateRun"
	actionJudge  = "JudgeRun"
	actionCheck  = "CheckSpec"
	// actionReplace, actionSchedule and actionSuspend are used in events about whether and when runs start, and
	// actionReport in events about the status itself.
	actionReplace  = "StopRun"
	actionSchedule = "LookAtSchedule"
	actionSuspend  = "LookAtSuspend"
	actionReport   = "WriteStatus"
)

// eventsOf returns those events about an action that matter to users. Each event is sent once, after the status patch
// that records the same change.
func eventsOf(obs observation, act action, out outcome, status *v1alpha1.StorageBenchmarkStatus) []benchmarkEvent {
	switch act.do {
	case replace:
		if out.err == nil && !out.again {
			return []benchmarkEvent{{corev1.EventTypeNormal, v1alpha1.EventRunReplaced, actionReplace,
				"run " + act.run.Name + " is being stopped: the next run is due and spec.trigger.concurrencyPolicy is Replace", act.run}}
		}
	case create:
		if out.created != nil {
			return []benchmarkEvent{{corev1.EventTypeNormal, v1alpha1.EventRunCreated, actionCreate, "created run " + out.created.Name, out.created}}
		}
	case adopt:
		return []benchmarkEvent{{corev1.EventTypeNormal, v1alpha1.EventRunCreated, actionCreate, "created run " + act.run.Name, act.run}}
	case judge:
		if followsReplaced(obs) {
			return overtakenEvent(obs)
		}
		if withoutVerdict(obs.active.run) {
			return passedEvent(obs.active.run)
		}
		return []benchmarkEvent{judgedEvent(status.LastRun, obs.active.run)}
	case miss:
		return []benchmarkEvent{{corev1.EventTypeWarning, v1alpha1.EventRunFailed, actionJudge, status.LastRun.Message, nil}}
	case await:
		if ready := changedReady(obs, status); ready != "" {
			return []benchmarkEvent{{corev1.EventTypeWarning, v1alpha1.EventReferenceMissing, actionCheck, ready, nil}}
		}
	case refuse:
		if ready := changedReady(obs, status); ready != "" {
			return []benchmarkEvent{{corev1.EventTypeWarning, v1alpha1.EventInvalidWorkload, actionCheck, ready, nil}}
		}
	case intend:
		return overtakenEvent(obs)
	case leave, watch, hold, yield:
	}
	return nil
}

// overtakenEvent returns the event about missed scheduled times, of which only the most recent one starts a run now.
func overtakenEvent(obs observation) []benchmarkEvent {
	times := obs.times.due
	if times.Missed <= 1 {
		return nil
	}
	then := "starting the most recent one, " + clockText(times.At) + ", now"
	return []benchmarkEvent{missedEvent(times.Missed-1, times.TooMany, then)}
}

// passedEvent returns the event about a run that ended without a verdict because it was preempted. It returns nil for a
// run that made way for another run, because that event was sent when the run was told to stop.
func passedEvent(run *v1alpha1.BenchmarkRun) []benchmarkEvent {
	if !endedBy(run, v1alpha1.ReasonPreempted) {
		return nil
	}
	return []benchmarkEvent{{corev1.EventTypeWarning, v1alpha1.EventRunPreempted, actionCreate, "run " + run.Name + " was preempted; a new run is queued in its place", run}}
}

// missedEvent returns the event about scheduled times that passed without a run.
func missedEvent(count int, atLeast bool, then string) benchmarkEvent {
	text := fmt.Sprintf("%d scheduled runs were missed", count)
	switch {
	case atLeast:
		text = "more than " + text
	case count == 1:
		text = "1 scheduled run was missed"
	}
	return benchmarkEvent{corev1.EventTypeWarning, v1alpha1.EventScheduleMissed, actionSchedule, text + "; " + then, nil}
}

// skippedEvent returns the event about a scheduled run that is skipped because its starting deadline has passed.
func skippedEvent(obs observation) []benchmarkEvent {
	if !obs.times.skips(obs) {
		return nil
	}
	return []benchmarkEvent{missedEvent(1, false, fmt.Sprintf("it was due at %s, and its starting deadline (%s) has passed",
		clockText(obs.times.due.Expired), obs.times.deadline))}
}

// refusedEvent returns the event about a status that the API server rejects. The event is needed because the rejected
// status cannot report the problem.
func refusedEvent(err error) benchmarkEvent {
	note := "the API server rejected the new status; check that the installed CRDs match the operator's version: " + err.Error()
	return benchmarkEvent{corev1.EventTypeWarning, v1alpha1.EventRequestRefused, actionReport, note, nil}
}

func judgedEvent(verdict *v1alpha1.JudgedRun, run *v1alpha1.BenchmarkRun) benchmarkEvent {
	sent := benchmarkEvent{corev1.EventTypeWarning, v1alpha1.EventRunFailed, actionJudge,
		fmt.Sprintf("%s: %s", verdict.Reason, verdict.Message), run}
	switch verdict.Reason {
	case v1alpha1.ReasonPassed:
		sent.kind, sent.reason, sent.note = corev1.EventTypeNormal, v1alpha1.EventRunComplete, verdict.Message
	case v1alpha1.ReasonRunInvalid:
		sent.reason, sent.note = v1alpha1.EventRunInvalid, verdict.Message
	case v1alpha1.ReasonRegressed:
		sent.reason, sent.note = v1alpha1.EventRegressed, verdict.Message
	case v1alpha1.ReasonObjectiveMissed:
		sent.reason, sent.note = v1alpha1.EventObjectiveMissed, verdict.Message
	}
	return sent
}

// changedReady returns the message of Ready if its reason or message has changed, otherwise "".
func changedReady(obs observation, status *v1alpha1.StorageBenchmarkStatus) string {
	before, after := find(obs.benchmark.Status.Conditions, v1alpha1.ConditionReady), find(status.Conditions, v1alpha1.ConditionReady)
	if before != nil && before.Reason == after.Reason && before.Message == after.Message {
		return ""
	}
	return after.Message
}
