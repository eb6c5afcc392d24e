package local_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/local"
	"github.com/storagebench/storagebench/test/soak"
)

const victimAndNoisy = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: two}
spec:
  run:
    targets:
    - {name: victim, volumes: [{name: data, claimName: victim}]}
    - {name: noisy, volumes: [{name: data, claimName: noisy}]}
    clients: {count: 1, spread: Any}
    workload: {fio: {pattern: Random, readPercent: 0, blockSize: 64Ki, datasetSize: 8Mi, queueDepth: 8}}
    phases:
    - {name: layout, prepare: {}}
    - name: cost
      targetWorkloads: [{target: noisy, workload: {fio: {pattern: Random, readPercent: 0, blockSize: 64Ki, datasetSize: 8Mi, queueDepth: 24}}}]
      interference: {victims: [victim], aggressors: [noisy], regime: Any, blockDuration: 30s, warmUp: 5s}
`

// TestInterferenceOnMounts measures interference with real fio. On a shared store, a victim with 8 of 32 outstanding
// requests must get a quarter of the rate, and each of its requests must take four times as long. On a store of its
// own, it must lose nothing: this is the control. If the control shows a loss, the machine was the limit, and the test
// is inconclusive. It takes about a quarter of an hour.
func TestInterferenceOnMounts(t *testing.T) {
	soak.Only(t)
	const bytesPerSecond, margin = 4e6, 0.02
	limited := model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: bytesPerSecond}}, Latency: model.Latency{Fixed: time.Millisecond}}
	own := costOn(t, local.Mount(t, limited).Path(), local.Mount(t, limited).Path())
	if !strings.Contains(own.Message, "no throughput loss shown") {
		soak.Inconclusive(t, "targets with stores of their own affect each other, so the machine was the limit: %s", own.Message)
	}
	store := local.Mount(t, limited).Path()
	var folders []string
	for _, name := range []string{"victim", "noisy"} {
		folder := filepath.Join(store, name)
		if err := os.Mkdir(folder, 0o755); err != nil { // #nosec G301 -- as any directory of a share
			t.Fatal(err)
		}
		folders = append(folders, folder)
	}
	shared := costOn(t, folders[0], folders[1])
	soak.Report(t, "What a neighbour costs on a shared store and on stores of their own", "shared: %s. Own: %s", shared.Message, own.Message)
	level := shared.Levels[1]
	if ratio := float64(level.RateRatioPPM.Value) / 1e6; math.Abs(ratio/0.25-1) > margin && (*level.RateRatioPPM.Lower > 250_000 || *level.RateRatioPPM.Upper < 250_000) {
		t.Errorf("the victim kept %.4f of its rate, and its share is a quarter: %+v", ratio, level.RateRatioPPM)
	}
	if p50 := level.Operations[0].P50RatioPPM; p50 == nil || math.Abs(float64(p50.Value)/4e6-1) > 2*margin {
		t.Errorf("the median is %+v times as long, and a request waits for four times as many", p50)
	}
}

// costOn runs the benchmark in two directories, and returns the victim's result.
func costOn(t *testing.T, victim, noisy string) *v1alpha1.InterferenceResult {
	t.Helper()
	run := local.Start(t, "run", "--local", "-f", local.Write(t, local.Usual, victimAndNoisy), "--target", "victim="+victim, "--target", "noisy="+noisy, "-o", "json")
	got := run.WaitFor(t, time.Hour)
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	for _, phase := range got.Document(t).Phases {
		for _, target := range phase.Targets {
			for _, warning := range target.Warnings {
				if warning.Type == v1alpha1.WarningClientCPUSaturated || warning.Type == v1alpha1.WarningClientCPUThrottled {
					soak.Inconclusive(t, "the machine was too busy for the loads: %s", warning.Message)
				}
			}
			if found := target.Interference; found != nil && len(found.Levels) == 2 && found.Levels[1].RateRatioPPM != nil && found.Levels[1].RateRatioPPM.Lower != nil {
				return found
			}
		}
	}
	t.Fatal("the victim has no result")
	return nil
}
