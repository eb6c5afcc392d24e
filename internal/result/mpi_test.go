package result_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// ranks returns a benchmark with an MPI job of two clients with two ranks each.
func ranks(phase func(*builders.BenchmarkBuilder) *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
	return phase(builders.Benchmark("b").Target("data").Clients(2).Processes(2).Load(builders.IOR().Direct().Engine()))
}

func ranksWrite(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
	return b.Steady("write", "10s")
}
func ranksLayOut(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
	return b.Prepare("layout")
}
func metadata(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
	return b.Load(builders.Mdtest()).Steady("metadata", "10m")
}

func emptyFiles(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
	return b.Load(v1alpha1.Engine{Mdtest: &v1alpha1.MdtestProfile{FilesPerProcess: 100}}).Steady("metadata", "10m")
}

func writesAndReads() v1alpha1.Engine {
	return builders.IOR().Direct().Mutate(func(p *v1alpha1.IORProfile) {
		p.Operations = []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
	}).Engine()
}

// rank returns a client that writes 100 MiB/s for ten seconds, without latencies.
func rank(index int) *builders.ClientBuilder {
	return builders.Client("data", index).Rank(10, measure.Write, hundred)
}

func init() {
	maps.Copy(targetCases, map[string]func() targetCase{
		"ior": func() targetCase {
			return targetCase{benchmark: ranks(ranksWrite), clients: objects(
				rank(0).IORJob(4, 2, measure.Write, 5, 2*time.Second, 400*mebibyte), rank(1)),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningNotAssessed}}
		},
		// The samples cover 8 s, but IOR's repetition takes 10 s: IOR includes the time to close the files in its rate.
		"ior-prepare": func() targetCase {
			return targetCase{benchmark: ranks(ranksLayOut), clients: objects(
				builders.Client("data", 0).Rank(8, measure.Write, hundred).IORJob(4, 2, measure.Write, 1, 10*time.Second, 1600*mebibyte),
				builders.Client("data", 1).Rank(8, measure.Write, hundred))}
		},
		"ior-bytes-uncertain": func() targetCase {
			return targetCase{benchmark: ranks(ranksWrite), clients: objects(
				rank(0).IORJob(4, 2, measure.Write, 5, 2*time.Second, 300*mebibyte), rank(1)),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningNotAssessed, v1alpha1.WarningBytesUncertain}}
		},
		// In a local run, all ranks are on one machine, and client 0 starts them.
		"ior-one-machine": func() targetCase {
			return targetCase{benchmark: ranks(ranksWrite), clients: objects(
				rank(0).On("here").IORJob(4, 1, measure.Write, 5, 2*time.Second, 200*mebibyte), builders.Client("data", 1).On("here")),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningClientsShareNode, v1alpha1.WarningNotAssessed}}
		},
		"ior-client-idle": func() targetCase {
			return targetCase{benchmark: ranks(ranksWrite), clients: objects(
				rank(0).IORJob(4, 2, measure.Write, 5, 2*time.Second, 200*mebibyte), builders.Client("data", 1)),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningNoOperations, v1alpha1.WarningNotAssessed}}
		},
		"ior-too-soon-done": func() targetCase {
			return targetCase{benchmark: ranks(ranksWrite), clients: objects(
				builders.Client("data", 0).Rank(3, measure.Write, hundred).IORJob(4, 2, measure.Write, 1, 3*time.Second, 600*mebibyte),
				builders.Client("data", 1).Rank(3, measure.Write, hundred)),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningCommonWindowTooShort, v1alpha1.WarningNotAssessed}}
		},
		"ior-cut-short": func() targetCase {
			return targetCase{benchmark: ranks(ranksWrite), clients: objects(
				rank(0).IORJob(4, 2, measure.Write, 2, 2*time.Second, 400*mebibyte).Failed("NoSpace", "IOR: the volume is full"), rank(1)),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningToolError, v1alpha1.WarningNotAssessed}}
		},
		"ior-member-lost": func() targetCase {
			return targetCase{benchmark: ranks(ranksWrite), clients: objects(
				rank(0).IORJob(4, 2, measure.Write, 2, 2*time.Second, 400*mebibyte).Failed(v1alpha1.ReasonClientLost, "client 1 was lost"),
				rank(1).Lost("its pod was deleted")),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningClientLost}}
		},
		"ior-without-figures": func() targetCase {
			return targetCase{benchmark: ranks(ranksWrite), clients: objects(rank(0), rank(1)),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningResultIncomplete, v1alpha1.WarningNotAssessed}}
		},
		"mdtest": func() targetCase {
			return targetCase{benchmark: ranks(metadata), clients: objects(
				builders.Client("data", 0).Rank(3, measure.Write, builders.Counter(100, 4096)).MdtestJob(4, 2),
				builders.Client("data", 1).Rank(3, measure.Write, builders.Counter(100, 4096)))}
		},
		// The files are empty. Nothing is read or written, so the rates are the only figures.
		"mdtest-empty-files": func() targetCase {
			return targetCase{benchmark: ranks(emptyFiles), clients: objects(
				builders.Client("data", 0).MdtestJob(4, 2), builders.Client("data", 1))}
		},
		"mdtest-empty-files-one-node": func() targetCase {
			return targetCase{benchmark: ranks(emptyFiles), clients: objects(
				builders.Client("data", 0).On("here").MdtestJob(4, 2), builders.Client("data", 1).On("here")),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningClientsShareNode}}
		},
		"mdtest-stopped": func() targetCase {
			return targetCase{benchmark: ranks(metadata), clients: objects(
				builders.Client("data", 0).Rank(3, measure.Write, builders.Counter(100, 4096)).MdtestJob(4, 2).Stopped("the run was deleted").
					Mutate(func(c *result.Client) { c.Job.Rates = nil }),
				builders.Client("data", 1).Rank(3, measure.Write, builders.Counter(100, 4096))),
				warnings: []v1alpha1.WarningType{v1alpha1.WarningResultIncomplete}}
		},
	})
}

