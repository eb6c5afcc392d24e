package plan_test

import (
	"slices"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestLabels checks the label of each step: the values of its cell, and the number of clients if a ramp changes nothing
// else or the step is a cell of a sweep.
func TestLabels(t *testing.T) {
	for name, test := range map[string]struct {
		benchmark *builders.BenchmarkBuilder
		want      []string
	}{
		"a ramp of queue depths": {on().Ramp("x", v1alpha1.RampQueueDepth, "1m", 1, 8), []string{"x (queueDepth 1)", "x (queueDepth 8)"}},
		"a ramp of clients":      {on().Clients(8).Ramp("x", v1alpha1.RampClients, "1m", 1, 8), []string{"x (clients 1)", "x (clients 8)"}},
		"a sweep": {on().Sweep("x", v1alpha1.RegimeAny, "1m", depths(1, 8)),
			[]string{"x (clients 4, queueDepth 1)", "x (clients 4, queueDepth 8)", "x (clients 4, queueDepth 1, again)"}},
	} {
		made, problems := plan.Make(test.benchmark.Run(), 1)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems.ToAggregate())
		}
		var labels []string
		for i := range made.Steps {
			labels = append(labels, made.Steps[i].Label())
		}
		if !slices.Equal(labels, test.want) {
			t.Errorf("%s: %q, want %q", name, labels, test.want)
		}
	}
}

// TestIDOfOneTarget checks that a sequential phase of a run with one target is named like any other.
func TestIDOfOneTarget(t *testing.T) {
	made, problems := plan.Make(on().Steady("steady", "1m").Sequential().Run(), 1)
	if len(problems) > 0 || made.Steps[0].ID != "00-steady" {
		t.Errorf("got %q, %v", made.Steps[0].ID, problems)
	}
}

// TestShowAStepOfAnUnknownPhase checks that a stored step that cannot be read is still shown, by its stored fields.
func TestShowAStepOfAnUnknownPhase(t *testing.T) {
	spec := &v1alpha1.BenchmarkRunSpec{Run: *on().Steady("steady", "1m").Run()}
	spec.Steps = []v1alpha1.ResolvedStep{{ID: "07-gone", Phase: "gone", Targets: []string{"a"}, Clients: 3}}
	shown := plan.Show(spec).Steps[0]
	if shown.ID != "07-gone" || shown.Phase != "gone" || shown.Clients != 3 || !slices.Equal(shown.Targets, []string{"a"}) {
		t.Errorf("got %+v", shown)
	}
}
