package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

// mpi returns a benchmark of four clients with two ranks each.
func mpi() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("a").Clients(4).Processes(2).Load(builders.IOR().Engine())
}

func reorderNone(p *v1alpha1.IORProfile) { p.ReorderTasks = v1alpha1.IORReorderNone }

// verified returns a load that reads and verifies data.
func verified(transfer string) v1alpha1.Engine {
	return builders.IOR().Reads().Mutate(func(p *v1alpha1.IORProfile) {
		p.Verify, p.TransferSize, p.Repetitions = new(true), resource.MustParse(transfer), new(int32(1))
	}).Engine()
}

var mpiPlans = map[string]*builders.BenchmarkBuilder{
	"ior": mpi().Prepare("layout").Steady("write", "1m").WarmUp("5s").WithLoad(builders.IOR().Overwrites().Engine()).
		Steady("read", "1m").WithLoad(builders.IOR().Reads().Engine()).BurstDrain("burst", "2m", "1h"),
	"ior-two-targets": mpi().Target("b").Prepare("layout").ForLoad("b", builders.IOR().Block("32Mi").Engine()).
		Steady("read", "1m").WithLoad(builders.IOR().Reads().Engine()).ForLoad("b", builders.IOR().Block("32Mi").Reads().Engine()).
		Steady("in-turns", "1m").Sequential().WithLoad(builders.Mdtest()).ForLoad("b", builders.IOR().Reads().Engine()),
	"ior-ramps": mpi().Processes(8).Prepare("layout").Ramp("ranks", v1alpha1.RampProcesses, "30s", 1, 2, 4, 8).
		WithLoad(builders.IOR().Reads().Engine()).
		Ramp("clients", v1alpha1.RampClients, "30s", 1, 2, 4).
		Sweep("sweep", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{Clients: []int32{1, 4}}),
	"ior-own-volumes": mpi().PerClient().Prepare("layout").Steady("read", "1m").WithLoad(builders.IOR().Reads().Mutate(reorderNone).Engine()).
		Ramp("ranks", v1alpha1.RampProcesses, "30s", 1, 2),
	"engines-mixed": builders.Benchmark("b").Target("a").Clients(2).Processes(4).
		Prepare("layout").Prepare("layout-ior").WithLoad(builders.IOR().Engine()).
		Steady("fio", "1m").Steady("ior", "1m").WithLoad(builders.IOR().Reads().Engine()).
		Steady("mdtest", "10m").WithLoad(builders.Mdtest()),
	"ior-credits": fsx().Processes(2).Load(builders.IOR().Block("8Gi").Engine()).Prepare("layout").BurstDrain("burst", "2m", "6h"),
	"post":        builders.Benchmark("b").Target("lz4").Target("none").Clients(4).Processes(36).Load(builders.Post().Engine()).BurstDrain("burst", "2m", "720m"),
}

func TestMPIPlans(t *testing.T) {
	for name, benchmark := range mpiPlans {
		t.Run(name, func(t *testing.T) {
			made, problems := plan.Make(benchmark.Run(), 1)
			if len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			golden.Check(t, name, text(made))
			again, _ := plan.Make(benchmark.Run(), 1)
			if text(again) != text(made) {
				t.Error("the same benchmark gives another plan")
			}
		})
	}
}

