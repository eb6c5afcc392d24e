package storagebenchmark

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/schedule"
)

// timetable describes, for one point in time, which runs spec.trigger.schedule requests. The zero value stands for a
// benchmark without a schedule.
type timetable struct {
	// set is true if there is a schedule. problem is the error in the schedule or in its starting deadline, or nil.
	set     bool
	problem *field.Error
	due     schedule.Due
	// deadline is the maximum delay of a run after its scheduled time; 0 means no limit.
	deadline time.Duration
}

// timetableOf evaluates the schedule of a benchmark. It derives from the status alone which scheduled times have been
// handled, so the answer is correct even after a crash or a month without an operator. The deadline does not apply
// while a run is being stopped to make way for the next one. Otherwise, the next run could be skipped merely because
// the current one takes a long time to stop.
func timetableOf(benchmark *v1alpha1.StorageBenchmark, now time.Time, stopping bool) timetable {
	trigger := benchmark.Spec.Trigger
	if trigger == nil || trigger.Schedule == "" {
		return timetable{}
	}
	found, path := timetable{set: true}, field.NewPath("spec", "trigger")
	times, err := schedule.Parse(trigger.Schedule, trigger.TimeZone)
	if err != nil {
		found.problem = field.Invalid(path.Child("schedule"), trigger.Schedule, err.Error())
		return found
	}
	if found.deadline, err = trigger.Deadline(); err != nil {
		found.problem = field.Invalid(path.Child("startingDeadline"), *trigger.StartingDeadline, err.Error())
		return found
	}
	if stopping {
		found.deadline = 0
	}
	found.due = times.Due(handledUpTo(benchmark, now), now, found.deadline)
	return found
}

// handledUpTo returns the time up to which scheduled times count as handled. Usually, this is just before
// status.nextScheduleTime. An edited schedule therefore requests no runs for times before the edit. However, if
// status.nextScheduleTime has already passed when the schedule is edited, the edited schedule also requests a run for
// the scheduled times since then. If status.nextScheduleTime is not set, the result is the creation time of a new
// benchmark, or now if a schedule was added to an older benchmark. The result is never before status.lastScheduleTime.
func handledUpTo(benchmark *v1alpha1.StorageBenchmark, now time.Time) time.Time {
	status := &benchmark.Status
	handled := now
	switch {
	case status.NextScheduleTime != nil:
		handled = status.NextScheduleTime.Add(-time.Second)
	case status.ObservedGeneration <= 0:
		handled = benchmark.CreationTimestamp.Time
	}
	if last := status.LastScheduleTime; last != nil && last.After(handled) {
		return last.Time
	}
	return handled
}

// asks reports whether the schedule requires action: it requests a run, or has a problem that must be corrected.
func (t timetable) asks() bool { return t.problem != nil || !t.due.At.IsZero() }

// skips reports whether a scheduled run is skipped because its starting deadline has passed. It returns false while
// there is an active run, whose name is derived from the handled times. Recording the skipped time would change that
// name.
func (t timetable) skips(obs observation) bool {
	return !t.due.Expired.IsZero() && obs.active.state == noActive
}

// note updates the scheduled times in the status: the one that an action has handled, and the next one.
func (t timetable) note(status *v1alpha1.StorageBenchmarkStatus, obs observation, act action) {
	handle := func(at time.Time) { status.LastScheduleTime = new(wholeSeconds(at)) }
	switch {
	case !t.set:
		status.NextScheduleTime = nil
	case t.problem != nil:
		// Keep status.nextScheduleTime, in case the edit that made the schedule invalid is reverted.
	case (act.do == intend || act.do == judge && followsReplaced(obs)) && !t.due.At.IsZero():
		handle(t.due.At)
		status.NextScheduleTime = timeOrNil(t.due.Next)
	case t.skips(obs):
		handle(t.due.Expired)
		status.NextScheduleTime = timeOrNil(t.due.Next)
	case t.due.At.IsZero() && t.due.Expired.IsZero():
		status.NextScheduleTime = timeOrNil(t.due.Next)
	case status.NextScheduleTime == nil:
		// A scheduled time has passed, but no run can be recorded for it yet. Store that time in status.nextScheduleTime to
		// keep it.
		status.NextScheduleTime = timeOrNil(cmp.Or(t.due.At, t.due.Expired))
	}
}

func timeOrNil(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return new(wholeSeconds(at))
}

// wake returns how long to wait until the schedule must be evaluated again, or 0 if it requests no more runs.
func (t timetable) wake(now time.Time) time.Duration {
	if !t.set || t.problem != nil {
		return 0
	}
	var first time.Duration
	for _, at := range []time.Time{t.due.Next, t.expiry()} {
		if left := at.Sub(now); !at.IsZero() && left > 0 && (first == 0 || left < first) {
			first = left
		}
	}
	return first
}

// expiry returns the time just after the due run's deadline, or the zero time if there is no deadline.
func (t timetable) expiry() time.Time {
	if t.due.At.IsZero() || t.deadline == 0 {
		return time.Time{}
	}
	return t.due.At.Add(t.deadline + time.Millisecond)
}

// sooner returns the shorter of two waits. 0 means that there is nothing to wait for, so sooner returns 0 only if both
// waits are 0.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