// TestJobFigures checks some of the figures in the golden files against values computed by hand.
func TestJobFigures(t *testing.T) {
	of := func(name string) v1alpha1.TargetResult {
		test := targetCases[name]()
		return result.Target(stepOf(t, test.benchmark), "data", test.clients, result.History{})
	}
	measured := of("ior")
	if got := *measured.Operations[0].BytesPerSecond; got != 200*mebibyte || measured.Operations[0].Latency != nil {
		t.Errorf("%d bytes/s by samples, latency %v", got, measured.Operations[0].Latency)
	}
	own := measured.IOR.Operations[0]
	if own.Count != 5 || own.MeanBytesPerSecond != 200*mebibyte || own.MaxBytesPerSecond != 200*mebibyte || own.StandardDeviationBytesPerSecond != 0 ||
		own.Bytes != 2000*mebibyte || len(own.Repetitions) != 5 || measured.IOR.Ranks != 4 {
		t.Errorf("IOR: %+v", own)
	}
	prepared := of("ior-prepare")
	if got := *prepared.Operations[0].BytesPerSecond; got != 160*mebibyte || prepared.WindowNanoseconds != int64(10*time.Second) {
		t.Errorf("prepared at %d bytes/s in %s, and IOR says 1600 MiB in 10 s", got, time.Duration(prepared.WindowNanoseconds))
	}
	if len(prepared.Warnings) > 0 {
		t.Errorf("prepare: %v", prepared.Warnings)
	}
	uncertain := of("ior-bytes-uncertain").Warnings[1].Message
	if !strings.Contains(uncertain, "1.783 GB") || !strings.Contains(uncertain, "1.573 GB") {
		t.Errorf("both figures: %s", uncertain)
	}
	if made := of("mdtest-empty-files"); made.Clients != 2 || len(made.Warnings) > 0 ||
		made.Mdtest.Rates[0].MeanOPSMilli != 5000500 {
		t.Errorf("empty files: %+v", made)
	}
	if made := of("ior-one-machine"); made.Clients != 2 || *made.Operations[0].BytesPerSecond != 100*mebibyte {
		t.Errorf("%d clients", made.Clients)
	}
}

// TestRepetitionAfterTheSamples checks that a repetition that ends after the step's duration causes no warning about
// its bytes, which no sample counts.
func TestRepetitionAfterTheSamples(t *testing.T) {
	clients := objects(rank(0).IORJob(4, 2, measure.Write, 4, 3*time.Second, 600*mebibyte), rank(1))
	for _, warning := range result.Target(stepOf(t, ranks(ranksWrite)), "data", clients, result.History{}).Warnings {
		if warning.Type == v1alpha1.WarningBytesUncertain {
			t.Error(warning.Message)
		}
	}
}

