package storagebenchmark

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// yieldRetry is the interval at which the controller checks whether the name of the benchmark's run is free again. It
// does not watch the run that has the name, because the benchmark does not own that run.
const yieldRetry = time.Minute

// defaultStartTimeout is the API's default for startTimeout.
const defaultStartTimeout = 10 * time.Minute

// claim is the desired status, reason and message of a condition.
type claim struct {
	status          metav1.ConditionStatus
	reason, message string
}

// conditionSet holds the desired conditions. A condition that is nil must be absent from the status.
type conditionSet struct {
	ready, stalled, reconciling, running, regressed *claim
	// since, if not zero, overrides the transition time of Ready.
	since time.Time
	wake  time.Duration
}

// conditionsFor returns the conditions for an action, according to this table of states:
//
//	                                 Ready           Reconciling  Stalled              Running
//	not evaluated yet                Unknown         True         absent               by the action
//	a reference is missing           Unknown         True         after startTimeout   False
//	the workload cannot be run       False           absent       True                 False
//	newest run passed                True            absent       absent               False
//	newest run did not pass          False           absent       True                 False
//	re-run of an evaluated spec.run  last verdict    absent       by last verdict      True
//	suspended, no live run           unchanged       absent       unchanged            False
func conditionsFor(status *v1alpha1.StorageBenchmarkStatus, obs observation, act action, out outcome) conditionSet {
	p := verdictPicture(status, obs)
	p.running = &claim{metav1.ConditionFalse, v1alpha1.ReasonNoRun, "no run is live"}
	switch act.do {
	case watch, adopt, replace:
		p.running = &claim{metav1.ConditionTrue, v1alpha1.ReasonRunLive, liveMessage(status, obs)}
		if queued := waiting(obs.active.run); queued != nil {
			p.running = &claim{metav1.ConditionTrue, v1alpha1.ReasonRunQueued, fmt.Sprintf("run %s is queued: %s", status.ActiveRun.Name, queued.Message)}
		}
	case create:
		switch {
		case out.created != nil:
			p.running = &claim{metav1.ConditionTrue, v1alpha1.ReasonRunLive, liveMessage(status, obs)}
		case out.refused != "":
			p.notCreated(status, obs, out.refused)
		}
	case yield:
		p.notCreated(status, obs, fmt.Sprintf("BenchmarkRun %s already exists, but this benchmark did not create it; delete that run",
			status.ActiveRun.Name))
		p.wake = yieldRetry
	case hold:
		p.suspended(status, obs)
	case await:
		p.missing(obs)
	case refuse:
		p.impossible(obs)
	case leave, intend, judge, miss:
	}
	return p
}

// verdictPicture returns the Ready, Stalled and Reconciling conditions that follow from the newest evaluated run,
// regardless of the current action.
func verdictPicture(status *v1alpha1.StorageBenchmarkStatus, obs observation) conditionSet {
	if !judged(status, obs.hash) {
		waiting := claim{metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, notJudgedMessage(status, obs)}
		return conditionSet{ready: &waiting, reconciling: &claim{metav1.ConditionTrue, waiting.reason, waiting.message}}
	}
	last := status.LastRun
	if last.Reason == v1alpha1.ReasonPassed {
		return conditionSet{ready: &claim{metav1.ConditionTrue, last.Reason, last.Message}}
	}
	return conditionSet{
		ready:   &claim{metav1.ConditionFalse, last.Reason, last.Message},
		stalled: &claim{metav1.ConditionTrue, last.Reason, last.Message},
	}
}

func notJudgedMessage(status *v1alpha1.StorageBenchmarkStatus, obs observation) string {
	active := status.ActiveRun
	waits := !obs.startsOnChange() && !requestOf(obs.benchmark).any()
	switch {
	case active == nil && waits && status.NextScheduleTime != nil:
		return "a run with the current spec.run starts at " + clockText(status.NextScheduleTime.Time) + ", the next scheduled time"
	case active == nil && waits && !obs.times.set:
		return "a run with the current spec.run starts when requested, because spec.trigger.onChange is false: " +
			"set spec.trigger.manual or the annotation " + v1alpha1.AnnotationRequestedAt + " to a new value"
	case active == nil:
		return "a run with the current spec.run starts next"
	case active.Hash != obs.hash && waits && !obs.times.set:
		return fmt.Sprintf("run %s, created from an earlier spec.run, is still live; a run with the current spec.run starts when requested", active.Name)
	case active.Hash != obs.hash:
		return fmt.Sprintf("run %s, created from an earlier spec.run, is still live; when it ends, a run with the current spec.run starts", active.Name)
	case active.UID == "":
		return fmt.Sprintf("run %s is being created", active.Name)
	}
	return fmt.Sprintf("run %s has no verdict yet", active.Name)
}

func liveMessage(status *v1alpha1.StorageBenchmarkStatus, obs observation) string {
	message := fmt.Sprintf("run %s is live", status.ActiveRun.Name)
	changed := status.ActiveRun.Hash != obs.hash
	switch {
	case suspended(obs.benchmark):
		return message + "; spec.suspend is true: no further runs are started"
	case obs.active.run != nil && toldToStop(obs.active.run):
		return message + " and is being stopped for the next run"
	case obs.times.set && !obs.times.due.At.IsZero():
		return message + "; the run scheduled for " + clockText(obs.times.due.At) + " starts next"
	case changed && obs.startsOnChange():
		return message + "; spec.run has changed: the next run uses the new spec.run"
	case requestOf(obs.benchmark).any():
		return message + "; the requested run starts next"
	case changed && obs.times.set:
		return message + "; spec.run has changed: the next scheduled run uses the new spec.run"
	case changed:
		return message + "; spec.run has changed: the next requested run uses the new spec.run"
	}
	return message
}

