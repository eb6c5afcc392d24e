package result_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
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

// A step whose jobs read only a part of the files is compared with the memory by the size of this part.
func TestCachesOfAPart(t *testing.T) {
	for suspected, fio := range map[v1alpha1.WarningType]*builders.FioBuilder{
		v1alpha1.WarningServerCacheSuspected: builders.Fio().Dataset("64Gi").Reads(),
		v1alpha1.WarningPageCacheSuspected:   builders.Fio().Dataset("64Gi").Reads().Buffered(),
	} {
		planned, problems := plan.Make(builders.Benchmark("b").Target("data").Workload(fio).Prepare("layout").
			Ramp("read", v1alpha1.RampJobs, "10s", 1, 16).Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		client := builders.Client("data", 0).Does(10, measure.Read, hundred, ms).
			Mutate(func(c *result.Client) { c.MemoryBytes = 32 << 30 })
		history := result.History{Documented: limits.Computed{Cache: limits.Cache{Bytes: 8 << 30}}}
		for i, want := range map[int]bool{1: true, 2: false} {
			made := result.Target(planned.Steps[i], "data", objects(client), history)
			found := slices.ContainsFunc(made.Warnings, func(w v1alpha1.Warning) bool {
				return w.Type == suspected && strings.Contains(w.Message, "(4.295 GB)")
			})
			if found != want {
				t.Errorf("%s with %d jobs: %t, %v", suspected, planned.Steps[i].Overrides.Jobs, found, made.Warnings)
			}
		}
	}
}
