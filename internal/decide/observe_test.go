package decide_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
)

// TestObserve checks each decision on observations after the clients have left.
func TestObserve(t *testing.T) {
	end := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return end.Add(time.Duration(seconds) * time.Second) }
	pending := decide.Observing{Pending: true, From: at(15), By: at(75), Every: 15 * time.Second}
	begun := func(seconds int, ended, complete bool) decide.Observing {
		o := pending
		o.Begun, o.Ended, o.Complete = at(seconds), ended, complete
		return o
	}
	failure := &decide.Failure{Reason: "Stopped", Message: "cancelled"}
	for name, test := range map[string]struct {
		observing decide.Observing
		cancel    *decide.Failure
		now       int
		want      decide.Kind
		until     int
	}{
		"nothing to observe":                         {now: 0, want: decide.Done},
		"data may still be scraped":                  {observing: pending, now: 0, want: decide.Wait, until: 15},
		"time to ask":                                {observing: pending, now: 15, want: decide.Observe},
		"an operator that restarts much later asks":  {observing: pending, now: 7200, want: decide.Observe},
		"Prometheus is answering":                    {observing: begun(15, false, false), now: 100, want: decide.Wait, until: 105},
		"Prometheus does not answer":                 {observing: begun(15, false, false), now: 105, want: decide.RecordObservations},
		"everything was there":                       {observing: begun(15, true, true), now: 16, want: decide.RecordObservations},
		"something is late":                          {observing: begun(15, true, false), now: 16, want: decide.Wait, until: 30},
		"it is asked again":                          {observing: begun(15, true, false), now: 30, want: decide.Observe},
		"the last time is at the end of patience":    {observing: begun(70, true, false), now: 71, want: decide.Wait, until: 75},
		"late data is not waited for without bound":  {observing: begun(70, true, false), now: 75, want: decide.RecordObservations},
		"a cancelled run does not wait for scrapes":  {observing: pending, cancel: failure, now: 0, want: decide.Observe},
		"a cancelled run does not wait for late":     {observing: begun(0, true, false), cancel: failure, now: 1, want: decide.RecordObservations},
		"a cancelled run does not wait for a server": {observing: begun(0, false, false), cancel: failure, now: 10, want: decide.RecordObservations},
	} {
		t.Run(name, func(t *testing.T) {
			s := decide.Snapshot{Observing: test.observing, Cancel: test.cancel}
			got := decide.Next(s, at(test.now))
			if got.Kind != test.want {
				t.Fatalf("%s, want %s", got, test.want)
			}
			if test.want == decide.Wait && (got.Until.After(at(test.until)) || !got.Until.After(at(test.now))) {
				t.Errorf("waits until %s, want after %s and at most %s", got.Until, at(test.now), at(test.until))
			}
		})
	}
}

// TestObserveEnds checks that the run ends within the patience for observations, whether Prometheus answers
// incompletely or not at all.
func TestObserveEnds(t *testing.T) {
	end := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, answers := range []bool{true, false} {
		s := decide.Snapshot{Observing: decide.Observing{Pending: true, From: end.Add(15 * time.Second), By: end.Add(75 * time.Second), Every: 15 * time.Second}}
		now := end
		for turns := 0; ; turns++ {
			action := decide.Next(s, now)
			if action.Kind == decide.RecordObservations {
				break
			}
			if turns > 1000 || now.After(end.Add(5*time.Minute)) {
				t.Fatalf("not over after %d turns, at %s", turns, now)
			}
			if action.Kind == decide.Observe {
				s.Observing.Begun, s.Observing.Ended = now, answers
			} else {
				now = action.Until
			}
		}
	}
}
