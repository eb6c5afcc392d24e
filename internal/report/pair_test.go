package report_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// pairDocuments returns runs whose targets can be compared, because each target has machines of its own.
func pairDocuments() map[string]paper {
	return map[string]paper{
		"pair-sweep": pairSweep("single", "s2d"), "pair-sweep-wide": pairSweep("a-server-of-a-long-name", "storage-spaces-direct"),
		"pair-sweep-of-one-axis": pairOneAxis(), "pair-ramp": pairRamp(), "pair-drain": pairDrain(), "three-targets": threeTargets(),
	}
}

// noisy returns the report of a client over some seconds. The rates of consecutive seconds are correlated with a
// coefficient of one half.
func noisy(random *rand.Rand, target string, seconds int, operation measure.Operation, rate, size, noise float64, latency time.Duration) *builders.ClientBuilder {
	one := builders.Client(target, 0)
	value := 0.0
	for range seconds {
		value = value/2 + math.Sqrt(0.75)*random.NormFloat64()
		one.Sample(time.Second, operation, builders.Counter(uint64(max(rate*(1+noise*value), 1)), uint64(size)), latency) // #nosec G115 -- positive
	}
	return one
}

// server limits operations and bytes per second. Each operation takes at least latency, in seconds.
type server struct{ latency, iops, bytes float64 }

// of returns the operations per second at a number of outstanding operations, and the latency of each.
func (s server) of(outstanding, size float64) (rate float64, latency time.Duration) {
	rate = min(outstanding/s.latency, s.iops, s.bytes/size)
	return rate, time.Duration(outstanding / rate * 1e9)
}

func servers(names ...string) map[string]server {
	return map[string]server{names[0]: {0.004, 6000, 180e6}, names[1]: {0.0038, 20_000, 768e6}}
}

// cellsOf returns the reports for each cell. In cell 0, the target named invalid reads data that was never written.
func cellsOf(all map[string]server, invalid string) func(plan.Step) []result.Client {
	random := rand.New(rand.NewPCG(7, 8))
	return func(step plan.Step) []result.Client {
		var made []result.Client
		for _, target := range step.Targets {
			jobs, size := max(float64(step.Overrides.Jobs), 1), max(float64(step.Overrides.BlockSizeBytes), 4096)
			operation := measure.Write
			if step.Overrides.ReadPercent != nil && *step.Overrides.ReadPercent == 100 {
				operation = measure.Read
			}
			rate, latency := all[target].of(8*jobs, size)
			one := noisy(random, target, 20, operation, rate, size, 0.03, latency)
			if step.Cell == 0 && target == invalid {
				one.Mutate(func(c *result.Client) { c.UnwrittenBytes = 1 << 20 })
			}
			made = append(made, one.Obj())
		}
		return made
	}
}

func pairSweep(one, other string) paper {
	benchmark := builders.Benchmark("usual").Target(one).Target(other).Clients(1).Prepare("layout").
		Sweep("matrix", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{
			Jobs: []int32{1, 2, 4, 8, 16}, BlockSize: builders.BlockSizes("4Ki", "8Ki", "64Ki", "256Ki"), ReadPercent: []int32{0, 100}})
	return play(benchmark, cellsOf(servers(one, other), one), finished())
}

func pairOneAxis() paper {
	benchmark := builders.Benchmark("usual").Target("single").Target("s2d").Clients(1).Prepare("layout").
		Sweep("threads", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{Jobs: []int32{1, 2, 4, 8, 16}})
	return play(benchmark, cellsOf(servers("single", "s2d"), ""), finished())
}

func pairRamp() paper {
	benchmark := builders.Benchmark("usual").Target("single").Target("s2d").Clients(1).Prepare("layout").
		Ramp("jobs", v1alpha1.RampJobs, "20s", 1, 2, 4, 8, 16, 32)
	all, random := servers("single", "s2d"), rand.New(rand.NewPCG(9, 10))
	return play(benchmark, func(step plan.Step) []result.Client {
		var made []result.Client
		for _, target := range step.Targets {
			rate, latency := all[target].of(max(float64(step.Overrides.Jobs), 1), 65536)
			made = append(made, noisy(random, target, 20, measure.Write, rate, 65536, 0.03, latency).Obj())
		}
		return made
	}, finished())
}

