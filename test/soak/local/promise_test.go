package local_test

import (
	"math"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/local"
)

// promised is a benchmark of a store with documented limits: 2 MB/s, and 6 MB/s while credits last, which is 150 s. The
// rates are so low that a busy machine reaches them too. The requests in flight take a third of a second.
const promised = `
apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: promised}
spec:
  run:
    targets:
    - name: data
      volumes: [{name: data, claimName: none}]
      documented: {throughput: {baseline: 2M, burst: 6M, bucket: 600M}, serverMemory: 8Mi}
    clients: {count: 1, spread: Any}
    workload:
      fio: {pattern: Sequential, readPercent: 0, blockSize: 64Ki, queueDepth: 32, datasetSize: 24Mi}
    phases:
    - {name: layout, prepare: {}}
    - {name: write, steady: {duration: 6s, warmUp: 1s}}
`

// TestPromise checks that a local run records the documented limits of its store, reports its rate as a share of them,
// and names the limit that held the rate back.
func TestPromise(t *testing.T) {
	store := local.Mount(t, model.Config{Scenario: "6 MB/s for 150 s", Latency: model.Latency{Fixed: 1e6},
		Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 2e6, BurstPerSecond: 6e6, Size: 600e6}}})
	document := local.OnStore(t, store, "data", local.Write(t, local.Usual, promised))
	if len(document.Storage) != 1 || document.Storage[0].Target != "data" || len(document.Storage[0].Limits) != 1 {
		t.Fatalf("recorded: %+v", document.Storage)
	}
	recorded := document.Storage[0]
	if limit := recorded.Limits[0]; limit.Baseline != 2e6 || *limit.Burst != 6e6 || *limit.Bucket != 600e6 || *recorded.ServerMemoryBytes != 8<<20 ||
		limit.Arithmetic != "2 MB/s, as specified" || recorded.Volumes[0].FileSystem == "" {
		t.Errorf("recorded: %+v", recorded)
	}
	result := document.Phases[1].Targets[0]
	if len(result.Attributions) != 1 {
		t.Fatalf("attributions: %+v", result.Attributions)
	}
	one, rate := result.Attributions[0], float64(*result.Operations[0].BytesPerSecond)
	if one.Burst == nil || math.Abs(float64(one.Burst.PermilleReached)-1000*rate/6e6) > 1 || math.Abs(float64(one.Baseline.PermilleReached)-1000*rate/2e6) > 1 {
		t.Errorf("%.1f MB/s is reported as %+v of the burst and %+v of the baseline", rate/1e6, one.Burst, one.Baseline)
	}
	if first := one.Suspects[0]; first.Cause != v1alpha1.CauseLimit || !first.Burst || first.Limit != "documented.throughput" {
		t.Errorf("suspects: %+v", one.Suspects)
	}
	warned := false
	for _, warning := range result.Warnings {
		warned = warned || warning.Type == v1alpha1.WarningRunTooShort && strings.Contains(warning.Message, "no burstDrain phase")
	}
	if !warned {
		t.Errorf("no warning says that the run measures only the burst: %+v", result.Warnings)
	}
}
