package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

const jobFile = "[global]\nioengine=libaio\ndirect=1\n[reader]\nrw=randread\nbs=4k\nsize=16m\n[writer]\nrw=write\nbs=64k\nsize=16m\n"

var plans = map[string]*builders.BenchmarkBuilder{
	"quickstart": builders.Benchmark("b").Target("data").Clients(4).
		Prepare("layout").
		Steady("write", "10s").WarmUp("2s").
		Steady("read", "10s").WarmUp("2s").With(builders.Fio().Reads()),
	"two-targets-parallel": builders.Benchmark("b").Target("a").Target("b").Clients(2).
		Prepare("layout").Steady("write", "1m"),
	"two-targets-sequential": builders.Benchmark("b").Target("b").Target("a").
		Prepare("layout").Steady("write", "1m").Sequential().Steady("again", "1m"),
	"target-workloads": builders.Benchmark("b").Target("a").Target("b").
		Prepare("layout").For("b", builders.Fio().Dataset("128Mi")).
		Steady("mix", "1m").With(builders.Fio().ReadPercent(50)).For("b", builders.Fio().Dataset("128Mi").Reads()),
	"write-without-layout": builders.Benchmark("b").Target("a").Steady("write", "1m").Steady("again", "1m").
		Steady("more", "1m").With(builders.Fio().Dataset("128Mi")),
	"job-file": builders.Benchmark("b").Target("a").Workload(builders.JobFile(jobFile, "32Mi")).
		Prepare("layout").Steady("mix", "1m"),
	"nothing-on-disk": builders.Benchmark("b").Target("a").Workload(builders.Fio().Null()).Steady("overhead", "5s"),
	"cautions": builders.Benchmark("b").Target("a").Workload(builders.Fio().Mutate(func(p *v1alpha1.FioProfile) {
		buffered := false
		p.Direct = &buffered
	})).Prepare("layout").Steady("write", "1m").Steady("again", "1m"),
	"bounded-layout": builders.Benchmark("b").Target("a").ActiveDeadline("2h").
		Phase(v1alpha1.Phase{Name: "layout", Prepare: &v1alpha1.PreparePhase{MaxDuration: duration("30m")}}).
		Phase(v1alpha1.Phase{Name: "more", Prepare: &v1alpha1.PreparePhase{MaxDuration: duration("3h")}}),
	"precondition": builders.Benchmark("b").Target("a").Target("b").Clients(2).
		Prepare("layout").Precondition(2).Prepare("turns").Precondition(1).Sequential().Steady("read", "1m").With(builders.Fio().Reads()),
	"steady-ends-early": builders.Benchmark("b").Target("a").Steady("long", "1h").WarmUp("30s").EndWhenSteady().
		Steady("short", "3m").EndWhenSteady(),
	"burst-unknown": builders.Benchmark("b").Target("share").Clients(4).
		Prepare("layout").BurstDrain("burst", "2m", "6h").Steady("baseline", "15m").WarmUp("30s").Redrain("refill", "1h").
		UntilCredits("again", 50).Cooldown("pause", "10m").BurstDrain("second", "1m", "1h"),
	"burst-known": fsx().Prepare("layout").BurstDrain("burst", "2m", "6h").Steady("baseline", "15m").WarmUp("30s").
		Redrain("refill", "1h").UntilCredits("again", 10).Cooldown("pause", "10m").BurstDrain("second", "1m", "1h"),
	"burst-in-turns": fsx().Target("other").Prepare("layout").BurstDrain("burst", "2m", "6h").Sequential().
		Redrain("refill", "30m").Sequential().AtMost("2h").Cooldown("pause", "10m").Sequential().UntilCredits("wait", 100).AtMost("3h"),
	"credits-unknown": builders.Benchmark("b").Target("a").UntilCredits("wait", 90).AtMost("30m").UntilCredits("no-wait", 50).
		Redrain("refill", "10m").AtMost("40m").UntilCredits("measured", 90),
	"ramp-clients": builders.Benchmark("b").Target("a").Clients(4).Prepare("layout").
		Ramp("ramp", v1alpha1.RampClients, "30s", 1, 2, 4),
	"ramp-jobs": builders.Benchmark("b").Target("a").Workload(builders.Fio().Reads()).Prepare("layout").Steady("one", "1m").
		Ramp("ramp", v1alpha1.RampJobs, "30s", 1, 2, 4, 8).Steady("other-data", "1m").With(builders.Fio().Dataset("32Mi")),
	"ramp-depth-in-turns": builders.Benchmark("b").Target("a").Target("b").
		Ramp("ramp", v1alpha1.RampQueueDepth, "30s", 1, 16).Sequential(),
	"sweep-any": builders.Benchmark("b").Target("a").Clients(4).Prepare("layout").Sweep("matrix", v1alpha1.RegimeAny, "20s",
		v1alpha1.SweepAxes{Clients: []int32{1, 4}, Jobs: []int32{1, 4}, BlockSize: builders.BlockSizes("4Ki", "64Ki"), ReadPercent: []int32{0, 100}}),
	"sweep-baseline": fsx().Target("other").Prepare("layout").
		Sweep("unknown", v1alpha1.RegimeBaseline, "20s", v1alpha1.SweepAxes{QueueDepth: []int32{1, 8}}).
		Sweep("in-turns", v1alpha1.RegimeBaseline, "20s", v1alpha1.SweepAxes{ReadPercent: []int32{0, 100}}).Sequential().
		BurstDrain("burst", "2m", "6h").Sweep("drained", v1alpha1.RegimeBaseline, "20s", v1alpha1.SweepAxes{QueueDepth: []int32{8, 1}}),
	"search": builders.Benchmark("b").Target("a").Target("b").Clients(4).Workload(sharedReads()).Prepare("layout").
		Search("rate", "99", "5ms", 4000, "1m").Sequential(),
	"interference": builders.Benchmark("b").Target("victim").Target("x").Target("y").Target("idle").Prepare("layout").
		Interference("cost", []string{"victim"}, []string{"x", "y"}, "1m", 1, 2).For("x", builders.Fio().Mutate(func(p *v1alpha1.FioProfile) { p.QueueDepth = new(int32(32)) })).Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[1].Interference.Repetitions = new(int32(4))
	}),
	"interference-of-equals": fsx().Target("b").Interference("cost", []string{"b", "share"}, nil, "2m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[0].Interference.Regime = v1alpha1.RegimeBaseline
	}),
	"search-baseline": fsx().Workload(sharedReads().Dataset("8Gi")).Prepare("layout").Search("rate", "99.9", "20ms", 4000, "2m").
		Mutate(func(r *v1alpha1.RunSpec) { r.Phases[1].Search.Regime = v1alpha1.RegimeBaseline }),
	"sweep-burst": fsx().Prepare("layout").
		Sweep("matrix", v1alpha1.RegimeBurst, "10m", v1alpha1.SweepAxes{QueueDepth: []int32{1, 2, 4, 8, 16, 32, 64, 128, 256}}),
}

