package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
)

// check is what must hold for every action of every run.
func (w *world) check(t *testing.T, action decide.Action) {
	t.Helper()
	wrong := func(format string, arguments ...any) {
		t.Helper()
		t.Fatalf(format+"\n%s", append(arguments, strings.Join(w.log, "\n"))...)
	}
	record := w.snapshot.Records[action.Attempt.Step]
	ending := w.snapshot.Failure != nil || w.snapshot.Cancel != nil
	step := w.step(action.Attempt.Step)
	if (action.Kind == decide.Wait || action.Kind == decide.Stop || action.Kind == decide.Conclude) &&
		!action.Until.IsZero() && !action.Until.After(w.now) {
		wrong("%s until %s ago: asked again at once, for ever", action, w.now.Sub(action.Until))
	}
	switch action.Kind {
	case decide.Load:
		w.checkLoad(wrong, step, action)
	case decide.Start:
		w.checkStart(wrong, step, record, action)
	case decide.Conclude:
		if !record.Concluded.IsZero() || w.now.Before(record.Start.Add(step.Earliest)) || action.Reason == "" {
			wrong("%s of a step that began %s ago, concluded %s", action, w.now.Sub(record.Start), record.Concluded)
		}
		// What has lasted as long as it may is ended whoever has ended by himself.
		overtime := step.Latest > 0 && !w.now.Before(record.Start.Add(step.Latest))
		for _, client := range w.clients {
			part := client.Attempts[action.Attempt]
			if step.Takes(client.Key) && client.Connection == decide.Ready && part.Progress != decide.Running && !overtime {
				wrong("%s while %s is %+v", action, client.Key, part)
			}
		}
	case decide.RecordResult:
		w.checkRecord(wrong, step, record, action, ending)
	case decide.Retry:
		if record.Done || action.Attempt.Number != record.Attempt+1 {
			wrong("%s after attempt %d, done %v", action, record.Attempt, record.Done)
		}
	case decide.Finish:
		if attempt, key, found := w.loaded(); found {
			wrong("%s while %s is at %s", action, key, attempt)
		}
	case decide.Done:
		for _, s := range w.snapshot.Steps {
			if !w.snapshot.Records[s.ID].Done && !ending {
				wrong("a good run without a result of %s", s.ID)
			}
		}
		if attempt, key, found := w.loaded(); found {
			wrong("the run is over and %s is at %s", key, attempt)
		}
	case decide.Wait, decide.Stop, decide.Replace, decide.Fail:
	}
}

// complain ends a test.
type complain = func(format string, arguments ...any)

// checkLoad: nobody works at two things, and nothing is loaded while nothing should be.
func (w *world) checkLoad(wrong complain, step decide.Step, action decide.Action) {
	for _, key := range action.Clients {
		if !step.Takes(key) {
			wrong("%s: %s has no part in it", action, key)
		}
		for attempt, part := range w.client(key).Attempts {
			if live(part) || part.Progress == decide.Loading {
				wrong("%s while %s is at %s", action, key, attempt)
			}
		}
	}
}

// checkStart: an intent is kept, what cannot be repeated is not, and an idle has nobody at work.
func (w *world) checkStart(wrong complain, step decide.Step, record decide.Record, action decide.Action) {
	if !record.Start.IsZero() {
		if !action.Start.Equal(record.Start) || !action.Deadline.Equal(record.Deadline) {
			wrong("%s at another time than was recorded", action)
		}
		return
	}
	before := decide.Attempt{Step: step.ID, Number: action.Attempt.Number - 1}
	if step.NonRepeatable && w.touched[step.ID] && !w.missed[before] {
		wrong("%s of a step that cannot be repeated and has begun", action)
	}
	if action.Start.Before(w.now) || action.Deadline.Before(action.Start) {
		wrong("%s from %s to %s", action, action.Start, action.Deadline)
	}
	if !step.Idle {
		return
	}
	if attempt, key, found := w.loaded(); found || len(action.Clients) > 0 {
		wrong("%s while %s is at %s", action, key, attempt)
	}
}

// checkRecord: one result a step, an idle is as long as was planned, and nobody is still at work.
func (w *world) checkRecord(wrong complain, step decide.Step, record decide.Record, action decide.Action, ending bool) {
	switch {
	case record.Done || record.Attempt != action.Attempt.Number:
		wrong("%s of a step with attempt %d, done %v", action, record.Attempt, record.Done)
	case ending:
		return
	case record.Start.IsZero():
		wrong("%s of what was never started", action)
	case w.unmet && slices.ContainsFunc(w.clients, func(c *decide.Client) bool { return c.Connection != decide.Lost }):
		wrong("%s before the clients were asked for theirs", action)
	case step.Idle && w.now.Before(record.Deadline):
		wrong("%s %s before its time", action, record.Deadline.Sub(w.now))
	}
	if attempt, key, found := w.loaded(); found {
		wrong("%s while %s is at %s", action, key, attempt)
	}
	for _, client := range w.clients {
		part := client.Attempts[action.Attempt]
		if step.Takes(client.Key) && client.Connection == decide.Ready && (part.Progress != decide.Ended || part.Left) {
			wrong("%s without the result of %s, which is %+v", action, client.Key, part)
		}
	}
}

// loaded is a client with load on it that could be ended; none while the conductor cannot know.
func (w *world) loaded() (decide.Attempt, decide.ClientKey, bool) {
	for _, client := range w.clients {
		for attempt, part := range client.Attempts {
			if client.Connection == decide.Ready && live(part) && !w.unmet && !w.does(w.deaf, client, attempt) {
				return attempt, client.Key, true
			}
		}
	}
	return decide.Attempt{}, decide.ClientKey{}, false
}

// TestIdleEnds is when an idle that begins now is over.
func TestIdleEnds(t *testing.T) {
	for name, c := range map[string]struct {
		limit, until, want time.Duration
	}{
		"as long as it may":          {limit: time.Hour, want: time.Hour},
		"until the bucket is full":   {limit: time.Hour, until: 10 * time.Minute, want: 10 * time.Minute},
		"the bucket takes too long":  {limit: time.Hour, until: 3 * time.Hour, want: time.Hour},
		"the bucket was full before": {limit: time.Hour, until: -time.Minute, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, 1, decide.Step{ID: "00-idle", Targets: []string{"a"}, Idle: true, Limit: c.limit})
			if c.until != 0 {
				w.snapshot.Steps[0].Until = w.now.Add(c.until)
			}
			w.clients[0].Connection = decide.Ready
			w.snapshot.Clients = w.seen()
			got := decide.Next(w.snapshot, w.now)
			if got.Kind != decide.Start || !got.Start.Equal(w.now) || got.Deadline.Sub(w.now) != c.want || len(got.Clients) > 0 {
				t.Errorf("%s at %s until %s, want an idle of %s", got, got.Start, got.Deadline, c.want)
			}
		})
	}
}
