package cli

import (
	"slices"
	"testing"

	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
)

// TestMergeWarnsOfClippedLatency checks that merge and parse, like the result of a run, warn about operations whose
// latency is known only as a lower bound.
func TestMergeWarnsOfClippedLatency(t *testing.T) {
	for name, test := range map[string]struct {
		nanoseconds uint64
		want        bool
	}{"3 s": {3e9, false}, "20 s": {20e9, true}} {
		snapshot := fio.Snapshot{}
		latency := &snapshot.Operations[measure.Read].Total
		latency.Count = 2000
		latency.Histogram.AddNanoseconds(test.nanoseconds, latency.Count)
		result := fioResult{Result: fio.Result{Snapshot: &snapshot}}
		merged, err := mergeFio([]fioResult{result, result})
		if err != nil {
			t.Fatal(err)
		}
		for operations, warnings := range map[string][]string{
			"4000": merged.Warnings, "2000": parseFio(result).Warnings,
		} {
			warning := "LatencyClipped: Read: " + operations + " operations took 17 s or longer; only the maximum shows how long"
			if slices.Contains(warnings, warning) != test.want {
				t.Errorf("%s operations of %s: %q", operations, name, warnings)
			}
		}
	}
}