// pairDrain is a small version of the FSx for Lustre experiment: a store with compression and a bucket, beside one
// without either.
func pairDrain() paper {
	benchmark := builders.Benchmark("usual").Target("none").Target("lz4").Clients(1).Workload(builders.Fio().Compressible(73)).Prepare("layout").
		BurstDrain("burst", "2m", "10m").Steady("after", "6m")
	random := rand.New(rand.NewPCG(11, 12))
	return play(benchmark, func(step plan.Step) []result.Client {
		var made []result.Client
		for _, target := range step.Targets {
			length, rate, drop := 240, 3560e6/1048576, 1000
			if target == "lz4" {
				rate, drop = 12460e6/1048576, 120
			}
			usage := holding("lustre", "Shown", 1<<30)
			if target == "lz4" {
				usage = holding("lustre", "Shown", 1<<30*100/375)
			}
			one := builders.Client(target, 0)
			value := 0.0
			if step.Phase == "layout" {
				length = 20
			}
			if step.Phase == "after" {
				length, drop = 360, 0
			}
			for second := range length {
				level := rate
				if target == "lz4" && second >= drop {
					level = 11428e6 / 1048576
				}
				value = value/2 + math.Sqrt(0.75)*random.NormFloat64()
				one.Sample(time.Second, measure.Write, builders.Counter(uint64(level*(1+0.004*value)), 1<<20), time.Duration(32/level*1e9)) // #nosec G115 -- positive
			}
			client := one.Obj()
			client.Usage = usage
			made = append(made, client)
		}
		if step.Phase == "burst" {
			return concluded(made)
		}
		return made
	}, finished())
}

// threeTargets returns a run of three targets without common machines. The third one has another load.
func threeTargets() paper {
	benchmark := builders.Benchmark("usual").Target("one").Target("two").Target("three").Clients(1).Prepare("layout").
		Steady("write", "1m").For("three", builders.Fio().BlockSize("64Ki")).Sequential()
	random := rand.New(rand.NewPCG(13, 14))
	rates := map[string]float64{"one": 1000, "two": 1001, "three": 150}
	return play(benchmark, func(step plan.Step) []result.Client {
		var made []result.Client
		for _, target := range step.Targets {
			made = append(made, noisy(random, target, 60, measure.Write, rates[target], 65536, 0.05, time.Duration(16/rates[target]*1e9)).Obj())
		}
		return made
	}, finished())
}

// TestComparisonNamesItsBaseline checks that the title names the target that the others are compared with. That is the
// first target of the phase, which may not be the first in the results of the run.
func TestComparisonNamesItsBaseline(t *testing.T) {
	benchmark := builders.Benchmark("usual").Target("loud").Target("app").Clients(1).
		Interference("cost", []string{"app"}, []string{"loud"}, "1m").Steady("write", "1m")
	random := rand.New(rand.NewPCG(15, 16))
	document := play(benchmark, func(step plan.Step) []result.Client {
		var made []result.Client
		for _, target := range step.Targets {
			made = append(made, noisy(random, target, 60, measure.Write, 1000, 65536, 0.05, 16*time.Millisecond).Obj())
		}
		return made
	}, finished()).document(t)
	const want = "How app compares with loud"
	if got := text(t, document, report.TextOptions{}); !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// twoSmallFiles returns a document of small files with a second target that has the results of the first.
func twoSmallFiles(t *testing.T, name string) report.Document {
	t.Helper()
	d := smallFilesPaper().document(t)
	other := d.Spec.Run.Targets[0]
	other.Name = name
	d.Spec.Run.Targets = append(d.Spec.Run.Targets, other)
	files := &d.Phases[len(d.Phases)-1]
	second := files.Targets[0]
	second.Target = name
	files.Targets = append(files.Targets, second)
	return d
}

// TestComparesAllFigures checks that the comparison of two targets has the figures of all operations, even those that
// the status omits.
func TestComparesAllFigures(t *testing.T) {
	full := text(t, twoSmallFiles(t, "other"), verbose)
	for _, figure := range []string{"Create IOPS", "Write mean latency", "Delete IOPS", "Delete p99 latency"} {
		if !strings.Contains(full, "  files  "+figure+" ") {
			t.Errorf("%s is not compared in\n%s", figure, full)
		}
	}
}
