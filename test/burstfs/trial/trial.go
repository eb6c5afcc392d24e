// Package trial defines benchmarks for the scenarios of test/burstfs, with loads and durations that reveal the limits
// of the store. Local runs and runs in pods share them, so that their results can be compared.
package trial

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// Trial is a load on a store.
type Trial struct {
	// Name is the name of the trial. If Config is nil, the store is the scenario Scenario or, if that is empty, Name.
	Name, Scenario string
	Config         *model.Config
	// Drains is the bucket whose credits run out, or "" if none does.
	Drains  string
	Pattern v1alpha1.FioPattern
	Reads   bool
	Block   string
	Depth   int32
	// MinDuration and MaxDuration are the limits of the drain's duration. Idle is the idle time before the second drain.
	MinDuration, MaxDuration, Idle v1alpha1.Duration
}

// small simulates no real system. It can be drained twice within a minute, and its refill rate differs from its
// baseline.
var small = model.Config{
	Scenario: "a bucket of 600 MB, 60 and 10 MB/s, that lasts 11 s and refills at 5 MB/s",
	Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 10e6, BurstPerSecond: 60e6,
		RefillPerSecond: model.Pointer(5e6), Size: 600e6}},
	Latency: model.Latency{Fixed: 1e6, Jitter: 500e3},
}

// Quick is the trial for every test run.
var Quick = Trial{Name: "small", Config: &small, Drains: "volume", Pattern: v1alpha1.FioSequential, Block: "256Ki", Depth: 32,
	MinDuration: "25s", MaxDuration: "60s", Idle: "30s"}

// All lists the trials of stores that simulate real systems.
var All = []Trial{
	{Name: "fsx-windows-32-hdd", Drains: "disk", Pattern: v1alpha1.FioSequential, Block: "1Mi", Depth: 32,
		MinDuration: "25s", MaxDuration: "90s", Idle: "60s"},
	{Name: "fsx-windows-32-hdd-dips", Drains: "disk", Pattern: v1alpha1.FioSequential, Block: "1Mi", Depth: 32,
		MinDuration: "40s", MaxDuration: "2m30s", Idle: "80s"},
	{Name: "fsx-lustre-none", Pattern: v1alpha1.FioSequential, Block: "1Mi", Depth: 32, MinDuration: "20s", MaxDuration: "40s"},
	{Name: "fsx-lustre-lz4", Drains: "network", Pattern: v1alpha1.FioSequential, Block: "1Mi", Depth: 64,
		MinDuration: "60s", MaxDuration: "4m", Idle: "3s"},
	{Name: "azure-p20", Drains: "throughput", Pattern: v1alpha1.FioSequential, Block: "1Mi", Depth: 32,
		MinDuration: "40s", MaxDuration: "3m", Idle: "3s"},
	{Name: "azure-p20-operations", Scenario: "azure-p20", Drains: "operations", Pattern: v1alpha1.FioRandom, Reads: true, Block: "4Ki", Depth: 256,
		MinDuration: "40s", MaxDuration: "3m", Idle: "10s"},
	{Name: "azure-p30", Pattern: v1alpha1.FioSequential, Reads: true, Block: "256Ki", Depth: 32, MinDuration: "20s", MaxDuration: "40s"},
	{Name: "azure-p30-operations", Scenario: "azure-p30", Pattern: v1alpha1.FioRandom, Block: "4Ki", Depth: 128, MinDuration: "20s", MaxDuration: "40s"},
	{Name: "azure-vm-cap", Pattern: v1alpha1.FioSequential, Reads: true, Block: "256Ki", Depth: 32, MinDuration: "20s", MaxDuration: "40s"},
	{Name: "azure-vm-cap-operations", Scenario: "azure-vm-cap", Pattern: v1alpha1.FioRandom, Reads: true, Block: "4Ki", Depth: 128, MinDuration: "20s", MaxDuration: "40s"},
	{Name: "ebs-gp2", Drains: "operations", Pattern: v1alpha1.FioRandom, Block: "4Ki", Depth: 128,
		MinDuration: "30s", MaxDuration: "2m", Idle: "60s"},
	{Name: "azure-files", Drains: "operations", Pattern: v1alpha1.FioRandom, Block: "4Ki", Depth: 256,
		MinDuration: "30s", MaxDuration: "2m", Idle: "20s"},
}

// Store returns the configuration of the trial's store.
func (t Trial) Store() (model.Config, error) {
	if t.Config != nil {
		return *t.Config, nil
	}
	if t.Scenario == "" {
		return burstfs.Scenario(t.Name)
	}
	return burstfs.Scenario(t.Scenario)
}

// Benchmark returns a benchmark that lays out data, drains the store, measures the baseline, and drains the store again
// after a pause.
func (t Trial) Benchmark(target string) (*builders.BenchmarkBuilder, error) {
	config, err := t.Store()
	if err != nil {
		return nil, err
	}
	load := builders.Fio().Dataset("64Mi").BlockSize(t.Block).Mutate(func(fio *v1alpha1.FioProfile) {
		fio.Pattern, fio.QueueDepth = t.Pattern, &t.Depth
	})
	if t.Reads {
		load.Reads()
	}
	benchmark := builders.Benchmark(t.Name).Target(target).Workload(load).Mutate(func(run *v1alpha1.RunSpec) {
		run.Targets[0].Documented = limits(config, t.Drains)
	})
	benchmark.Prepare("layout").Phase(v1alpha1.Phase{Name: "burst", BurstDrain: &v1alpha1.BurstDrainPhase{
		MinDuration: t.MinDuration, MaxDuration: t.MaxDuration}})
	if t.Drains == "" {
		return benchmark, nil
	}
	return benchmark.Steady("baseline", "10s").Phase(v1alpha1.Phase{Name: "refill", Cooldown: &v1alpha1.CooldownPhase{
		Redrain: &v1alpha1.Redrain{Idle: t.Idle}, MaxDuration: &t.MaxDuration}}), nil
}

// limits returns the documented limits of the drained bucket, or nil if no bucket drains.
func limits(config model.Config, drains string) *v1alpha1.Limits {
	for _, bucket := range config.Buckets {
		if bucket.Name != drains {
			continue
		}
		rates := &v1alpha1.RateLimits{Baseline: whole(bucket.BaselinePerSecond), Burst: whole(bucket.BurstPerSecond),
			Bucket: whole(bucket.Size), Refill: whole(bucket.Refill())}
		if bucket.Counts == model.CountsOperations {
			return &v1alpha1.Limits{IOPS: rates}
		}
		return &v1alpha1.Limits{Throughput: rates}
	}
	return nil
}

func whole(value float64) *resource.Quantity {
	quantity := resource.MustParse(fmt.Sprintf("%.0f", value))
	return &quantity
}