// TestPostCommand checks that the command line equals that of a published test, except for the file name, the output
// format, and -D 0 (no stonewall), which is the default.
func TestPostCommand(t *testing.T) {
	made, problems := plan.Make(mpiPlans["post"].Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	step := made.Steps[0]
	use := step.For("lz4")
	request, err := step.Load("lz4").Render(&use, &engine.Client{Version: "4.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	want := "-a POSIX -t 1m -b 1m -s 12000 --posix.odirect -F -w -g -i 1000 -k -T 720 -v -O summaryFormat=CSV -o ior.data"
	if got := strings.Join(request.GetMpi().GetArguments(), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if step.Clients*step.Processes != 144 {
		t.Errorf("%d ranks", step.Clients*step.Processes)
	}
}

// mpiRefusals are MPI jobs that cannot run.
var mpiRefusals = map[string]refusal{
	"bad ior": {mpi().Load(builders.IOR().Block("1").Engine()).Steady("write", "1m"), "spec.run.workload.ior.blockSize", "must be a whole number"},
	"bad mdtest": {mpi().Load(v1alpha1.Engine{Mdtest: &v1alpha1.MdtestProfile{}}).Steady("meta", "1m"),
		"spec.run.workload.mdtest.filesPerProcess", "must be from 1 to"},
	"read without layout": {mpi().Steady("read", "1m").WithLoad(builders.IOR().Reads().Engine()),
		"spec.run.phases[0]", "files of 8 ranks on target a, but no earlier phase lays them out: reads of unwritten space do not reach the storage. Put a phase"},
	"read of larger files": {mpi().Prepare("layout").Steady("read", "1m").WithLoad(builders.IOR().Block("32Mi").Reads().Engine()),
		"spec.run.phases[1]", "fewer or smaller"},
	"read of larger files than the last layout's": {mpi().Prepare("layout").
		Prepare("smaller").WithLoad(builders.IOR().Block("8Mi").Engine()).
		Steady("read", "1m").WithLoad(builders.IOR().Reads().Engine()), "spec.run.phases[2]", "fewer or smaller"},
	"read of more ranks": {mpi().Prepare("layout").Ramp("ramp", v1alpha1.RampProcesses, "30s", 1, 4).WithLoad(builders.IOR().Reads().Engine()),
		"spec.run.phases[1]", "set clients.processesPerClient to the maximum"},
	"read of what was written anew": {mpi().Prepare("layout").Steady("write", "1m").Steady("read", "1m").WithLoad(builders.IOR().Reads().Engine()),
		"spec.run.phases[2]", "phase write rewrites them and may leave them shorter: reads of unwritten space do not reach the storage. " +
			"Put a phase with `prepare: {}` and the same workload before it, or set useExistingFiles in the workload of write"},
	"read of what other ranks wrote anew": {mpi().PerClient().Prepare("layout").Ramp("w", v1alpha1.RampProcesses, "30s", 1).
		Steady("read", "1m").WithLoad(builders.IOR().Reads().Mutate(reorderNone).Engine()), "spec.run.phases[2]", "phase w rewrites them"},
	"verify of plain data": {mpi().Prepare("layout").BurstDrain("check", "2m", "1h").WithLoad(verified("1Mi")),
		"spec.run.phases[1]", "it was written without verify"},
	"verify of other transfers": {mpi().Prepare("layout").WithLoad(verified("4Mi")).
		BurstDrain("check", "2m", "1h").WithLoad(verified("1Mi")),
		"spec.run.phases[1]", "another dataPattern or transferSize"},
	"verify of what was overwritten": {mpi().Prepare("layout").WithLoad(verified("1Mi")).
		Steady("write", "1m").WithLoad(builders.IOR().Overwrites().Engine()).
		BurstDrain("check", "2m", "1h").WithLoad(verified("1Mi")), "spec.run.phases[2]", "it was written without verify"},
	"read of other ranks' files": {mpi().PerClient().Prepare("layout").Ramp("ramp", v1alpha1.RampProcesses, "30s", 1, 2).
		WithLoad(builders.IOR().Reads().Mutate(reorderNone).Engine()), "spec.run.phases[1]", "no earlier phase lays them out"},
	"reordered in volumes of their own": {mpi().PerClient().Prepare("layout").Steady("read", "1m").WithLoad(builders.IOR().Reads().Engine()),
		"spec.run.phases[1].workload.ior.reorderTasks", "set reorderTasks to None"},
	"one file in volumes of their own": {mpi().PerClient().Load(builders.IOR().Mutate(func(p *v1alpha1.IORProfile) { p.FilePerProcess = new(false) }).Engine()).Steady("write", "1m"),
		"spec.run.workload.ior.filePerProcess", "set filePerProcess to true"},
	"one node's network": {mpi().PerClient().Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Clients.Template = &v1alpha1.PodTemplate{HostNetwork: new(true)}
	}), "spec.run.clients.template.hostNetwork", "set clients.spread to OnePerNode"},
	"writes and reads until steady": {mpi().Load(builders.IOR().Mutate(func(p *v1alpha1.IORProfile) {
		p.Operations = []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
	}).Engine()).Steady("both", "10m").EndWhenSteady(), "spec.run.phases[0].steady.endWhenSteady", "when the phase reaches steady state and ends, so it would read nothing: remove endWhenSteady"},
	"precondition":       {mpi().Prepare("layout").Precondition(1), "spec.run.phases[0].prepare.precondition", "remove precondition"},
	"verify by time":     {mpi().Load(builders.IOR().Mutate(func(p *v1alpha1.IORProfile) { p.Verify = new(true) }).Engine()).Steady("write", "1m"), "spec.run.phases[0]", "remove verify"},
	"ramp of jobs":       {mpi().Ramp("ramp", v1alpha1.RampJobs, "30s", 1, 2), "spec.run.phases[0].ramp.dimension", "use Processes or Clients"},
	"ramp of many ranks": {mpi().Ramp("ramp", v1alpha1.RampProcesses, "30s", 1, 1025), "spec.run.phases[0].ramp.steps[1]", "at most 1024"},
	"ramp of ranks of fio": {builders.Benchmark("b").Target("a").Ramp("ramp", v1alpha1.RampProcesses, "30s", 1, 2),
		"spec.run.phases[0].ramp.dimension", "fio has no ranks: use Jobs"},
	"sweep of jobs":        {mpi().Sweep("s", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{Jobs: []int32{1, 2}}), "spec.run.phases[0].sweep.axes.jobs", "a ramp of Processes"},
	"sweep of depths":      {mpi().Sweep("s", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{QueueDepth: []int32{1, 2}}), "spec.run.phases[0].sweep.axes.queueDepth", "remove this axis"},
	"sweep of block sizes": {mpi().Sweep("s", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{BlockSize: builders.BlockSizes("4Ki", "1Mi")}), "spec.run.phases[0].sweep.axes.blockSize", "a phase for each size"},
	"sweep of reads":       {mpi().Sweep("s", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{ReadPercent: []int32{0, 100}}), "spec.run.phases[0].sweep.axes.readPercent", "a phase for each operation"},
	"degraded":             {mpi().OnLoss(v1alpha1.OnLossContinueDegraded, 1).Steady("write", "1m"), "spec.run.clients.onLoss", "use RestartStep or FailRun"},
	"degraded for one target": {builders.Benchmark("b").Target("a").Target("b").OnLoss(v1alpha1.OnLossContinueDegraded, 1).Steady("write", "1m").
		ForLoad("b", builders.IOR().Engine()), "spec.run.clients.onLoss", "use RestartStep or FailRun"},
	"ranks of fio": {builders.Benchmark("b").Target("a").Processes(8).Steady("write", "1m"), "spec.run.clients.processesPerClient", "raise jobs or clients.count"},

	"mdtest laid out":         {mpi().Load(builders.Mdtest()).Prepare("layout"), "spec.run.phases[0].prepare", "remove the phase"},
	"mdtest drained":          {mpi().Load(builders.Mdtest()).BurstDrain("burst", "2m", "1h"), "spec.run.phases[0]", "use steady"},
	"mdtest in a ramp":        {mpi().Load(builders.Mdtest()).Ramp("ramp", v1alpha1.RampClients, "30s", 1, 2), "spec.run.phases[0]", "use steady"},
	"mdtest warmed up":        {mpi().Load(builders.Mdtest()).Steady("meta", "1m").WarmUp("5s"), "spec.run.phases[0].steady.warmUp", "remove warmUp"},
	"mdtest until steady":     {mpi().Load(builders.Mdtest()).Steady("meta", "10m").EndWhenSteady(), "spec.run.phases[0].steady.endWhenSteady", "remove endWhenSteady"},
	"mdtest beside ior":       {mpi().Target("b").Steady("both", "1m").ForLoad("b", builders.Mdtest()), "spec.run.phases[0].mode", "use mode Sequential"},
	"mdtest in own volumes":   {mpi().PerClient().Load(builders.Mdtest()).Steady("meta", "1m"), "spec.run.workload.mdtest", "claimTemplate.scope to Shared"},
	"mdtest in the other one": {mpi().Steady("write", "1m").ForLoad("a", v1alpha1.Engine{Command: &v1alpha1.CommandProfile{}}), "spec.run.phases[0].targetWorkloads[0].workload.command.command", "set the program"},
}

func TestMPIRefusals(t *testing.T) {
	for name, test := range mpiRefusals {
		t.Run(name, func(t *testing.T) { test.check(t) })
	}
}

// TestPatternsOfOneVersion checks that a pattern that only some versions support can be planned, because the version of
// the clients is unknown. A combination that no version supports is refused.
func TestPatternsOfOneVersion(t *testing.T) {
	for _, pattern := range []string{"Random", "Incompressible"} {
		profile := builders.IOR().Mutate(func(p *v1alpha1.IORProfile) { p.DataPattern = pattern })
		if _, problems := plan.Make(mpi().Load(profile.Engine()).Steady("write", "1m").Run(), 1); len(problems) > 0 {
			t.Errorf("%s: %v", pattern, problems)
		}
		_, problems := plan.Make(mpi().Load(profile.Mutate(func(p *v1alpha1.IORProfile) { p.Args = []string{"--random-offset-seed=1"} }).Engine()).Steady("write", "1m").Run(), 1)
		if (len(problems) > 0) != (pattern == "Incompressible") {
			t.Errorf("%s with an option of 4.0.0: %v", pattern, problems)
		}
	}
}

// TestSteadyOfWritesAndReads checks that a phase of alternating writes and reads may end early when it is steady,
// unless the stonewall is too long.
func TestSteadyOfWritesAndReads(t *testing.T) {
	for stonewall, want := range map[v1alpha1.Duration]bool{"20s": true, "6m": false} {
		load := builders.IOR().Mutate(func(p *v1alpha1.IORProfile) {
			p.Operations, p.Stonewall = []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}, &stonewall
		})
		_, problems := plan.Make(mpi().Load(load.Engine()).Steady("both", "20m").EndWhenSteady().Run(), 1)
		if (len(problems) == 0) != want {
			t.Errorf("stonewall %s: %v", stonewall, problems)
		}
	}
}

// TestOverwrittenFilesStay checks that files can be read after they were overwritten in place.
func TestOverwrittenFilesStay(t *testing.T) {
	for _, b := range []*builders.BenchmarkBuilder{
		mpi().Prepare("layout").Steady("write", "1m").WithLoad(builders.IOR().Overwrites().Engine()),
		mpi().Prepare("layout").Prepare("smaller").WithLoad(builders.IOR().Block("8Mi").Overwrites().Engine()),
	} {
		run := b.Steady("read", "1m").WithLoad(builders.IOR().Reads().Engine()).Run()
		if _, problems := plan.Make(run, 1); len(problems) > 0 {
			t.Error(problems.ToAggregate())
		}
	}
}

// TestVerifiedAsWritten checks that data can be verified if every phase that writes it does so with verify.
func TestVerifiedAsWritten(t *testing.T) {
	smaller := builders.IOR().Block("8Mi").Reads().Mutate(func(p *v1alpha1.IORProfile) {
		p.Verify, p.DataPattern = new(true), "Timestamp"
	})
	_, problems := plan.Make(mpi().Prepare("layout").WithLoad(verified("1Mi")).
		BurstDrain("check", "2m", "1h").WithLoad(verified("1Mi")).
		BurstDrain("part", "2m", "1h").WithLoad(smaller.Engine()).Run(), 1)
	if len(problems) > 0 {
		t.Error(problems.ToAggregate())
	}
}

// TestWritesAndReadsInTurn checks that a timed phase with both operations has a warning.
func TestWritesAndReadsInTurn(t *testing.T) {
	load := builders.IOR().Mutate(func(p *v1alpha1.IORProfile) {
		p.Operations = []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
	})
	for name, test := range map[string]struct {
		run  *builders.BenchmarkBuilder
		want bool
	}{
		"timed":   {mpi().Load(load.Engine()).Steady("both", "10m"), true},
		"drained": {mpi().Load(load.Engine()).Prepare("layout").BurstDrain("both", "2m", "1h"), false},
	} {
		made, problems := plan.Make(test.run.Run(), 1)
		if got := strings.Contains(text(made), "use one phase per operation"); got != test.want || len(problems) > 0 {
			t.Errorf("%s: %v\n%s", name, problems, text(made))
		}
	}
}

// TestRanksOfOneClient checks that the files of a rank are stable if a single client has its own volume, so that the
// volume needs no extra space.
func TestRanksOfOneClient(t *testing.T) {
	ranks := func() *builders.BenchmarkBuilder { return mpi().Clients(1).Processes(4).PerClient() }
	for name, run := range map[string]*v1alpha1.RunSpec{
		"reads":  ranks().Prepare("l").Ramp("r", v1alpha1.RampProcesses, "30s", 1, 2, 4).WithLoad(builders.IOR().Reads().Engine()).Run(),
		"writes": ranks().Ramp("r", v1alpha1.RampProcesses, "30s", 1, 2, 4).Run(),
	} {
		made, problems := plan.Make(run, 1)
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		} else if got := made.VolumeBytes(&run.Targets[0]); got != 64<<20 {
			t.Errorf("%s: %d bytes, want %d", name, got, 64<<20)
		}
	}
}

// TestSpaceOfARampOfClients checks that each file counts once, even if different clients write it.
func TestSpaceOfARampOfClients(t *testing.T) {
	for name, test := range map[string]struct {
		run  *builders.BenchmarkBuilder
		want uint64
	}{
		"shared":      {mpi(), 128 << 20},
		"own volumes": {mpi().PerClient(), 32 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			run := test.run.Ramp("ramp", v1alpha1.RampClients, "30s", 1, 2, 4).Run()
			made, problems := plan.Make(run, 1)
			if len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			if got := made.VolumeBytes(&run.Targets[0]); got != test.want {
				t.Errorf("%d bytes, want %d", got, test.want)
			}
		})
	}
}
