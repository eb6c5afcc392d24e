package decide_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
)

// rule is a condition that each decision of each run must meet, whatever the order of events.
type rule struct {
	name string
	// broken returns how a decision breaks the rule, or "".
	broken func(w *world, a decide.Action) string
}

// rules lists the rules for single decisions. Tests check each decision of each simulated run against them. walk checks
// the rules that span several decisions: every run ends, every wait ends, and an end is final.
var rules = []rule{
	{"the same facts give the same decision", sameAgain},
	{"an action is for clients that can execute it", forThese},
	{"only the first step without a result is worked on, in its recorded attempt", inTurn},
	{"no load runs without a step that asks for it", askedFor},
	{"a client works at one attempt at a time", oneAtATime},
	{"an attempt starts once, with all its clients, and a step that cannot be repeated has one", startsOnce},
	{"a step is concluded once, when it may be, while all are at work", concludesOnce},
	{"a step that cannot be repeated does not go on without a client that it has lost", endsAfterLoss},
	{"a result is recorded once, when nobody is at work and each part is known", recordsOnce},
	{"a step is repeated, and a client replaced, as often as the policy allows", withinPolicy},
	{"a failure has its cause in the facts", hasCause},
	{"a run that ends starts nothing", endsOnly},
	{"a run that ends asks the clients of its step for their results", asksFirst},
	{"a good run has each result, and nobody is at work after the end", complete},
	{"a wait is for the future, and not beyond the end of the run", waitsAhead},
	{"a run ends in time", endsInTime},
}

// broken is the error for a decision that breaks a rule.
type broken struct{ rule, how string }

func (b *broken) Error() string { return fmt.Sprintf("broken: %s: %s", b.rule, b.how) }

func (w *world) check(action decide.Action) error {
	for _, r := range rules {
		if how := r.broken(w, action); how != "" {
			return &broken{rule: r.name, how: how}
		}
	}
	return nil
}

func sameAgain(w *world, a decide.Action) string {
	if again := decide.Next(w.snapshot, w.now); !reflect.DeepEqual(a, again) {
		return fmt.Sprintf("%+v, and then %+v", a, again)
	}
	return ""
}

func forThese(w *world, a decide.Action) string {
	step := w.step(a.Attempt.Step)
	for _, key := range a.Clients {
		seen := w.snapshot.Clients[slices.IndexFunc(w.snapshot.Clients, func(c decide.Client) bool { return c.Key == key })]
		can := false
		switch a.Kind {
		case decide.Load, decide.Start, decide.Conclude:
			can = seen.Connection == decide.Ready && step.TakesPart(key)
		case decide.Stop:
			// A client that became unfit may still be running the attempt.
			can = (seen.Connection == decide.Ready || seen.Connection == decide.Unfit) && step.TakesPart(key)
		case decide.Retry, decide.Replace:
			can = seen.Connection == decide.Lost
		case decide.Finish:
			can = seen.Connection != decide.Lost && seen.Connection != decide.Finished
		case decide.Wait, decide.RecordResult, decide.Fail, decide.Observe, decide.RecordObservations, decide.Done:
		}
		if !can {
			return fmt.Sprintf("%s, and %s is %s", a, key, seen.Connection)
		}
	}
	return ""
}

// next returns the first step without a result and its record, or zero values.
func (w *world) next() (decide.Step, decide.Record) {
	for _, step := range w.snapshot.Steps {
		if record := w.snapshot.Records[step.ID]; !record.Done {
			return step, record
		}
	}
	return decide.Step{}, decide.Record{}
}

func inTurn(w *world, a decide.Action) string {
	step, record := w.next()
	number := record.Attempt
	switch a.Kind {
	case decide.Wait, decide.Fail, decide.Finish, decide.Observe, decide.RecordObservations, decide.Done, decide.Replace:
		return ""
	case decide.Stop:
		number = min(number, a.Attempt.Number)
	case decide.Retry:
		number++
	case decide.Load, decide.Start, decide.Conclude, decide.RecordResult:
	}
	if a.Attempt != (decide.Attempt{Step: step.ID, Number: number}) {
		return fmt.Sprintf("%s, and step %q in attempt %d has no result yet", a, step.ID, record.Attempt)
	}
	return ""
}