// sharedReads returns small random reads of files that all jobs share.
func sharedReads() *builders.FioBuilder {
	return builders.Fio().BlockSize("4Ki").Reads().Mutate(func(p *v1alpha1.FioProfile) { p.FileSharing = v1alpha1.FilesShared })
}

// fsx returns a benchmark of a share that bursts for half an hour.
func fsx() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("share").Throughput("32M", "260M", "468G", "16M").Clients(4).
		Workload(builders.Fio().Dataset("8Gi"))
}

func duration(text v1alpha1.Duration) *v1alpha1.Duration { return &text }

// TestPlans checks whole plans against golden files, which omit the workloads of the specification.
func TestPlans(t *testing.T) {
	for name, benchmark := range plans {
		t.Run(name, func(t *testing.T) {
			made, problems := plan.Make(benchmark.Run(), 1)
			if len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			for i := range made.Steps {
				step := &made.Steps[i]
				if len(step.ID) > 63 {
					t.Errorf("ID %s is too long for the API", step.ID)
				}
				for _, target := range step.Targets {
					if loads := step.Workloads[target] != nil && step.Workloads[target].Fio != nil; loads == (step.Purpose == plan.Idle) {
						t.Errorf("step %s has a workload for target %s: %v", step.ID, target, loads)
					}
				}
			}
			golden.Check(t, name, text(made))
		})
	}
}