// TestWritesThenReads checks the warning about a step that ends too early because reads were faster than writes. A
// larger block size would not help.
func TestWritesThenReads(t *testing.T) {
	step := stepOf(t, ranks(func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.Steady("both", "10s").WithLoad(writesAndReads())
	}))
	client := func(index int) *builders.ClientBuilder {
		return builders.Client("data", index).Rank(5, measure.Write, hundred).
			Rank(2, measure.Read, builders.Counter(250, mebibyte))
	}
	clients := objects(client(0).IORJob(4, 2, measure.Write, 1, 5*time.Second, 1000*mebibyte), client(1))
	got := result.Target(step, "data", clients, result.History{}).Warnings
	if len(got) == 0 || got[0].Type != v1alpha1.WarningCommonWindowTooShort ||
		!strings.HasPrefix(got[0].Message, "measured for only 7s of the requested 10s") ||
		!strings.HasSuffix(got[0].Message, "use one phase per operation") {
		t.Errorf("warnings %+v", got)
	}
}

// TestIntervalAfterWarmUp checks that the 95 % interval, like the rate, ignores repetitions during the warm-up.
func TestIntervalAfterWarmUp(t *testing.T) {
	step := stepOf(t, ranks(func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.Steady("write", "10s").WarmUp("2s")
	}))
	client := func(index int) *builders.ClientBuilder {
		return builders.Client("data", index).WarmUp(2, measure.Write, builders.Counter(1000, mebibyte)).
			Rank(10, measure.Write, hundred)
	}
	first := client(0).IORJob(4, 2, measure.Write, 6, 2*time.Second, 400*mebibyte).
		Mutate(func(c *result.Client) { c.Job.Repetitions[0].Bytes *= 10 })
	got := result.Target(step, "data", objects(first, client(1)), result.History{}).Operations[0]
	if *got.BytesPerSecond != 200*mebibyte || *got.RateErrorPPM != 0 {
		t.Errorf("%d bytes/s with an error of %d millionths", *got.BytesPerSecond, *got.RateErrorPPM)
	}
}

// TestManyRepetitions checks that a result lists only the first and the last repetitions, but counts all.
func TestManyRepetitions(t *testing.T) {
	clients := objects(rank(0).IORJob(4, 2, measure.Write, 1000, 10*ms, mebibyte), rank(1))
	made := result.Target(stepOf(t, ranks(ranksWrite)), "data", clients, result.History{}).IOR.Operations[0]
	if made.Count != 1000 || made.OmittedRepetitions != 968 || len(made.Repetitions) != 32 ||
		made.Repetitions[15].Index != 15 || made.Repetitions[16].Index != 984 || made.Repetitions[31].Index != 999 {
		t.Errorf("%d of %d listed, %d left out", len(made.Repetitions), made.Count, made.OmittedRepetitions)
	}
	ior.OmitRepetitions(&made, 3)
	if made.OmittedRepetitions != 997 || made.Repetitions[1].Index != 1 || made.Repetitions[2].Index != 999 {
		t.Errorf("after OmitRepetitions: %+v", made.Repetitions)
	}
}

// TestDrainByRanks checks that the burst of an MPI job is found in the samples of its ranks, if the drain was stopped
// during a repetition.
func TestDrainByRanks(t *testing.T) {
	step := stepOf(t, ranks(func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.BurstDrain("burst", "2m", "1h")
	}))
	fast, slow := builders.Counter(100, mebibyte), builders.Counter(20, mebibyte)
	client := func(index int) *builders.ClientBuilder {
		return builders.Client("data", index).Rank(200, measure.Write, fast).Rank(200, measure.Write, slow).Stopped("enough was measured")
	}
	clients := objects(client(0).IORJob(4, 2, measure.Write, 20, 10*time.Second, 2000*mebibyte), client(1))
	made := result.Target(step, "data", clients, result.History{Concluded: builders.Start.Add(400 * time.Second)})
	if made.Burst == nil || !made.Burst.Exhausted {
		t.Fatalf("burst %+v, warnings %v", made.Burst, made.Warnings)
	}
	if got := made.Burst.Bytes; got.Burst.Value/mebibyte != 200 || got.Baseline.Value/mebibyte != 40 {
		t.Errorf("burst %d, baseline %d", got.Burst.Value, got.Baseline.Value)
	}
	if made.IOR.Operations[0].Count != 20 {
		t.Errorf("%d repetitions", made.IOR.Operations[0].Count)
	}
}