// askedFor requires that each load belongs to the current attempt of the next step and that the attempt is not
// concluded. Otherwise the load must be stopped before anything else is waited for. It ignores clients that the
// conductor cannot reach or that do not react.
func askedFor(w *world, a decide.Action) string {
	step, record := w.next()
	for _, client := range w.clients {
		for attempt, part := range client.Attempts {
			switch {
			case client.Connection != decide.Ready, !live(part), w.unmet[client.Key], w.does(w.deaf, client, attempt), w.impatient():
			case !w.snapshot.FinishSent.IsZero(),
				attempt == decide.Attempt{Step: step.ID, Number: record.Attempt} && record.Concluded.IsZero():
			case attempt.Step == step.ID && (a.Kind == decide.Stop && a.Attempt == attempt || a.Kind == decide.Fail ||
				a.Kind == decide.Retry || a.Kind == decide.Replace):
			default:
				return fmt.Sprintf("%s, and %s is at %s, which is over", a, client.Key, attempt)
			}
		}
	}
	return ""
}

// impatient reports whether an ending run has waited long enough for clients to stop.
func (w *world) impatient() bool {
	patience := w.snapshot.EndingSince.Add(w.stopGrace())
	if _, record := w.next(); !record.Start.IsZero() && w.snapshot.ConductedSince.After(record.Start) {
		patience = later(patience, w.snapshot.ConductedSince.Add(w.snapshot.Policy.StopGrace))
	}
	return w.ending() && !w.now.Before(patience)
}

func (w *world) ending() bool { return w.snapshot.Failure != nil || w.snapshot.Cancel != nil }

// stopGrace returns how long an ending run waits for its clients to stop.
func (w *world) stopGrace() time.Duration {
	if w.snapshot.Failure != nil && w.snapshot.Failure.Reason == decide.ReasonDeadline {
		return 20 * time.Second
	}
	return w.snapshot.Policy.StopGrace
}

func oneAtATime(w *world, a decide.Action) string {
	for _, client := range w.clients {
		working := 0
		for attempt, part := range client.Attempts {
			atWork := live(part) || part.Progress == decide.Loading
			if atWork {
				working++
			}
			if atWork && !w.unmet[client.Key] && a.Kind == decide.Load && slices.Contains(a.Clients, client.Key) {
				return fmt.Sprintf("%s while %s is at %s", a, client.Key, attempt)
			}
		}
		if working > 1 {
			return fmt.Sprintf("%s is at several attempts: %v", client.Key, client.Attempts)
		}
	}
	return ""
}

func startsOnce(w *world, a decide.Action) string {
	if a.Kind != decide.Start {
		return ""
	}
	step, record := w.step(a.Attempt.Step), w.snapshot.Records[a.Attempt.Step]
	if begun, again := w.starts[a.Attempt]; again {
		if !a.Start.Equal(begun) || !a.Deadline.Equal(record.Deadline) {
			return fmt.Sprintf("%s at %s, and it was begun at %s", a, a.Start, begun)
		}
		return ""
	}
	for before := range w.touched {
		if before.Step == step.ID && step.NonRepeatable && !w.missed[before] {
			return fmt.Sprintf("%s of a step that cannot be repeated and has begun", a)
		}
	}
	switch longest := a.Start.Add(step.Limit); {
	case a.Start.Before(w.now), a.Deadline.Before(a.Start), a.Deadline.After(longest), !step.Idle && a.Deadline.Before(longest):
		return fmt.Sprintf("%s from %s to %s, of at most %s", a, a.Start, a.Deadline, step.Limit)
	}
	if attempt, key, found := w.loaded(); step.Idle && (found && attempt != a.Attempt || len(a.Clients) > 0) {
		return fmt.Sprintf("%s while %s is at %s", a, key, attempt)
	}
	for _, client := range w.clients {
		progress, job := client.Attempts[a.Attempt].Progress, w.jobs[jobOf(a.Attempt, client.Key)]
		switch {
		case !step.TakesPart(client.Key):
		case step.Coupled && job != nil && !slices.Contains(job, client):
			return fmt.Sprintf("%s of a job that was loaded before %s was replaced", a, client.Key)
		case progress == decide.Loaded:
		case client.Connection == decide.Lost && w.snapshot.Policy.OnLoss == decide.ContinueDegraded:
		default:
			return fmt.Sprintf("%s without %s, which is %s: %s", a, client.Key, client.Connection, progress)
		}
	}
	return ""
}

func concludesOnce(w *world, a decide.Action) string {
	if a.Kind != decide.Conclude {
		return ""
	}
	step, record := w.step(a.Attempt.Step), w.snapshot.Records[a.Attempt.Step]
	if !record.Concluded.IsZero() || w.now.Before(record.Start.Add(step.Earliest)) || a.Reason == "" {
		return fmt.Sprintf("%s of a step that began %s ago, concluded %s", a, w.now.Sub(record.Start), record.Concluded)
	}
	// A step at its maximum duration is concluded even if a client has already ended.
	if step.Latest > 0 && !w.now.Before(record.Start.Add(step.Latest)) {
		return ""
	}
	for _, client := range w.clients {
		part := client.Attempts[a.Attempt]
		if step.TakesPart(client.Key) && client.Connection == decide.Ready && part.Progress != decide.Running {
			return fmt.Sprintf("%s while %s is %+v", a, client.Key, part)
		}
	}
	return ""
}

