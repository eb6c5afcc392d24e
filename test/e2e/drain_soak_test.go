package e2e

import (
	"math"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/trial"
	"github.com/storagebench/storagebench/test/soak"
)

// TestBurst checks a drain in pods against the store's record: burst, baseline, time to the drop, spent credits and
// refill.
func TestBurst(t *testing.T) {
	soak.Only(t)
	tryInPods(t, trial.Quick)
}

// TestScenarios does the same for all scenarios of real systems.
func TestScenarios(t *testing.T) {
	soak.Only(t)
	for _, one := range trial.All {
		t.Run(one.Name, func(t *testing.T) { tryInPods(t, one) })
	}
}

// tryInPods runs a trial on its store and compares the result with the store's record.
func tryInPods(t *testing.T, one trial.Trial) {
	t.Helper()
	requireNode(t)
	s := newSpace(t)
	config, err := one.Store()
	must(t, err)
	store := s.burstClaim("data", config)
	benchmark, err := one.Benchmark("data")
	must(t, err)
	s.apply(benchmark.Obj())
	run := s.ended(10 * time.Minute)
	rows := s.hold("In pods on "+one.Name, store, config, run)
	compared := map[string]bool{}
	for _, row := range rows {
		compared[row.Phase+" "+row.Figure] = true
		if row.Phase != "all steps" && math.Abs(row.Truth/row.Parameter-1) > offPercent/100.0 {
			t.Logf("%s: %s by the record is %g, while the store was to give %g", row.Phase, row.Figure, row.Truth, row.Parameter)
		}
	}
	for _, figure := range one.Figures() {
		if !compared[figure] {
			t.Errorf("%s was not compared", figure)
		}
	}
	s.clean()
}
