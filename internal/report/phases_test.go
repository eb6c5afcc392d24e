package report_test

import (
	"maps"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// all returns documents of runs with every kind of phase, and of runs that failed.
func all() map[string]paper {
	both := maps.Clone(documents)
	maps.Copy(both, spaceDocuments)
	maps.Copy(both, pairDocuments())
	maps.Copy(both, map[string]paper{
		"burst": burstPaper(true), "burst-undocumented": burstPaper(false), "no-drop": noDropPaper(),
		"observed": observedPaper(),
		"layout-reused": play(usual(), func(step plan.Step) []result.Client {
			clients := four(step)
			if step.Phase == "layout" {
				for i := range clients {
					clients[i] = builders.Client("data", i).Notice("LayoutReused", "1073741824 bytes in 1 files were there already, whole and of this content, and were not written again").Obj()
				}
			}
			return clients
		}, finished()),
		"ramp": rampPaper(), "small-files": smallFilesPaper(), "sweep": sweepPaper(), "sweep-of-one-axis": sweepOfOneAxis(),
	})
	return both
}

// share is the store of the FSx for Windows experiment: 260 MB/s with credits, 32 MB/s without.
type share struct{ credits float64 }

const (
	megabyte        = 1e6
	burstRate       = 260 * megabyte
	baselineRate    = 32 * megabyte
	bucketOfShare   = 22_800 * megabyte
	blocksPerSecond = 65536.0
)

// load returns the reports of four clients after the given number of seconds.
func (s *share) load(seconds int, operation measure.Operation) []result.Client {
	clients := make([]*builders.ClientBuilder, 4)
	for i := range clients {
		clients[i] = builders.Client("share", i).Later(time.Duration(i) * 2 * time.Millisecond)
	}
	for second := range seconds {
		rate := baselineRate
		if s.credits > 0 {
			part := min(1, s.credits/(burstRate-baselineRate))
			rate = baselineRate*(1-part) + burstRate*part
			s.credits -= (burstRate - baselineRate) * part
		}
		rate *= 1 + 0.012*math.Sin(float64(second)*2.3)
		for _, client := range clients {
			operations := uint64(rate / 4 / blocksPerSecond)
			client.Sample(time.Second, operation, builders.Counter(operations, 65536), time.Duration(128/rate*blocksPerSecond*1e9))
		}
	}
	var all []result.Client
	for _, client := range clients {
		all = append(all, client.Obj())
	}
	return all
}

func quantity(value float64) *resource.Quantity {
	return resource.NewQuantity(int64(value), resource.DecimalSI)
}

func duration(text v1alpha1.Duration) *v1alpha1.Duration { return &text }

// burstPaper is a run with a layout, a recovery, a burst, a baseline and a redrain.
func burstPaper(documented bool) paper {
	benchmark := builders.Benchmark("usual").Target("share").Clients(4).Mutate(func(run *v1alpha1.RunSpec) {
		if documented {
			run.Targets[0].Documented = &v1alpha1.Limits{Throughput: &v1alpha1.RateLimits{
				Baseline: quantity(baselineRate), Burst: quantity(burstRate), Bucket: quantity(bucketOfShare)}}
		}
	}).Prepare("layout").
		Phase(v1alpha1.Phase{Name: "recover", Cooldown: &v1alpha1.CooldownPhase{UntilCredits: &v1alpha1.UntilCredits{Percent: 95}, MaxDuration: duration("20m")}}).
		Phase(v1alpha1.Phase{Name: "burst", BurstDrain: &v1alpha1.BurstDrainPhase{MinDuration: "2m", MaxDuration: "1h"}}).
		Steady("baseline", "6m").
		Phase(v1alpha1.Phase{Name: "refill", Cooldown: &v1alpha1.CooldownPhase{Redrain: &v1alpha1.Redrain{Idle: "5m"}, MaxDuration: duration("30m")}})
	store := &share{credits: bucketOfShare}
	return play(benchmark, func(step plan.Step) []result.Client {
		switch step.Phase {
		case "layout":
			clients := store.load(4, measure.Write)
			store.credits = bucketOfShare
			return clients
		case "burst":
			return concluded(store.load(250, measure.Write))
		case "baseline":
			return store.load(360, measure.Write)
		case "refill":
			store.credits += 300 * baselineRate
			return concluded(store.load(180, measure.Write))
		}
		return []result.Client{}
	}, finished())
}

// concluded marks the clients of a drain as stopped because it had measured enough.
func concluded(clients []result.Client) []result.Client {
	for i := range clients {
		clients[i].Stopped, clients[i].StopMessage = true, enough
	}
	return clients
}

func noDropPaper() paper {
	benchmark := builders.Benchmark("usual").Target("share").Clients(4).
		Phase(v1alpha1.Phase{Name: "burst", BurstDrain: &v1alpha1.BurstDrainPhase{MinDuration: "1m", MaxDuration: "80s"}})
	store := &share{credits: 10 * bucketOfShare}
	return play(benchmark, func(plan.Step) []result.Client { return store.load(80, measure.Write) }, finished())
}

func rampPaper() paper {
	benchmark := builders.Benchmark("usual").Target("share").Clients(4).Prepare("layout").
		Phase(v1alpha1.Phase{Name: "depth", Ramp: &v1alpha1.RampPhase{Dimension: v1alpha1.RampQueueDepth, Steps: []int64{1, 2, 4, 8, 16, 32, 64}, StepDuration: "20s"}})
	return play(benchmark, func(step plan.Step) []result.Client {
		depth := max(float64(step.Overrides.QueueDepth), 1)
		rate := 250 * depth / (1 + 0.9*depth/8 + depth*depth/9000)
		var all []result.Client
		for i := range 4 {
			one := builders.Client("share", i).Does(20, measure.Write, builders.Counter(uint64(rate), 65536), time.Duration(depth/rate*1e9))
			if step.Overrides.QueueDepth == 64 && i == 3 {
				one.Lost("its process exited: signal: killed")
			}
			all = append(all, one.Obj())
		}
		return all
	}, finished())
}

func sweepPaper() paper {
	benchmark := builders.Benchmark("usual").Target("share").Clients(4).Prepare("layout").
		Phase(v1alpha1.Phase{Name: "matrix", Sweep: &v1alpha1.SweepPhase{Regime: v1alpha1.RegimeAny, StepDuration: "20s", Axes: v1alpha1.SweepAxes{
			Jobs:        []int32{1, 2, 4, 8},
			BlockSize:   []resource.Quantity{resource.MustParse("4Ki"), resource.MustParse("64Ki"), resource.MustParse("1Mi")},
			ReadPercent: []int32{0, 50},
		}}})
	count := 0
	return play(benchmark, func(step plan.Step) []result.Client {
		count++
		jobs := max(float64(step.Overrides.Jobs), 1)
		size := float64(max(step.Overrides.BlockSizeBytes, 4096))
		operations := min(900*jobs, 200e6/size) * (1 - 0.005*float64(count))
		reads := 0.0
		if step.Overrides.ReadPercent != nil {
			reads = float64(*step.Overrides.ReadPercent) / 100
		}
		var all []result.Client
		for i := range 4 {
			one := builders.Client("share", i).Does(20, measure.Write, builders.Counter(uint64(operations*(1-reads)), uint64(size)), time.Duration(jobs/operations*1e9))
			if reads > 0 {
				one.Also(measure.Read, builders.Counter(uint64(operations*reads), uint64(size)), time.Duration(jobs/operations*0.8e9))
			}
			all = append(all, one.Obj())
		}
		return all
	}, finished())
}

func sweepOfOneAxis() paper {
	benchmark := builders.Benchmark("usual").Target("share").Clients(2).Prepare("layout").
		Phase(v1alpha1.Phase{Name: "sizes", Sweep: &v1alpha1.SweepPhase{Regime: v1alpha1.RegimeAny, StepDuration: "20s", Axes: v1alpha1.SweepAxes{
			Jobs:      []int32{4},
			BlockSize: []resource.Quantity{resource.MustParse("4Ki"), resource.MustParse("64Ki"), resource.MustParse("1Mi")},
		}}})
	return play(benchmark, func(step plan.Step) []result.Client {
		size := float64(max(step.Overrides.BlockSizeBytes, 4096))
		var all []result.Client
		for i := range 2 {
			all = append(all, builders.Client("share", i).Does(20, measure.Write, builders.Counter(uint64(200e6/size/2), uint64(size)), time.Duration(4*size/100)).Obj())
		}
		return all
	}, finished())
}

// smallFilesPaper is a run of two clients with 1,000 files of 4 KiB each.
func smallFilesPaper() paper {
	load := builders.Fio().BlockSize("4Ki").Jobs(4).Dataset("4000Ki").Mutate(func(p *v1alpha1.FioProfile) {
		p.Pattern, p.QueueDepth, p.FilesPerJob = v1alpha1.FioSequential, nil, new(int32(250))
	})
	benchmark := builders.Benchmark("usual").Target("share").Clients(2).Workload(load).Phase(v1alpha1.Phase{Name: "files", SmallFiles: &v1alpha1.SmallFilesPhase{}})
	paces := map[v1alpha1.Operation]struct {
		operation    measure.Operation
		seconds      int
		bytes        uint64
		milliseconds time.Duration
	}{
		v1alpha1.OperationCreate: {measure.Create, 10, 0, 38}, v1alpha1.OperationStat: {measure.Stat, 2, 0, 7}, v1alpha1.OperationWrite: {measure.Write, 20, 4096, 3},
		v1alpha1.OperationRead: {measure.Read, 4, 4096, 2}, v1alpha1.OperationDelete: {measure.Delete, 8, 0, 31},
	}
	return play(benchmark, func(step plan.Step) []result.Client {
		pace := paces[step.Overrides.Operation]
		var all []result.Client
		for i := range 2 {
			each := builders.Counter(1000/uint64(pace.seconds), pace.bytes)
			all = append(all, builders.Client("share", i).Does(pace.seconds, pace.operation, each, pace.milliseconds*time.Millisecond).Obj())
		}
		return all
	}, finished())
}
