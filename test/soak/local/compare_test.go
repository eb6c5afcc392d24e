package local_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/local"
)

const twoTargets = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: two}
spec:
  run:
    targets:
    - {name: slow, volumes: [{name: data, claimName: slow}]}
    - {name: fast, volumes: [{name: data, claimName: fast}]}
    clients: {count: 1, spread: Any}
    workload: {fio: {pattern: Random, readPercent: 0, blockSize: 64Ki, datasetSize: 8Mi, queueDepth: 16}}
    phases:
    - {name: layout, prepare: {}}
    - {name: together, steady: {duration: 2s}}
    - {name: alone, mode: Sequential, steady: {duration: 9s, warmUp: 1s}}
`

// TestTwoTargetsCompared compares two stores with rates of 4 and 6 MB/s. The comparison must find the difference
// between the stores' own records. In the phase that loads both targets from this one machine at once, it must be
// invalid.
func TestTwoTargetsCompared(t *testing.T) {
	limited := func(rate float64) model.Config {
		return model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: rate}}, Latency: model.Latency{Fixed: time.Millisecond}}
	}
	slow, fast := local.Mount(t, limited(4e6)), local.Mount(t, limited(6e6))
	run := local.Start(t, "run", "--local", "-f", local.Write(t, local.Usual, twoTargets), "--target", "slow="+slow.Path(), "--target", "fast="+fast.Path(), "-o", "json")
	document := local.Ended(t, run)
	found := map[string]v1alpha1.TargetComparison{}
	for _, phase := range document.Phases {
		for _, one := range phase.Comparisons {
			found[phase.Name] = one
		}
	}
	if together := found["together"]; !strings.Contains(together.Invalid, "SharedClientNode") || len(together.Figures) > 0 {
		t.Errorf("the targets shared this machine: %+v", together)
	}
	alone := found["alone"]
	if alone.Baseline != "slow" || alone.Target != "fast" || alone.Invalid != "" {
		t.Fatalf("%+v", alone)
	}
	low, high := let(t, document, slow), let(t, document, fast)
	times := high / low
	t.Logf("the stores let %.3f and %.3f MB/s through", low/1e6, high/1e6)
	if math.Abs(times/1.5-1) > 0.2 { // the error if the machine stalls for two of the nine seconds
		t.Errorf("the stores are limited to 4 and 6 MB/s and let %.3f and %.3f MB/s through", low/1e6, high/1e6)
	}
	// After a warm-up, fio may leave up to one queue of operations uncounted (docs/limits.md): 16 of those of 9 s.
	const untimed = 16 * 64 << 10
	queue := 1000 * times * (untimed/(9*low) + untimed/(9*high))
	for _, figure := range alone.Figures {
		t.Logf("%s: %d and %d, %+.1f %%, %s", figure.Figure, figure.Baseline, figure.Target, float64(figure.DifferencePermille)/10, figure.Verdict)
		want, known := map[v1alpha1.FigureName]struct{ permille, off float64 }{
			v1alpha1.FigureThroughput: {1000 * (times - 1), 60}, v1alpha1.FigureIOPS: {1000 * (times - 1), 60 + queue},
			v1alpha1.FigureMeanLatency: {1000 * (1/times - 1), 60},
		}[figure.Figure]
		if !known {
			continue
		}
		if math.Abs(float64(figure.DifferencePermille)-want.permille) > want.off || figure.Verdict != v1alpha1.FigureTargetBetter {
			t.Errorf("%s: %+d permille and %s, want %+.0f and TargetBetter", figure.Figure, figure.DifferencePermille, figure.Verdict, want.permille)
		}
	}
	var text strings.Builder
	if err := report.Text(&text, document, report.TextOptions{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
}

// let returns the rate that a store let through during its step of the phase "alone", according to the store's record.
// In a sequential phase, each target has its own step. The maximum is that of the store's own step, because the store
// is idle in the other one.
func let(t *testing.T, document report.Document, store *burstfs.Mounted) float64 {
	t.Helper()
	record, most := truth.Of(store.FS), 0.0
	for _, step := range document.Steps {
		if !strings.Contains(step.ID, "alone") || step.MeasuredTime == nil || step.PlannedEndTime == nil {
			continue
		}
		from, to := step.MeasuredTime.Time, step.PlannedEndTime.Time
		most = max(most, record.Between(from, to).WriteBytes/to.Sub(from).Seconds())
	}
	return most
}