// notCreated sets the conditions for a requested run that currently cannot be created. It does not change an existing
// verdict, because the cause may be temporary.
func (p *conditionSet) notCreated(status *v1alpha1.StorageBenchmarkStatus, obs observation, why string) {
	message := fmt.Sprintf("run %s cannot be created: %s", status.ActiveRun.Name, why)
	p.running = &claim{metav1.ConditionFalse, v1alpha1.ReasonRunNotCreated, message}
	if !judged(status, obs.hash) {
		p.ready = &claim{metav1.ConditionUnknown, v1alpha1.ReasonRunNotCreated, message}
		p.reconciling = &claim{metav1.ConditionTrue, v1alpha1.ReasonRunNotCreated, message}
	}
}

// suspended leaves Ready and Stalled unchanged, unless the newest run was evaluated again.
func (p *conditionSet) suspended(status *v1alpha1.StorageBenchmarkStatus, obs observation) {
	message := "spec.suspend is true: no runs are started"
	if obs.review.due {
		// The policy has changed and the newest run was evaluated again, so Ready and Stalled show the new verdict.
		p.running, p.reconciling = &claim{metav1.ConditionFalse, v1alpha1.ReasonSuspended, message}, nil
		return
	}
	if !judged(status, obs.hash) {
		message += "; the current spec.run has no verdict yet"
	}
	*p = conditionSet{
		ready:   &claim{metav1.ConditionUnknown, v1alpha1.ReasonSuspended, message},
		running: &claim{metav1.ConditionFalse, v1alpha1.ReasonSuspended, message},
	}
	if ready := find(obs.benchmark.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		p.ready = &claim{ready.Status, ready.Reason, ready.Message}
	}
	if stalled := find(obs.benchmark.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil {
		p.stalled = &claim{stalled.Status, stalled.Reason, stalled.Message}
	}
}

// missing sets the conditions if references are missing. After startTimeout, it also sets Stalled, because the missing
// objects may never be created.
func (p *conditionSet) missing(obs observation) {
	var lines []string
	for _, one := range obs.candidate.missing {
		lines = append(lines, one.Error())
	}
	why := claim{metav1.ConditionUnknown, obs.candidate.reason, strings.Join(lines, "; ")}
	p.ready, p.stalled = &why, nil
	p.reconciling = &claim{metav1.ConditionTrue, why.reason, why.message}
	p.since = missingSince(obs)
	timeout, err := obs.benchmark.Spec.Run.StartTimeout.Parse()
	if err != nil || timeout <= 0 {
		timeout = defaultStartTimeout
	}
	if left := p.since.Add(timeout).Sub(obs.now); left > 0 {
		p.wake = left
		return
	}
	p.stalled = &claim{metav1.ConditionTrue, why.reason, why.message}
}

// missingSince returns the time at which a reference was first found to be missing. If Ready already reports a missing
// reference, this is the transition time of Ready, otherwise the current time.
func missingSince(obs observation) time.Time {
	ready := find(obs.benchmark.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Status == metav1.ConditionUnknown && isMissing(ready.Reason) {
		return ready.LastTransitionTime.Time
	}
	return obs.now
}

func isMissing(reason string) bool {
	return reason == v1alpha1.ReasonProfileNotFound || reason == v1alpha1.ReasonClaimNotFound
}

// impossible sets the conditions for problems that only an edit of the benchmark can resolve.
func (p *conditionSet) impossible(obs observation) {
	var lines []string
	for _, one := range obs.candidate.problems {
		lines = append(lines, one.Error())
	}
	message := strings.Join(lines, "; ")
	p.ready = &claim{metav1.ConditionFalse, v1alpha1.ReasonInvalidWorkload, message}
	p.stalled = &claim{metav1.ConditionTrue, v1alpha1.ReasonInvalidWorkload, message}
	p.reconciling = nil
}

// conditions returns the desired conditions with their transition times. Stalled precedes Reconciling, because kstatus
// uses the first of the two that is True.
func (p *conditionSet) conditions(obs observation) []metav1.Condition {
	var all []metav1.Condition
	for _, one := range []struct {
		kind string
		*claim
	}{
		{v1alpha1.ConditionReady, p.ready}, {v1alpha1.ConditionStalled, p.stalled},
		{v1alpha1.ConditionReconciling, p.reconciling}, {v1alpha1.ConditionRunning, p.running},
		{v1alpha1.ConditionRegressed, p.regressed},
	} {
		if one.claim == nil {
			continue
		}
		at := wholeSeconds(obs.now)
		if before := find(obs.benchmark.Status.Conditions, one.kind); before != nil && before.Status == one.status {
			at = before.LastTransitionTime
		}
		if one.kind == v1alpha1.ConditionReady && !p.since.IsZero() {
			at = wholeSeconds(p.since)
		}
		all = append(all, metav1.Condition{
			Type:               one.kind,
			Status:             one.status,
			Reason:             one.reason,
			Message:            v1alpha1.Truncate(one.message, maxMessage),
			ObservedGeneration: obs.benchmark.Generation,
			LastTransitionTime: at,
		})
	}
	return all
}

// wholeSeconds returns a time as it is read back from the API server: in UTC, with whole seconds.
func wholeSeconds(at time.Time) metav1.Time {
	return metav1.Time{Time: at.Round(0).UTC().Truncate(time.Second)}
}
