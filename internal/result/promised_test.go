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

// TestBurstOnly checks the warning about a steady phase that is so short that it measured only the burst. It depends on
// the bucket that the load would empty first, not on the emptiest one.
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

// TestCachesOfAPart checks that, if jobs read only a part of the files, the size of this part is compared with the
// memory.
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

// TestVolumesOfEveryLoad checks that every load that uses the volumes has the warnings about them, even if its demand
// is unknown.
func TestVolumesOfEveryLoad(t *testing.T) {
	t.Parallel()
	handmade := func(load v1alpha1.Engine, kind v1alpha1.PhaseKind, operation v1alpha1.Operation) plan.Step {
		return plan.Step{
			Phase: "load", Kind: kind, Purpose: plan.Measure, Targets: []string{"data"}, Clients: 1, Cell: -1,
			Workloads: map[string]*v1alpha1.Engine{"data": &load}, Overrides: plan.Overrides{Operation: operation},
		}
	}
	writer := objects(builders.Client("data", 0).Does(3, measure.Write, hundred, ms))
	history := result.History{
		Described: &v1alpha1.StorageDescription{Volumes: []v1alpha1.VolumeDescription{{
			Name: "pv", Driver: "disk.csi.azure.com", MadeForRun: true,
			Parameters: map[string]string{"cachingMode": "ReadOnly"},
		}}},
		Documented: limits.Computed{Limits: []limits.Limit{
			{Name: "disk", Layer: limits.LayerDisk, Dimension: limits.Bytes, Units: 1, Baseline: 32e6, Burst: 260e6, Bucket: 1e9},
		}},
	}
	files := builders.Fio().Dataset("1Mi").Mutate(func(p *v1alpha1.FioProfile) { p.QueueDepth = nil }).Engine()
	for name, test := range map[string]struct {
		step    plan.Step
		clients []result.Client
		warns   bool
	}{
		"a program":   {commandStep(t), []result.Client{ranProgram(0, "a"), ranProgram(1, "b")}, true},
		"small files": {handmade(files, v1alpha1.PhaseSmallFiles, v1alpha1.OperationWrite), writer, true},
		"fio":         {handmade(builders.Fio().Engine(), v1alpha1.PhaseSteady, ""), writer, true},
		"no storage":  {handmade(builders.Fio().Null().Engine(), v1alpha1.PhaseSteady, ""), writer, false},
	} {
		made := result.Target(test.step, "data", test.clients, history)
		for _, kind := range []v1alpha1.WarningType{v1alpha1.WarningHostCacheOn, v1alpha1.WarningFreshVolume} {
			if slices.Contains(types(made.Warnings), kind) != test.warns {
				t.Errorf("%s: %s expected: %t, warnings %+v", name, kind, test.warns, made.Warnings)
			}
		}
	}
}
