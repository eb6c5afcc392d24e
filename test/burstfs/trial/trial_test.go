package trial_test

import (
	"slices"
	"testing"

	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/trial"
)

// TestTrials requires that every scenario of a real system has a trial, that every trial can be planned, and that the
// bucket that it drains exists.
func TestTrials(t *testing.T) {
	tried := map[string]bool{"facts": true} // simulates no real system
	for _, one := range append(slices.Clone(trial.All), trial.Quick) {
		config, err := one.Store()
		if err != nil {
			t.Fatal(err)
		}
		tried[one.Name], tried[one.Scenario] = true, true
		benchmark, err := one.Benchmark("data")
		if err != nil {
			t.Fatal(err)
		}
		planned, problems := plan.Make(benchmark.Run(), 1)
		if err := problems.ToAggregate(); err != nil {
			t.Errorf("%s: %v", one.Name, err)
		}
		steps := 5
		if one.Drains == "" {
			steps = 2
		} else if limits := benchmark.Run().Targets[0].Documented; limits == nil {
			t.Errorf("%s: there is no bucket %q in %+v", one.Name, one.Drains, config.Buckets)
		}
		if len(planned.Steps) != steps {
			t.Errorf("%s: %d steps, want %d", one.Name, len(planned.Steps), steps)
		}
	}
	for _, name := range burstfs.Scenarios() {
		if !tried[name] {
			t.Errorf("%s has no trial", name)
		}
	}
}
