package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Facts is the state of the operator that one scrape exports.
type Facts struct {
	// Leading is true if this process is the leader. A process that is not the leader exports only metrics about
	// itself.
	Leading bool
	Version string
	// Interval is the scrape interval of the observations.
	Interval   time.Duration
	Benchmarks []*v1alpha1.StorageBenchmark
	// Runs are the runs of all benchmarks. They may come from the cache, which keeps only some fields of a run that has
	// ended.
	Runs []*v1alpha1.BenchmarkRun
	// Results returns the points of a benchmark's newest evaluated run. known is false if they have not been read yet
	// or the run was deleted.
	Results func(*v1alpha1.StorageBenchmark) (results []Point, known bool)
	Live    []LiveRun
}

// Collector is a prometheus.Collector. At each scrape, it calls source to get the current state, and exports it.
type Collector struct {
	source func() Facts
}

// NewCollector returns a Collector that exports the state that source returns.
func NewCollector(source func() Facts) *Collector { return &Collector{source: source} }

var _ prometheus.Collector = (*Collector)(nil)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, family := range families {
		to <- family.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	facts := c.source()
	seen := map[string]bool{}
	for _, point := range facts.points() {
		// Skip duplicate series, because they would make the whole scrape fail.
		key := point.Family.Name + "\xff" + strings.Join(point.Labels, "\xff")
		if seen[key] {
			continue
		}
		seen[key] = true
		metric, err := prometheus.NewConstMetric(point.Family.desc, point.Family.Kind, point.Value, point.Labels...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(point.Family.desc, err)
		}
		to <- metric
	}
}

func (f *Facts) points() []Point {
	var own points
	own.add(leading, boolValue(f.Leading))
	own.add(buildInfo, 1, f.Version)
	if !f.Leading {
		return own.all
	}
	own.add(agentsConnected, float64(Connected(f.Live)))
	all := own.all
	byName := map[string]*v1alpha1.StorageBenchmark{}
	for _, benchmark := range f.Benchmarks {
		byName[benchmark.Namespace+"/"+benchmark.Name] = benchmark
	}
	runs := map[string][]*v1alpha1.BenchmarkRun{}
	for _, run := range f.Runs {
		key := run.Namespace + "/" + run.Spec.BenchmarkRef.Name
		runs[key] = append(runs[key], run)
		all = append(all, Run(run, f.Interval)...)
	}
	for key, benchmark := range byName {
		all = append(all, Benchmark(benchmark, runs[key])...)
		if results, known := f.Results(benchmark); known {
			all = append(all, results...)
		} else {
			all = append(all, Headlines(benchmark)...)
		}
	}
	all = append(all, Queues(byName, f.Runs)...)
	for i := range f.Live {
		all = append(all, Live(&f.Live[i])...)
	}
	return all
}
