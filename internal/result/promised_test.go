package result_test

import (
	"slices"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// A steady phase that is shorter than the burst measured only the burst. The fill of the bucket that the load
// empties first decides, not the fill of the emptiest bucket.
func TestBurstOnly(t *testing.T) {
	planned, problems := plan.Make(builders.Benchmark("b").Target("data").Clients(2).Steady("write", "1m").Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	documented := limits.Computed{Limits: []limits.Limit{
		{Name: "machine", Layer: limits.LayerInstance, Dimension: limits.Bytes, Baseline: 100e6, Burst: 300e6, Bucket: 100e9, Refill: 100e6, Units: 1},
		{Name: "volume", Layer: limits.LayerVolume, Dimension: limits.Bytes, Baseline: 32e6, Burst: 260e6, Bucket: 22.8e9, Refill: 32e6, Units: 1},
	}}
	for name, test := range map[string]struct {
		machine, volume float64
		warns           bool
	}{
		"both full":      {100, 100, true},
		"machine empty":  {5, 100, true},
		"volume empty":   {100, 5, false},
		"volume at half": {5, 50, false},
	} {
		emptiest := int32(min(test.machine, test.volume))
		made := result.Target(planned.Steps[0], "data", scaled.drain(2, scaled.size, 60), result.History{Documented: documented, CreditPercentAtStart: &emptiest,
			Fills: map[string]limits.Fill{"machine": {Most: test.machine}, "volume": {Most: test.volume}}})
		if slices.Contains(types(made.Warnings), v1alpha1.WarningRunTooShort) != test.warns {
			t.Errorf("%s: warnings %v", name, made.Warnings)
		}
	}
}
