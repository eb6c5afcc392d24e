package local_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/test/burstfs/trial"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/local"
)

// TestBurst checks that a drain finds the store's burst, baseline, time to the baseline, spent credits and refill.
func TestBurst(t *testing.T) {
	tryOn(t, trial.Quick)
}

// TestScenarios is TestBurst with all scenarios of real systems.
func TestScenarios(t *testing.T) {
	for _, one := range trial.All {
		t.Run(one.Name, func(t *testing.T) { tryOn(t, one) })
	}
}

// tryOn runs a trial on its store and compares the figures with the store's record.
func tryOn(t *testing.T, one trial.Trial) {
	t.Helper()
	config, err := one.Store()
	if err != nil {
		t.Fatal(err)
	}
	benchmark, err := one.Benchmark("data")
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(benchmark.Obj())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	store := local.Mount(t, config)
	document := local.OnStore(t, store, "data", file)
	rows := truth.Compare(truth.Of(store.FS), config, document.BenchmarkRunStatus)
	t.Logf("%s:\n%s", one.Name, truth.Table(rows))
	compared := map[string]bool{}
	for _, row := range rows {
		compared[row.Phase+" "+row.Figure] = true
		if row.Outside() {
			t.Errorf("%s: %s is %g, the store's record has %g and allows %s", row.Phase, row.Figure, row.Ours, row.Truth, row.Bounds)
		}
		// The machine may be slower than the store. The record is still correct then, but the trial proves little.
		if row.Phase != "all steps" && math.Abs(row.Truth/row.Parameter-1) > 0.05 {
			t.Logf("%s: %s is %g in the store's record, but the store's parameter is %g", row.Phase, row.Figure, row.Truth, row.Parameter)
		}
	}
	for _, figure := range one.Figures() {
		if !compared[figure] {
			t.Errorf("%s was not compared", figure)
		}
	}
}
