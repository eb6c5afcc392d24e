package plan_test

import (
	"math"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestDemandOfStoredSteps checks the demand of each stored step, including those of a format that lacks the jobs of the
// layout.
func TestDemandOfStoredSteps(t *testing.T) {
	run := builders.Benchmark("b").Target("a").Clients(2).Prepare("layout").Ramp("ramp", v1alpha1.RampJobs, "30s", 1, 4).Run()
	made, problems := plan.Make(run, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	demands := plan.NewDemandModel(run)
	for i, step := range made.Freeze() {
		newest, known := demands.Of(&step, "a")
		step.LayoutJobs = nil
		oldest, also := demands.Of(&step, "a")
		if want := []float64{2 * 64 << 20, 2 * 16 << 20, 2 * 64 << 20}[i]; newest.DatasetBytes != want {
			t.Errorf("step %d: accesses %g bytes, want %g", i, newest.DatasetBytes, want)
		}
		oldest.DatasetBytes = newest.DatasetBytes // Without the jobs of the layout, the part that a step accesses is unknown.
		if !known || !also || newest != oldest || newest.Load.Operation != limits.Write {
			t.Errorf("step %d: %+v %v, without the jobs of the layout %+v %v", i, newest, known, oldest, also)
		}
		if want := []float64{0, 2 * 8, 2 * 4 * 8}[i]; newest.Outstanding != want {
			t.Errorf("step %d: %g outstanding, want %g", i, newest.Outstanding, want)
		}
	}
}

// TestDemandOnTheServersCache checks that reads count as cached only in a phase that expects the server's cache.
func TestDemandOnTheServersCache(t *testing.T) {
	for expect, want := range map[v1alpha1.Expectation]float64{v1alpha1.ExpectServerCache: 1, "": 0} {
		run := builders.Benchmark("b").Target("a").Clients(2).Prepare("layout").Steady("read", "30s").With(builders.Fio().Reads()).
			Mutate(func(r *v1alpha1.RunSpec) { r.Phases[1].Expect = expect }).Run()
		made, problems := plan.Make(run, 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		steps, demands := made.Freeze(), plan.NewDemandModel(run)
		if got, known := demands.Of(&steps[len(steps)-1], "a"); !known || got.Load.Operation != limits.Read || got.Load.CachedShare != want {
			t.Errorf("expect %q: %+v, want a cached share of %g", expect, got.Load, want)
		}
	}
}

// TestForecastOfOneClient checks that a step of one client out of eight is expected to spend the credits of the
// client's own volume if it has one, otherwise those of the volume or file server that all clients share.
func TestForecastOfOneClient(t *testing.T) {
	limited := builders.Fio().Mutate(func(p *v1alpha1.FioProfile) {
		p.RateLimit = &v1alpha1.FioRateLimit{BytesPerSecond: new(resource.MustParse("50M"))}
	})
	share := func(clients int32) *builders.BenchmarkBuilder {
		return builders.Benchmark("b").Target("a").Throughput("80M", "800M", "800G", "80M").Clients(clients).Workload(limited)
	}
	for _, test := range []struct {
		want      float64
		clients   int32
		benchmark *builders.BenchmarkBuilder
	}{
		{100, 8, share(8)},
		{52, 8, share(8).PerClient()}, // 1200 s * (50 - 10) MB/s of 100 GB
		{85.3, 8, share(8).PerClient().Preset("aws-ebs/gp2", "20Gi")},       // 1200 s * (763 - 100) IOPS of 5.4 million
		{85.3, 2, share(2).PerClient().Preset("aws-ebs/gp2", "20Gi")},       // the same: each client has its own volume
		{98.8, 8, share(8).PerClient().Preset("aws-efs/bursting", "512Gi")}, // 1200 s * (50 - 26.2) MB/s of 2.1 TiB
	} {
		made, problems := plan.Make(test.benchmark.Ramp("ramp", v1alpha1.RampClients, "20m", 1, int64(test.clients)).Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		if got := made.Steps[0].Credits["a"].EndPercent; math.Abs(got-test.want) > 0.1 {
			t.Errorf("%d clients: %g %% are left, want %g %%", test.clients, got, test.want)
		}
	}
}

// TestLoadsOfDrainsComeFirst checks that the loads that drain the buckets are listed before other loads.
func TestLoadsOfDrainsComeFirst(t *testing.T) {
	small, large := builders.Fio().BlockSize("4Ki"), builders.Fio().BlockSize("1Mi")
	for name, benchmark := range map[string]*builders.BenchmarkBuilder{
		"burstDrain": on().Steady("steady", "1m").With(small).BurstDrain("drain", "2m", "1h").With(large),
		"redrain":    on().Steady("steady", "1m").With(small).Redrain("drain", "2m").AtMost("1h").With(large),
	} {
		var sizes []float64
		for _, load := range plan.NewDemandModel(benchmark.Run()).Loads("a") {
			sizes = append(sizes, load.BlockBytes)
		}
		if !slices.Equal(sizes, []float64{1 << 20, 4 << 10}) {
			t.Errorf("%s: loads of %v bytes, want those of the drain first", name, sizes)
		}
	}
}

// TestCoarseDrain checks that a drain may take longer than expected if few operations complete per second, because the
// baseline then takes longer to measure. A redrain does not measure the baseline again.
func TestCoarseDrain(t *testing.T) {
	for size, want := range map[string]bool{"1Mi": true, "64Ki": false} {
		benchmark := on().Workload(builders.Fio().BlockSize(size)).Throughput("4M", "40M", "10G", "4M").
			BurstDrain("drain", "2m", "6h").Redrain("again", "10m").AtMost("6h")
		made, problems := plan.Make(benchmark.Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		for _, step := range made.Steps {
			if step.Purpose == plan.Drain && step.Longer != (want && !step.Redrain) {
				t.Errorf("blocks of %s: step %s may take longer: %t", size, step.ID, step.Longer)
			}
		}
	}
}

// TestDocumentedVolumes checks that the documented limits are those of one volume if all clients share it, and of all
// volumes if each client has its own.
func TestDocumentedVolumes(t *testing.T) {
	for want, benchmark := range map[int64]*builders.BenchmarkBuilder{300: on().Preset("aws-ebs/gp2", "100Gi"), 4 * 300: on().PerClient().Preset("aws-ebs/gp2", "100Gi")} {
		made, problems := plan.Make(benchmark.Steady("steady", "1m").Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		var baselines []int64
		for _, limit := range made.Documented[0].Limits {
			if limit.Dimension == string(limits.Operations) {
				baselines = append(baselines, limit.Baseline)
			}
		}
		if !slices.Equal(baselines, []int64{want}) {
			t.Errorf("the documented baselines are %d IOPS, want %d", baselines, want)
		}
	}
}