func TestTargetWorkloads(t *testing.T) {
	made, problems := plan.Make(plans["target-workloads"].Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	mix := made.Steps[1].Workloads
	if *mix["a"].Fio.ReadPercent != 50 || *mix["b"].Fio.ReadPercent != 100 {
		t.Errorf("a reads %d %%, b %d %%", *mix["a"].Fio.ReadPercent, *mix["b"].Fio.ReadPercent)
	}
}

// TestLongNames checks that long names are truncated in IDs, which remain distinct.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", 40)
	made, problems := plan.Make(builders.Benchmark("b").Target(long).Target(long[:39]+"y").Steady(long, "1m").Sequential().Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	if first, second := made.Steps[0].ID, made.Steps[1].ID; len(first) > 63 || len(second) > 63 || first >= second {
		t.Errorf("IDs %s and %s", first, second)
	}
}

// TestDefaults checks that the API's defaults apply even if the API server has not set them.
func TestDefaults(t *testing.T) {
	run := builders.Benchmark("b").Target("a").Prepare("layout").ActiveDeadline("").Clients(0).Run()
	made, problems := plan.Make(run, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	if made.ClientsPerTarget != 1 || made.Steps[0].Limit != 48*time.Hour {
		t.Errorf("%d clients, limit %s", made.ClientsPerTarget, made.Steps[0].Limit)
	}
}

func TestDatasetHash(t *testing.T) {
	hash := func(benchmark *builders.BenchmarkBuilder) string {
		t.Helper()
		made, problems := plan.Make(benchmark.Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		return made.DatasetHash
	}
	one := func() *builders.BenchmarkBuilder { return builders.Benchmark("b").Target("a").Prepare("layout") }
	base := hash(one())
	// A change of this hash makes all retained layouts useless, so the test pins it.
	if want := "b4aa2f070096"; base != want {
		t.Errorf("the hash of a layout is %s, it was %s", base, want)
	}
	for name, same := range map[string]*builders.BenchmarkBuilder{
		"another name":             builders.Benchmark("other").Target("a").Prepare("first"),
		"phases after it":          one().Steady("write", "1m").Steady("read", "1m").With(builders.Fio().Reads()),
		"clients":                  one().Clients(7),
		"reads of it":              one().Workload(builders.Fio().Reads()),
		"another way to write 64M": one().Workload(builders.Fio().Dataset("67108864")),
	} {
		if got := hash(same); got != base {
			t.Errorf("%s: the hash changed to %s", name, got)
		}
	}
	seen := map[string]string{base: "the layout itself"}
	for name, other := range map[string]*builders.BenchmarkBuilder{
		"no layout":       builders.Benchmark("b").Target("a").Steady("write", "1m"),
		"target":          builders.Benchmark("b").Target("b").Prepare("layout"),
		"more targets":    builders.Benchmark("b").Target("a").Target("b").Prepare("layout"),
		"size":            one().Workload(builders.Fio().Dataset("128Mi")),
		"files":           one().Workload(builders.Fio().Jobs(2)),
		"compressibility": one().Workload(builders.Fio().Compressible(50)),
		"refilled": one().Workload(builders.Fio().Mutate(func(p *v1alpha1.FioProfile) {
			yes := true
			p.RefillBuffers = &yes
		})),
		"content by option": one().Workload(builders.Fio().Mutate(func(p *v1alpha1.FioProfile) {
			p.Options = map[string]v1alpha1.FioOptionValue{"dedupe_percentage": "50"}
		})),
		"job file": one().Workload(builders.JobFile(jobFile, "32Mi")),
	} {
		got := hash(other)
		if with, twice := seen[got]; twice {
			t.Errorf("%s and %s share the hash %s", name, with, got)
		}
		seen[got] = name
	}
	chunk := func(size string) string {
		return hash(one().Workload(builders.Fio().Compressible(50).Mutate(func(p *v1alpha1.FioProfile) {
			quantity := builders.Fio().BlockSize(size).Obj().BlockSize
			p.Compressibility.ChunkSize = quantity
		})))
	}
	if chunk("4Ki") != chunk("4096") {
		t.Error("4Ki and 4096 are two layouts")
	}
}
