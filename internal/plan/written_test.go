package plan_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestWritten checks that layouts are added up, that the writes of a load are bounded by its own or the documented
// rate, and that phases without either limit are named.
func TestWritten(t *testing.T) {
	const gib = 1 << 30
	quantity := func(text string) *resource.Quantity { return new(resource.MustParse(text)) }
	two := func() *builders.BenchmarkBuilder {
		return builders.Benchmark("b").Target("a").Clients(2).Workload(builders.Fio().Dataset("1Gi")).Prepare("layout")
	}
	limited := func(limits v1alpha1.RateLimits) func(*v1alpha1.RunSpec) {
		return func(run *v1alpha1.RunSpec) { run.Targets[0].Documented = &v1alpha1.Limits{Throughput: &limits} }
	}
	burst := v1alpha1.RateLimits{Baseline: quantity("10M"), Burst: quantity("40M"), Bucket: quantity("600M")}
	rate := func(text string) *builders.FioBuilder {
		return builders.Fio().Dataset("1Gi").Mutate(func(profile *v1alpha1.FioProfile) {
			profile.RateLimit = &v1alpha1.FioRateLimit{BytesPerSecond: quantity(text)}
		})
	}
	compressible := func() *builders.FioBuilder { return builders.Fio().Dataset("1Gi").Compressible(50) }
	both := func(iops int64, bytes string) *builders.FioBuilder {
		return rate(bytes).BlockSize("4Ki").Mutate(func(profile *v1alpha1.FioProfile) { profile.RateLimit.IOPS = &iops })
	}
	search := func() *builders.BenchmarkBuilder {
		shared := builders.Fio().BlockSize("4Ki").Mutate(func(profile *v1alpha1.FioProfile) {
			profile.FileSharing = v1alpha1.FilesShared
		})
		return builders.Benchmark("b").Target("a").Workload(shared).Search("search", "99", "5ms", 2000, "1m")
	}
	searched := plan.Written{MeasuredBytes: 39 * 65 * 2000 * 4096} // 39 steps of 5 s and 1 min
	program := v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"zip"}}}
	for name, test := range map[string]struct {
		benchmark *builders.BenchmarkBuilder
		want      plan.Written
	}{
		"a layout and reads":    {two().Steady("read", "1m").With(builders.Fio().Dataset("1Gi").Reads()), plan.Written{LayoutBytes: 2 * gib}},
		"the same layout again": {two().Prepare("again"), plan.Written{LayoutBytes: 2 * gib}},
		"a layout after a write of the same content": {two().Steady("write", "1m").With(rate("10M")).Prepare("again"),
			plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 2 * 60 * 10e6}},
		"a layout of other content": {two().Prepare("again").With(compressible()), plan.Written{LayoutBytes: 4 * gib}},
		"back to the first content": {two().Prepare("again").With(compressible()).Prepare("back"), plan.Written{LayoutBytes: 6 * gib}},
		"a layout after a write of other content": {two().Steady("write", "1m").With(rate("10M").Compressible(50)).Prepare("again"),
			plan.Written{LayoutBytes: 4 * gib, MeasuredBytes: 2 * 60 * 10e6}},
		"a layout after a write": {builders.Benchmark("b").Target("a").Clients(2).Workload(rate("10M")).Steady("write", "1m").Prepare("layout"),
			plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 2 * 60 * 10e6}},
		"a layout of smaller files": {two().Prepare("again").With(builders.Fio().Dataset("512Mi")), plan.Written{LayoutBytes: 3 * gib}},
		"writes without limit":      {two().Steady("write", "1m"), plan.Written{LayoutBytes: 2 * gib, Unbounded: []string{"write"}}},
		"a rate of each client": {two().Steady("write", "1m").With(rate("10M")),
			plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 2 * 60 * 10e6}},
		"a warm-up writes too": {two().Steady("write", "1m").WarmUp("30s").With(rate("10M")),
			plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 2 * 90 * 10e6}},
		"a documented rate": {two().Mutate(limited(v1alpha1.RateLimits{Baseline: quantity("8M")})).Steady("write", "1m"),
			plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 60 * 8e6}},
		// Credits of 600 MB last for 20 s at 40 - 10 MB/s. The baseline follows for 40 s.
		"a documented burst": {builders.Benchmark("b").Target("a").Mutate(limited(burst)).Steady("write", "1m"), plan.Written{MeasuredBytes: 20*40e6 + 40*10e6}},
		// The layout has spent all credits.
		"after the burst": {two().Mutate(limited(burst)).Steady("write", "1m"), plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 60 * 10e6}},
		// Each step spends 4 GB of credits in 10 s at 480 - 80 MB/s. Seven of eight volumes are full before the second step.
		"all clients after one of them": {builders.Benchmark("b").Target("a").Throughput("80M", "480M", "4G", "").
			Clients(8).PerClient().Ramp("ramp", v1alpha1.RampClients, "20s", 1, 8),
			plan.Written{MeasuredBytes: 2 * 10 * (480e6 + 80e6)}},
		"the lower of both": {two().Mutate(limited(v1alpha1.RateLimits{Baseline: quantity("8M")})).Steady("write", "1m").With(rate("1M")),
			plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 2 * 60 * 1e6}},
		"a search":                 {search(), searched},
		"a search on fast storage": {search().Mutate(limited(v1alpha1.RateLimits{Baseline: quantity("100M")})), searched},
		"the lower of bytes and operations: operations": {two().Steady("write", "1m").With(both(100, "100M")),
			plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 2 * 60 * 100 * 4096}},
		"the lower of bytes and operations: bytes": {two().Steady("write", "1m").With(both(1000, "1M")),
			plan.Written{LayoutBytes: 2 * gib, MeasuredBytes: 2 * 60 * 1e6}},
		"a program":    {builders.Benchmark("b").Target("a").Load(program).Steady("zip", "1m"), plan.Written{Unbounded: []string{"zip"}}},
		"no storage":   {builders.Benchmark("b").Target("a").Workload(builders.Fio().Null()).Steady("null", "1m"), plan.Written{}},
		"file by name": {builders.Benchmark("b").Target("a").Load(builders.Mdtest()).Steady("names", "1m"), plan.Written{Unbounded: []string{"names"}}},
	} {
		made, problems := plan.Make(test.benchmark.Run(), 1)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems.ToAggregate())
		}
		got := made.Written()
		if got.LayoutBytes != test.want.LayoutBytes || got.MeasuredBytes != test.want.MeasuredBytes || !slices.Equal(got.Unbounded, test.want.Unbounded) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
