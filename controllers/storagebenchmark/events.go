package storagebenchmark

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxNote of an event in characters: 1024 bytes are allowed, and a character can take four.
const maxNote = 256

// news is something to tell once the status that it speaks of is written.
type news struct {
	kind, reason string
	// action is what the operator did, for machines.
	action string
	note   string
	// related is the run that it is about, if any.
	related *v1alpha1.BenchmarkRun
}

// Actions of events.
const (
	actionCreate = "CreateRun"
	actionJudge  = "JudgeRun"
	actionCheck  = "CheckSpec"
	// actionReplace and actionSchedule are about what starts when.
	actionReplace  = "StopRun"
	actionSchedule = "LookAtSchedule"
	actionSuspend  = "LookAtSuspend"
)

// eventsOf are what a person would ask about: each is told once, by the patch that makes it known.
func eventsOf(obs observation, act action, out outcome, status *v1alpha1.StorageBenchmarkStatus) []news {
	switch act.do {
	case replace:
		if out.err == nil && !out.again {
			return []news{{corev1.EventTypeNormal, v1alpha1.EventRunReplaced, actionReplace,
				"run " + act.run.Name + " is stopped: another is due, and spec.trigger.replacePolicy is Stop", act.run}}
		}
	case create:
		if out.created != nil {
			return []news{{corev1.EventTypeNormal, v1alpha1.EventRunCreated, actionCreate, "created run " + out.created.Name, out.created}}
		}
	case adopt:
		return []news{{corev1.EventTypeNormal, v1alpha1.EventRunCreated, actionCreate, "created run " + act.run.Name, act.run}}
	case judge:
		if withoutVerdict(obs.active.run) {
			return passedEvent(obs.active.run)
		}
		return []news{judgedEvent(status.LastRun, obs.active.run)}
	case miss:
		return []news{{corev1.EventTypeWarning, v1alpha1.EventRunFailed, actionJudge, status.LastRun.Message, nil}}
	case await:
		if ready := changedReady(obs, status); ready != "" {
			return []news{{corev1.EventTypeWarning, v1alpha1.EventReferenceMissing, actionCheck, ready, nil}}
		}
	case refuse:
		if ready := changedReady(obs, status); ready != "" {
			return []news{{corev1.EventTypeWarning, v1alpha1.EventInvalidWorkload, actionCheck, ready, nil}}
		}
	case intend:
		if times := obs.times.due; times.Missed > 1 {
			return []news{missedEvent(times.Missed-1, times.TooMany, "the newest of them, "+clockText(times.At)+", is run now")}
		}
	case leave, watch, hold, yield:
	}
	return nil
}

// passedEvent is about a run that ended without a verdict. That one was told to make way was told then.
func passedEvent(run *v1alpha1.BenchmarkRun) []news {
	if !endedBy(run, v1alpha1.ReasonPreempted) {
		return nil
	}
	return []news{{corev1.EventTypeWarning, v1alpha1.EventRunPreempted, actionCreate, "run " + run.Name + " was preempted; another one is queued for it", run}}
}

// missedEvent is about times of the schedule that passed without a run.
func missedEvent(count int, atLeast bool, then string) news {
	text := fmt.Sprintf("%d times of the schedule passed without a run", count)
	switch {
	case atLeast:
		text = "over " + text
	case count == 1:
		text = "a time of the schedule passed without a run"
	}
	return news{corev1.EventTypeWarning, v1alpha1.EventScheduleMissed, actionSchedule, text + "; " + then, nil}
}

// skippedEvent is about a time that was too late to start.
func skippedEvent(obs observation) []news {
	if !obs.times.skips(obs) {
		return nil
	}
	return []news{missedEvent(1, false, fmt.Sprintf("%s is longer ago than spec.trigger.startingDeadline %s",
		clockText(obs.times.due.Expired), obs.times.deadline))}
}

func judgedEvent(verdict *v1alpha1.JudgedRun, run *v1alpha1.BenchmarkRun) news {
	told := news{corev1.EventTypeWarning, v1alpha1.EventRunFailed, actionJudge,
		fmt.Sprintf("%s: %s", verdict.Reason, verdict.Message), run}
	switch verdict.Reason {
	case v1alpha1.ReasonPassed:
		told.kind, told.reason, told.note = corev1.EventTypeNormal, v1alpha1.EventRunComplete, verdict.Message
	case v1alpha1.ReasonRunInvalid:
		told.reason, told.note = v1alpha1.EventRunInvalid, verdict.Message
	case v1alpha1.ReasonRegressed:
		told.reason, told.note = v1alpha1.EventRegressed, verdict.Message
	case v1alpha1.ReasonObjectiveMissed:
		told.reason, told.note = v1alpha1.EventObjectiveMissed, verdict.Message
	}
	return told
}

// changedReady is the message of Ready where its reason or message is new, else empty.
func changedReady(obs observation, status *v1alpha1.StorageBenchmarkStatus) string {
	before, after := find(obs.benchmark.Status.Conditions, v1alpha1.ConditionReady), find(status.Conditions, v1alpha1.ConditionReady)
	if before != nil && before.Reason == after.Reason && before.Message == after.Message {
		return ""
	}
	return after.Message
}
