package storagebenchmark

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/schedule"
)

// timetable is what spec.trigger.schedule asks for at a moment. The zero value is that of a benchmark
// without a schedule.
type timetable struct {
	// set says that there is a schedule, which problem may keep from being read.
	set     bool
	problem *field.Error
	due     schedule.Due
	// deadline is how late a run may start; 0 is any delay.
	deadline time.Duration
}

// timetableOf reads the schedule of a benchmark. What was handled follows from status alone, so that
// whoever comes back after a crash or a month gets the same answer.
func timetableOf(benchmark *v1alpha1.StorageBenchmark, now time.Time) timetable {
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
	if trigger.StartingDeadline != nil {
		if found.deadline, err = trigger.StartingDeadline.Parse(); err != nil {
			found.problem = field.Invalid(path.Child("startingDeadline"), *trigger.StartingDeadline, err.Error())
			return found
		}
	}
	found.due = times.Due(handledUpTo(benchmark, now), now, found.deadline)
	return found
}

// handledUpTo is the moment after which times of the schedule count. It is just before the next one that
// status promises: so a schedule that is edited asks for nothing of the time before the edit, and one that
// was due when it was edited stays due where the new one agrees. Without a promise it is the creation of
// the benchmark, or now for a schedule that an older benchmark was given.
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

// asks reports whether the schedule asks for a run, or for a correction of itself.
func (t timetable) asks() bool { return t.problem != nil || !t.due.At.IsZero() }

// skips reports whether a time has come that is too late now. It is noted while nothing else is going on: the
// name of a run that is recorded already follows from the times that were handled.
func (t timetable) skips(obs observation) bool {
	return !t.due.Expired.IsZero() && obs.active.state == noActive
}

// note writes the times into status: what an action has handled, and what is next.
func (t timetable) note(status *v1alpha1.StorageBenchmarkStatus, obs observation, act action) {
	handle := func(at time.Time) { status.LastScheduleTime = new(wholeSeconds(at)) }
	switch {
	case !t.set:
		status.NextScheduleTime = nil
	case t.problem != nil:
		// What was promised is promised still, where the edit is taken back.
	case act.do == intend && !t.due.At.IsZero():
		handle(t.due.At)
		status.NextScheduleTime = timeOrNil(t.due.Next)
	case t.skips(obs):
		handle(t.due.Expired)
		status.NextScheduleTime = timeOrNil(t.due.Next)
	case t.due.At.IsZero() && t.due.Expired.IsZero():
		status.NextScheduleTime = timeOrNil(t.due.Next)
	case status.NextScheduleTime == nil:
		// It is due and waits.
		status.NextScheduleTime = timeOrNil(later(t.due.At, t.due.Expired))
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func timeOrNil(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return new(wholeSeconds(at))
}

// wake is when the schedule has to be looked at again; 0 where nothing comes.
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

// expiry is just after the moment until which what is due may start; zero where that is any.
func (t timetable) expiry() time.Time {
	if t.due.At.IsZero() || t.deadline == 0 {
		return time.Time{}
	}
	return t.due.At.Add(t.deadline + time.Millisecond)
}

// sooner is the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
