package plan_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// zipped returns the workload of the AWS post, which creates files and packs them.
func zipped() v1alpha1.Engine {
	size := resource.MustParse("22Gi")
	return v1alpha1.Engine{Command: &v1alpha1.CommandProfile{
		Setup: []string{"$(AGENT)", "files", "--directory", "photos"}, Command: []string{"zip", "-q", "-r", "archive.zip", "photos"}, DatasetSize: &size,
	}}
}

// unzipped returns a workload without a setup.
func unzipped() v1alpha1.Engine {
	size := resource.MustParse("13Gi")
	return v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"unzip", "-q", "-o", "archive.zip"}, DatasetSize: &size}}
}

func zips() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("a").Clients(2).Load(zipped())
}

// commandSteps are phases with a program and the expected steps: purpose, length, limit and space.
var commandSteps = map[string]struct {
	run  *builders.BenchmarkBuilder
	want []commandStep
}{
	"prepared": {zips().Prepare("files").Steady("zip", "1h").Steady("unzip", "30m").WithLoad(unzipped()), []commandStep{
		{"00-files", plan.Prepare, 48 * time.Hour, 22 << 30}, {"01-zip", plan.Measure, time.Hour, 0}, {"02-unzip", plan.Measure, 30 * time.Minute, 13 << 30}}},
	"not prepared": {zips().Steady("zip", "1h").Steady("again", "1h"), []commandStep{
		{"00-000-zip-setup", plan.Prepare, 48 * time.Hour, 22 << 30}, {"00-001-zip", plan.Measure, time.Hour, 0},
		{"01-000-again-setup", plan.Prepare, 48 * time.Hour, 0}, {"01-001-again", plan.Measure, time.Hour, 0}}},
	"in a ramp": {zips().Prepare("files").Ramp("ramp", v1alpha1.RampClients, "10m", 1, 2), []commandStep{
		{"00-files", plan.Prepare, 48 * time.Hour, 22 << 30}, {"01-000-ramp", plan.Measure, 10 * time.Minute, 0}, {"01-001-ramp", plan.Measure, 10 * time.Minute, 0}}},
}

type commandStep struct {
	id      string
	purpose plan.Purpose
	limit   time.Duration
	bytes   uint64
}

func TestCommandSteps(t *testing.T) {
	for name, test := range commandSteps {
		t.Run(name, func(t *testing.T) {
			made, problems := plan.Make(test.run.Run(), 1)
			if len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			if len(made.Steps) != len(test.want) {
				t.Fatalf("%d steps, want %d", len(made.Steps), len(test.want))
			}
			for i, want := range test.want {
				step := made.Steps[i]
				if got := (commandStep{step.ID, step.Purpose, step.Limit, step.NewBytes["a"]}); got != want || !step.WorkBound() || !step.Load("a").Opaque {
					t.Errorf("step %d: %+v, want %+v", i, got, want)
				}
				if step.Expected != 0 {
					t.Errorf("step %d is expected to take %s, but its time is unknown", i, step.Expected)
				}
			}
			if tools := made.Tools("a"); len(tools) > 0 {
				t.Errorf("tools %v", tools)
			}
		})
	}
}

// TestCommandDataset checks that another setup yields another dataset.
func TestCommandDataset(t *testing.T) {
	hash := func(change func(*v1alpha1.CommandProfile)) string {
		load := zipped()
		change(load.Command)
		made, problems := plan.Make(zips().Load(load).Prepare("files").Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		return made.DatasetHash
	}
	usual := hash(func(*v1alpha1.CommandProfile) {})
	if other := hash(func(p *v1alpha1.CommandProfile) { p.Command = []string{"tar", "c", "photos"} }); other != usual {
		t.Error("what reads them decides the files")
	}
	if other := hash(func(p *v1alpha1.CommandProfile) { p.Setup = append(p.Setup, "--seed", "2") }); other == usual {
		t.Error("files of another setup are taken for the same")
	}
}

// commandRefusals are programs that cannot run.
var commandRefusals = map[string]refusal{
	"no program": {zips().Load(v1alpha1.Engine{Command: &v1alpha1.CommandProfile{}}).Steady("zip", "1m"), "spec.run.workload.command.command", "set the program"},
	"unknown word": {zips().Load(v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"zip", "$(HOME)/a"}}}).Steady("zip", "1m"),
		"spec.run.workload.command.command[1]", "use $(DATA), $(CLIENT), $(AGENT)"},
	"nothing to prepare":   {zips().Load(unzipped()).Prepare("files"), "spec.run.workload.command.setup", "remove phase files"},
	"precondition":         {zips().Prepare("files").Precondition(2), "spec.run.phases[0].prepare.precondition", "remove precondition"},
	"warmed up":            {zips().Steady("zip", "1m").WarmUp("5s"), "spec.run.phases[0].steady.warmUp", "remove warmUp"},
	"until steady":         {zips().Steady("zip", "10m").EndWhenSteady(), "spec.run.phases[0].steady.endWhenSteady", "remove endWhenSteady"},
	"drained":              {zips().BurstDrain("burst", "2m", "1h"), "spec.run.phases[0].burstDrain", "use a fio or ior workload"},
	"redrained":            {zips().Redrain("refill", "1h").AtMost("2h"), "spec.run.phases[0].cooldown.redrain", "use a fio or ior workload"},
	"ramp of jobs":         {zips().Prepare("files").Ramp("ramp", v1alpha1.RampJobs, "30s", 1, 2), "spec.run.phases[1].ramp.dimension", "use Clients"},
	"ramp of ranks":        {zips().Prepare("files").Ramp("ramp", v1alpha1.RampProcesses, "30s", 1, 2), "spec.run.phases[1].ramp.dimension", "use Clients"},
	"ramp without prepare": {zips().Ramp("ramp", v1alpha1.RampClients, "30s", 1, 2), "spec.run.phases[0]", "put a phase with `prepare: {}`"},
	"sweep":                {zips().Sweep("s", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{Jobs: []int32{1, 2}}), "spec.run.phases[0].sweep", "use a ramp of Clients"},
	"beside fio":           {builders.Benchmark("b").Target("a").Target("b").Steady("both", "1m").ForLoad("b", unzipped()), "spec.run.phases[0].mode", "command on target b does a fixed amount of work"},
	"ranks":                {zips().Processes(4).Steady("zip", "1m"), "spec.run.clients.processesPerClient", "raise jobs or clients.count"},
}

func TestCommandRefusals(t *testing.T) {
	for name, test := range commandRefusals {
		t.Run(name, func(t *testing.T) { test.check(t) })
	}
}

// TestRampOfACommandBesideFio checks that a ramp with a program on one target and fio on another is refused, whichever
// target comes first.
func TestRampOfACommandBesideFio(t *testing.T) {
	for _, target := range []string{"a", "c"} {
		t.Run(target, func(t *testing.T) {
			refusal{builders.Benchmark("b").Target("a").Target("c").Clients(2).
				Ramp("ramp", v1alpha1.RampClients, "30s", 1, 2).ForLoad(target, unzipped()),
				"spec.run.phases[0].mode", "command on target " + target + " does a fixed amount of work"}.check(t)
		})
	}
}