// TestRampOfRanks checks that a ramp of an MPI job has a knee and keeps IOR's command line.
func TestRampOfRanks(t *testing.T) {
	benchmark := ranks(func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.Ramp("ramp", v1alpha1.RampProcesses, "10s", 1, 2, 4, 8, 16, 32)
	})
	planned, problems := plan.Make(benchmark.Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	var into v1alpha1.TargetResult
	phase := &benchmark.Run().Phases[0]
	for _, step := range planned.Steps {
		each := builders.Counter(min(uint64(step.Processes), 8)*10, mebibyte)
		clients := objects(builders.Client("data", 0).Rank(10, measure.Write, each).IORJob(2*step.Processes, 2, measure.Write, 1, 10*time.Second, 20*each.Bytes),
			builders.Client("data", 1).Rank(10, measure.Write, each))
		result.Fold(phase, &into, step, result.History{}, result.Target(step, "data", clients, result.History{}))
	}
	if into.Knee == nil || !into.Knee.Found || *into.Knee.Value < 4 || *into.Knee.Value > 16 {
		t.Errorf("knee %+v", into.Knee)
	}
	if into.IOR == nil || into.IOR.Operations != nil || len(into.IOR.CommandLine) == 0 {
		t.Errorf("IOR of a ramp: %+v", into.IOR)
	}
	for _, step := range into.Steps {
		if step.Operations[0].MeanNanoseconds != 0 || step.Operations[0].BytesPerSecond == 0 {
			t.Errorf("cell %+v", step)
		}
	}
}

// TestDrainThatTurns checks that a switch from writes to slower reads is not taken for the end of a burst. If the load
// switches often, or after the burst, the end of the burst must be found.
func TestDrainThatTurns(t *testing.T) {
	step := stepOf(t, ranks(func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.BurstDrain("burst", "2m", "1h").WithLoad(writesAndReads())
	}))
	fast, slow := builders.Counter(100, mebibyte), builders.Counter(20, mebibyte)
	for name, test := range map[string]struct {
		client func(index int) *builders.ClientBuilder
		want   bool
	}{
		"once": {func(index int) *builders.ClientBuilder {
			return builders.Client("data", index).Rank(200, measure.Write, fast).Rank(200, measure.Read, slow)
		}, false},
		"often": {func(index int) *builders.ClientBuilder {
			made := builders.Client("data", index)
			for range 100 {
				made.Rank(1, measure.Write, fast).Rank(1, measure.Read, fast)
			}
			for range 100 {
				made.Rank(1, measure.Write, slow).Rank(1, measure.Read, slow)
			}
			return made
		}, true},
		"after a burst": {func(index int) *builders.ClientBuilder {
			return builders.Client("data", index).Rank(200, measure.Write, fast).Rank(200, measure.Write, slow).
				Rank(200, measure.Read, builders.Counter(5, mebibyte))
		}, true},
	} {
		made := result.Target(step, "data", objects(test.client(0), test.client(1)), result.History{}).Burst
		if made == nil || made.Exhausted != test.want || strings.Contains(made.Message, "the load switched") != (name != "often") {
			t.Errorf("%s: %+v", name, made)
			continue
		}
		if !test.want {
			continue
		}
		if drops := made.Bytes.Drops; len(drops) != 1 || made.Bytes.Baseline.Value != 40*mebibyte ||
			time.Duration(drops[0].AtNanoseconds.Value).Round(time.Second) != 200*time.Second {
			t.Errorf("%s: baseline %d, drops %+v", name, made.Bytes.Baseline.Value, drops)
		}
	}
}

