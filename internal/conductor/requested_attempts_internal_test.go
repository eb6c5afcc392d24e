package conductor

import (
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
)

// TestAsked checks which attempts in an agent's log are unrequested, past (recorded or superseded by a later attempt)
// or current.
func TestAsked(t *testing.T) {
	t.Parallel()
	steps := []plan.Step{
		{ID: "0", Targets: []string{"data"}, Clients: 2},
		{ID: "1", Targets: []string{"data"}, Clients: 2},
		{ID: "2", Targets: []string{"data"}},
	}
	a := newRequested(steps, map[string]decide.Record{"0": {Attempt: 2, Done: true}, "1": {Attempt: 3}, "2": {Attempt: 1}})
	check := func(target string, index int, step string, number int, want interest) {
		t.Helper()
		if got := a.of(decide.ClientKey{Target: target, Index: index}, decide.Attempt{Step: step, Number: number}); got != want {
			t.Errorf("attempt %d of step %s for %s/%d: %d, want %d", number, step, target, index, got, want)
		}
	}
	check("data", 0, "0", 1, past)
	check("data", 0, "0", 2, past)
	check("data", 0, "0", 3, current) // the stored records may be one write behind
	check("data", 0, "0", 4, unrequested)
	check("data", 0, "0", 0, unrequested)
	check("data", 1, "1", 2, past)
	check("data", 1, "1", 3, current)
	check("data", 2, "1", 3, unrequested)
	check("other", 0, "1", 3, unrequested)
	check("data", 0, "2", 1, unrequested)
	check("data", 0, "3", 1, unrequested)
	a.ask(decide.Attempt{Step: "1", Number: 5})
	check("data", 0, "1", 4, past)
	check("data", 0, "1", 5, current)
	check("data", 0, "1", 6, unrequested)
	a.record(decide.Attempt{Step: "1", Number: 5})
	check("data", 0, "1", 5, past)
	a.ask(decide.Attempt{Step: "mine", Number: 1})
	check("any", 9, "mine", 1, current)
}

// TestNothingIsKeptOfUnrequestedAttempts checks that records of an attempt that was never requested take no memory.
func TestNothingIsKeptOfUnrequestedAttempts(t *testing.T) {
	t.Parallel()
	c := New(Options{RunUID: "run", Epoch: 1, LossTimeout: time.Hour, Steps: []plan.Step{{ID: "0", Targets: []string{"data"}, Clients: 1}}, Memory: NewBudget(64 << 20)})
	defer c.Close()
	one := &reader{client: newClient(c, decide.ClientKey{Target: "data"}, 0)}
	var log []byte
	for _, record := range plausibleLog(t) {
		log = protowire.AppendBytes(log, encode(t, record))
	}
	for _, attempt := range []decide.Attempt{{Step: "none", Number: 1}, {Step: "0", Number: 9}, {Step: "0"}} {
		one.logs(attempt, log)
		if used := one.budget.Used(); used != 0 || len(one.attempts) > 0 {
			t.Errorf("attempt %d of step %s: %d bytes in %d attempts are kept", attempt.Number, attempt.Step, used, len(one.attempts))
		}
	}
	one.logs(decide.Attempt{Step: "0", Number: 1}, log)
	of := one.attempts[decide.Attempt{Step: "0", Number: 1}]
	if of == nil || len(one.attempts) != 1 {
		t.Fatalf("the requested attempt is not the only one of %d", len(one.attempts))
	}
	if used := one.budget.Used(); of.kept < 2000 || used < int64(of.kept) {
		t.Errorf("the requested attempt: %d bytes are kept, and %d count", of.kept, used)
	}
}

// TestNothingIsKeptOfRecordedAttempts checks that records of an attempt that an earlier conductor has recorded take no
// memory.
func TestNothingIsKeptOfRecordedAttempts(t *testing.T) {
	t.Parallel()
	c := New(Options{RunUID: "run", Epoch: 1, LossTimeout: time.Hour, Steps: []plan.Step{{ID: "0", Targets: []string{"data"}, Clients: 1}},
		Records: map[string]decide.Record{"0": {Attempt: 1, Done: true}}, Memory: NewBudget(64 << 20)})
	defer c.Close()
	one := &reader{client: newClient(c, decide.ClientKey{Target: "data"}, 0)}
	var log []byte
	for _, record := range plausibleLog(t) {
		log = protowire.AppendBytes(log, encode(t, record))
	}
	one.logs(decide.Attempt{Step: "0", Number: 1}, log)
	if used := one.budget.Used(); used != 0 || len(one.attempts) > 0 {
		t.Errorf("%d bytes in %d attempts are kept", used, len(one.attempts))
	}
}
