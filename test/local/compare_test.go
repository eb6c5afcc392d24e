package local

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs/model"
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

// Two stores whose rates are 4 and 6 MB/s: what differs is found, by as much as it differs. Loaded together on this one
// machine they are not compared.
func TestTwoTargetsCompared(t *testing.T) {
	limited := func(rate float64) model.Config {
		return model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: rate}}, Latency: model.Latency{Fixed: time.Millisecond}}
	}
	slow, fast := mount(t, limited(4e6)), mount(t, limited(6e6))
	run := start(t, "run", "--local", "-f", write(t, usual, twoTargets), "--target", "slow="+slow.Path(), "--target", "fast="+fast.Path(), "-o", "json")
	document := ended(t, run)
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
	for _, figure := range alone.Figures {
		t.Logf("%s: %d and %d, %+.1f %%, %s", figure.Figure, figure.Baseline, figure.Target, float64(figure.DifferencePermille)/10, figure.Verdict)
		want := map[v1alpha1.FigureName]float64{v1alpha1.FigureThroughput: 500, v1alpha1.FigureIOPS: 500, v1alpha1.FigureMeanLatency: -333}[figure.Figure]
		if want == 0 {
			continue
		}
		if math.Abs(float64(figure.DifferencePermille)-want) > 60 || figure.Verdict != v1alpha1.FigureTargetBetter {
			t.Errorf("%s: %+d permille and %s, want %+.0f and TargetBetter", figure.Figure, figure.DifferencePermille, figure.Verdict, want)
		}
	}
	var text strings.Builder
	if err := report.Text(&text, document); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
}
