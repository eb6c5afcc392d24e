package metrics_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/metrics"
)

// BenchmarkScrape scrapes a large cluster: 200 benchmarks with 20 runs each, and ten live runs.
func BenchmarkScrape(b *testing.B) {
	facts := world()
	model, ended, live := facts.Benchmarks[0], facts.Runs[0], facts.Live[0]
	facts.Benchmarks, facts.Runs, facts.Live = nil, nil, nil
	results := map[string][]metrics.Point{}
	for i := range 200 {
		benchmark := model.DeepCopy()
		benchmark.Name = fmt.Sprintf("nightly-%d", i)
		facts.Benchmarks = append(facts.Benchmarks, benchmark)
		for j := range 20 {
			run := ended.DeepCopy()
			run.Name, run.Spec.BenchmarkRef.Name = fmt.Sprintf("%s-%d", benchmark.Name, j), benchmark.Name
			facts.Runs = append(facts.Runs, run)
		}
		results[benchmark.Name] = metrics.Results(facts.Runs[len(facts.Runs)-1])
		if i < 10 {
			one := live
			one.Benchmark, one.Name = benchmark.Name, benchmark.Name+"-live"
			facts.Live = append(facts.Live, one)
		}
	}
	facts.Results = func(benchmark *v1alpha1.StorageBenchmark) ([]metrics.Point, bool) {
		return results[benchmark.Name], true
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(func() metrics.Facts { return facts }))
	for b.Loop() {
		families, err := registry.Gather()
		if err != nil {
			b.Fatal(err)
		}
		series := 0
		for _, family := range families {
			series += len(family.GetMetric())
		}
		b.ReportMetric(float64(series), "series")
	}
}