func endsAfterLoss(w *world, a decide.Action) string {
	step, record := w.next()
	attempt := decide.Attempt{Step: step.ID, Number: record.Attempt}
	at, key, found := w.loaded()
	goesOn := (a.Kind == decide.Wait || a.Kind == decide.Conclude) && found && at == attempt
	if !goesOn || !step.NonRepeatable || record.Start.IsZero() || w.ending() {
		return ""
	}
	for _, client := range w.clients {
		lost := client.Connection == decide.Lost && w.snapshot.LostAt[client.Key].After(record.Start)
		if lost && step.TakesPart(client.Key) && client.Attempts[attempt].Progress != decide.Ended {
			return fmt.Sprintf("%s while %s is at %s, which has lost %s", a, key, attempt, client.Key)
		}
	}
	return ""
}

func recordsOnce(w *world, a decide.Action) string {
	step, record := w.step(a.Attempt.Step), w.snapshot.Records[a.Attempt.Step]
	switch {
	case a.Kind != decide.RecordResult:
		return ""
	case record.Done:
		return fmt.Sprintf("%s of a step that completed", a)
	case step.Idle && record.Start.IsZero(), w.ending() && !step.Idle && !w.received(a.Attempt), !w.ending() && record.Start.IsZero():
		return fmt.Sprintf("%s of a step that never began", a)
	case w.ending():
		return ""
	case slices.ContainsFunc(w.clients, func(c *decide.Client) bool { return c.Connection != decide.Lost && w.unmet[c.Key] }):
		return fmt.Sprintf("%s before the clients were asked for theirs", a)
	case step.Idle && w.now.Before(record.Deadline):
		return fmt.Sprintf("%s %s before its time", a, record.Deadline.Sub(w.now))
	}
	if attempt, key, found := w.loaded(); found {
		return fmt.Sprintf("%s while %s is at %s", a, key, attempt)
	}
	for _, client := range w.clients {
		part := client.Attempts[a.Attempt]
		if step.TakesPart(client.Key) && client.Connection == decide.Ready && (part.Progress != decide.Ended || part.AgentTerminated) {
			return fmt.Sprintf("%s without the result of %s, which is %+v", a, client.Key, part)
		}
	}
	return ""
}

// received reports whether the conductor knows of a client that received an attempt.
func (w *world) received(attempt decide.Attempt) bool {
	return slices.ContainsFunc(w.snapshot.Clients, func(c decide.Client) bool {
		_, known := c.Attempts[attempt]
		return known
	})
}

// maxMissed limits the repetitions of a step because clients received its start too late.
const maxMissed = 4

func withinPolicy(w *world, a decide.Action) string {
	policy := w.snapshot.Policy
	switch a.Kind {
	case decide.Replace:
		for _, key := range a.Clients {
			if done := w.client(key).Replacements; policy.OnLoss != decide.RestartStep || done >= policy.MaxRestarts {
				return fmt.Sprintf("%s by %s, after %d of %d", a, policy.OnLoss, done, policy.MaxRestarts)
			}
		}
	case decide.Retry:
		record := w.snapshot.Records[a.Attempt.Step]
		if most := max(maxMissed, policy.MaxRestarts) + len(w.clients)*policy.MaxRestarts; record.Attempt > most {
			return fmt.Sprintf("%s, but it may be repeated only %d times", a, most)
		}
		if attempt, key, found := w.loaded(); found {
			return fmt.Sprintf("%s while %s is at %s", a, key, attempt)
		}
	case decide.Wait, decide.Load, decide.Start, decide.Stop, decide.Conclude, decide.RecordResult, decide.Fail, decide.Finish, decide.Observe,
		decide.RecordObservations, decide.Done:
	}
	return ""
}