// TestDrainOfRepetitions checks that pauses between repetitions are not drops, and that the means of the levels include
// them.
func TestDrainOfRepetitions(t *testing.T) {
	step := stepOf(t, ranks(func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.BurstDrain("burst", "2m", "1h")
	}))
	client := func(index int) *builders.ClientBuilder {
		made := builders.Client("data", index)
		for second := range 600 {
			count := uint64(100)
			if second >= 300 {
				count = 20
			}
			if second%10 == 9 {
				count /= 2
			}
			made.Rank(1, measure.Write, builders.Counter(count, mebibyte))
		}
		return made.Stopped("enough was measured")
	}
	made := result.Target(step, "data", objects(client(0).IORJob(4, 2, measure.Write, 30, 10*time.Second, 1900*mebibyte), client(1)),
		result.History{Concluded: builders.Start.Add(600 * time.Second)})
	if made.Burst == nil || !made.Burst.Exhausted || len(made.Burst.Bytes.Drops) != 1 {
		t.Fatalf("burst %+v", made.Burst)
	}
	if at := time.Duration(made.Burst.Bytes.Drops[0].AtNanoseconds.Value); at < 298*time.Second || at > 302*time.Second {
		t.Errorf("it fell at %s", at)
	}
	for name, pair := range map[string][2]int64{"burst": {made.Burst.Bytes.Burst.Value, 190 * mebibyte}, "baseline": {made.Burst.Bytes.Baseline.Value, 38 * mebibyte}} {
		if off := float64(pair[0])/float64(pair[1]) - 1; off < -0.06 || off > 0.06 {
			t.Errorf("%s %d, want %d", name, pair[0], pair[1])
		}
	}
}

// TestDrainThatLasted checks that the message does not claim a drop if the drain ended at its maximum duration.
func TestDrainThatLasted(t *testing.T) {
	step := stepOf(t, ranks(func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.BurstDrain("burst", "2m", "3m")
	}))
	for seconds, want := range map[int]bool{180: false, 150: true} {
		client := func(index int) *builders.ClientBuilder {
			return builders.Client("data", index).Rank(seconds, measure.Write, hundred).Stopped("told")
		}
		made := result.Target(step, "data", objects(client(0).IORJob(4, 2, measure.Write, 1, 10*time.Second, 2000*mebibyte), client(1)),
			result.History{Concluded: builders.Start.Add(time.Duration(seconds) * time.Second)})
		if got := strings.Contains(made.Burst.Message, "a drop was detected"); got != want {
			t.Errorf("after %d s: %s", seconds, made.Burst.Message)
		}
	}
}

// TestWritesToMemory checks the warning about writes to the page cache that are not flushed often enough.
func TestWritesToMemory(t *testing.T) {
	never := builders.IOR().Block("200Mi").Mutate(func(p *v1alpha1.IORProfile) { p.Fsync = new(false) })
	synchronous := builders.IOR().Block("200Mi").Mutate(func(p *v1alpha1.IORProfile) { p.Fsync, p.Args = new(false), []string{"-Y"} })
	for name, test := range map[string]struct {
		profile     *builders.IORBuilder
		repetitions int
		want        string
	}{
		"flushed often":  {builders.IOR().Block("200Mi"), 5, ""},
		"flushed seldom": {builders.IOR().Block("200Mi"), 2, "of which only 2 completed"},
		"over and over":  {builders.IOR().Block("16Mi"), 5, "overwritten more than once"},
		"never":          {never, 5, "set direct or fsync to true"},
		"direct":         {builders.IOR().Direct(), 1, ""},
		"each write":     {synchronous, 1, ""},
	} {
		benchmark := ranks(func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
			return b.Steady("write", "10s").WithLoad(test.profile.Engine())
		})
		bytes := uint64(2000/test.repetitions) * mebibyte // #nosec G115 -- positive
		if name == "flushed seldom" {
			bytes = 800 * mebibyte
		}
		clients := objects(rank(0).IORJob(4, 2, measure.Write, test.repetitions, 10*time.Second/time.Duration(test.repetitions), bytes), rank(1))
		got := ""
		for _, warning := range result.Target(stepOf(t, benchmark), "data", clients, result.History{}).Warnings {
			if warning.Type == v1alpha1.WarningDirtyPages {
				got = warning.Message
			}
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestDrainBesideAJob checks that the message of an fio drain that ended at its maximum duration claims no drop, even
// if another target runs an MPI job.
func TestDrainBesideAJob(t *testing.T) {
	step := stepOf(t, builders.Benchmark("b").Target("data").Target("other").BurstDrain("burst", "2m", "3m").ForLoad("other", builders.IOR().Direct().Engine()))
	fio := builders.Client("data", 0).Does(180, measure.Write, hundred, ms).Stopped("told").Obj()
	made := result.Target(step, "data", []result.Client{fio}, result.History{Concluded: builders.Start.Add(3 * time.Minute)})
	if strings.Contains(made.Burst.Message, "a drop was detected") {
		t.Error(made.Burst.Message)
	}
}
