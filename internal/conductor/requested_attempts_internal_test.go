package conductor

import (
	"testing"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
)

// TestAsked checks which attempts are unrequested, and that recorded and repeated attempts are past.
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
	check("data", 0, "0", 3, current) // the records may be one write old
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