func hasCause(w *world, a decide.Action) string {
	if a.Kind != decide.Fail {
		return ""
	}
	policy, caused := w.snapshot.Policy, false
	_, record := w.next()
	for _, seen := range w.snapshot.Clients {
		switch a.Failure.Reason {
		case decide.ReasonDeadline:
			caused = caused || policy.ActiveDeadline > 0 && !w.now.Before(w.began.Add(policy.ActiveDeadline))
		case decide.ReasonStartTimeout:
			caused = caused || seen.Connection == decide.Connecting && !w.now.Before(seen.Since.Add(policy.StartTimeout))
		case decide.ReasonUnresponsive:
			end := record.Deadline
			asked := later(record.Concluded, w.snapshot.ConductedSince)
			if !record.Concluded.IsZero() && asked.Before(end) {
				end = asked
			}
			caused = caused || !end.IsZero() && !w.now.Before(end.Add(policy.StopGrace))
		default:
			caused = caused || seen.Connection == decide.Unfit && seen.Reason == a.Failure.Reason ||
				seen.Connection == decide.Lost && a.Failure.Reason == decide.ReasonClientLost
			for _, part := range seen.Attempts {
				caused = caused || part.Failed != nil && part.Failed.Reason == a.Failure.Reason
			}
		}
	}
	if !caused || a.Failure.Message == "" {
		return fmt.Sprintf("%s without a cause", a)
	}
	return ""
}

func endsOnly(w *world, a decide.Action) string {
	finishing := !w.snapshot.FinishSent.IsZero()
	switch a.Kind {
	case decide.Wait, decide.Observe, decide.RecordObservations, decide.Done:
	case decide.Stop, decide.RecordResult, decide.Finish:
		if finishing {
			return fmt.Sprintf("%s after Finish", a)
		}
	case decide.Load, decide.Start, decide.Conclude, decide.Retry, decide.Replace, decide.Fail:
		if finishing || w.ending() {
			return fmt.Sprintf("%s of a run that ends", a)
		}
	}
	return ""
}

func asksFirst(w *world, a decide.Action) string {
	step, record := w.next()
	ends := a.Kind == decide.Finish || a.Kind == decide.RecordResult
	if !ends || !w.ending() || record.Start.IsZero() || w.impatient() {
		return ""
	}
	for _, client := range w.clients {
		if step.TakesPart(client.Key) && w.unmet[client.Key] && client.Connection != decide.Lost {
			return fmt.Sprintf("%s before %s is reached, which has a part in %s", a, client.Key, step.ID)
		}
	}
	return ""
}

func complete(w *world, a decide.Action) string {
	if a.Kind != decide.Finish && a.Kind != decide.Observe && a.Kind != decide.RecordObservations && a.Kind != decide.Done {
		return ""
	}
	if step, _ := w.next(); step.ID != "" && !w.ending() {
		return fmt.Sprintf("%s of a good run without a result of %s", a, step.ID)
	}
	if attempt, key, found := w.loaded(); found && !w.impatient() {
		return fmt.Sprintf("%s while %s is at %s", a, key, attempt)
	}
	return ""
}

func waitsAhead(w *world, a decide.Action) string {
	switch a.Kind {
	case decide.Wait, decide.Stop, decide.Conclude:
	case decide.Load, decide.Start, decide.RecordResult, decide.Retry, decide.Replace, decide.Fail, decide.Finish, decide.Observe,
		decide.RecordObservations, decide.Done:
		return ""
	}
	if !a.Until.IsZero() && !a.Until.After(w.now) {
		return fmt.Sprintf("%s until %s ago, which is an endless loop", a, w.now.Sub(a.Until))
	}
	end := w.began.Add(w.snapshot.Policy.ActiveDeadline)
	if end.After(w.now) && (a.Until.IsZero() || a.Until.After(end)) {
		return fmt.Sprintf("%s until %s, and the run must end at %s", a, a.Until, end)
	}
	return ""
}

// endsInTime requires that a run ends within StopGrace plus FinishTimeout of its deadline or of the time when it began
// to end, or of a later takeover.
func endsInTime(w *world, a decide.Action) string {
	policy, since := w.snapshot.Policy, w.began.Add(w.snapshot.Policy.ActiveDeadline)
	if w.ending() && (policy.ActiveDeadline == 0 || w.snapshot.EndingSince.Before(since)) {
		since = w.snapshot.EndingSince
	} else if policy.ActiveDeadline == 0 {
		return ""
	}
	since = later(since, w.snapshot.ConductedSince)
	if last := since.Add(policy.StopGrace + policy.FinishTimeout + w.hung); w.now.After(last) {
		return fmt.Sprintf("%s, and it should have ended at %s", a, last)
	}
	return ""
}

// loaded returns a client with a load that the conductor could stop. It returns false if there is none.
func (w *world) loaded() (decide.Attempt, decide.ClientKey, bool) {
	for _, client := range w.clients {
		for attempt, part := range client.Attempts {
			if client.Connection == decide.Ready && live(part) && !w.unmet[client.Key] && !w.does(w.deaf, client, attempt) {
				return attempt, client.Key, true
			}
		}
	}
	return decide.Attempt{}, decide.ClientKey{}, false
}

// TestIdleEnds checks when an idle step that starts now ends.
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
