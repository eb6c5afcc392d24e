package local

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// burstFile drains a small bucket: 250 MB, which last some ten seconds.
const burstFile = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: burst}
spec:
  run:
    targets:
    - name: data
      volumes: [{name: data, claimName: data}]
      documented: {throughput: {baseline: 5M, burst: 30M, bucket: 250M, refill: 5M}}
    clients: {count: 1}
    workload: {fio: {pattern: Sequential, readPercent: 0, blockSize: 128Ki, queueDepth: 16, datasetSize: 64Mi}}
    phases:
    - {name: layout, prepare: {}}
    - {name: burst, burstDrain: {minDuration: 15s, maxDuration: 60s}}
    - {name: baseline, steady: {duration: 4s}}
`

// TestBurst drains a store's credits and checks that the run executes the planned steps and that its figures are within
// the bounds of the store's record.
func TestBurst(t *testing.T) {
	t.Parallel()
	config := model.Config{Latency: model.Latency{Fixed: time.Millisecond}, Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes,
		BaselinePerSecond: 5e6, BurstPerSecond: 30e6, Size: 250e6}}}
	file := Write(t, Usual, burstFile)
	var plan struct{ Steps []struct{ ID string } }
	if got := Call(t, "plan", "-f", file, "-o", "json"); json.Unmarshal([]byte(got.Stdout), &plan) != nil || got.Code != 0 {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	store := Mount(t, config)
	document := OnStore(t, store, "data", file)
	var planned, ran []string
	for _, step := range plan.Steps {
		planned = append(planned, step.ID)
	}
	for _, step := range document.Steps {
		ran = append(ran, step.ID)
	}
	if ran = slices.Compact(ran); !slices.Equal(ran, planned) { // a step may need another attempt
		t.Errorf("the steps %q were run, planned are %q", ran, planned)
	}
	rows := truth.Compare(truth.Of(store.FS), config, document.BenchmarkRunStatus)
	t.Logf("\n%s", truth.Table(rows))
	// If the machine was too busy to load the store, the store's rates differ from its parameters, and what a detector
	// should find in them is not a matter of truth. Then only the totals of all steps are compared, and no figure of the
	// phase.
	starved := map[string]bool{}
	for _, row := range rows {
		if row.Parameter > 0 && !row.Bounds.Hold(row.Parameter) || row.Figure == "exhausted" && row.Truth == 0 {
			starved[row.Phase] = true
		}
	}
	var compared []string
	for _, row := range rows {
		if !starved[row.Phase] {
			compared = append(compared, row.Phase+" "+row.Figure)
		}
		if row.Outside() && !starved[row.Phase] {
			t.Errorf("%s: %s is %g, by the store's record %g: it may be %s", row.Phase, row.Figure, row.Ours, row.Truth, row.Bounds)
		}
	}
	want := slices.DeleteFunc([]string{"burst exhausted", "burst burst", "burst baseline", "burst time to baseline", "burst spent", "baseline write",
		"baseline write operations", "all steps read and written"}, func(figure string) bool {
		phase, _, _ := strings.Cut(figure, " ")
		return starved[phase]
	})
	if !slices.Equal(compared, want) {
		t.Errorf("compared are %q, want %q", compared, want)
	}
}
