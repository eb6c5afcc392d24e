package local

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
)

// TestClearOfAgentsThatStay checks that agents that do not exit delay the end of a run by one timeout in all, whatever
// their number.
func TestClearOfAgentsThatStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runner{conductor: conductor.New(conductor.Options{}), agents: map[decide.ClientKey]*Agent{}}
		for index := range 3 {
			lifeline, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			r.agents[decide.ClientKey{Target: "a", Index: index}] = &Agent{lifeline: lifeline, exited: make(chan struct{})}
		}
		if err := r.clear(); err != nil {
			t.Error(err)
		}
	})
}

// TestEpitaphWithoutData checks that processes that cannot be killed are reported after the death of the runner, even
// if it left no data.
func TestEpitaphWithoutData(t *testing.T) {
	for name, test := range map[string]struct {
		data []Data
		want string
	}{
		"no data":  {nil, "/proc"},
		"one path": {[]Data{{Path: "/mnt/a"}}, "/mnt/a"},
	} {
		benchmark := builders.Benchmark("b").Target("a").Steady("read", "1m")
		planned, problems := plan.Make(benchmark.Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		run := record.New(record.Identity{Name: "b-1"}, benchmark.Run(), planned)
		got := interruptedRun(Entry{Run: run, Data: test.data}, "signal: killed", errors.New("still alive after SIGKILL: 7 (fio)"))
		if len(got.Status.DataLeft) != 1 || got.Status.DataLeft[0].Path != test.want || !strings.Contains(got.Status.DataLeft[0].Reason, "still alive") {
			t.Errorf("%s: left %+v", name, got.Status.DataLeft)
		}
		if got.Status.Stage != v1alpha1.StageFailed {
			t.Errorf("%s: stage %s", name, got.Status.Stage)
		}
	}
}

// TestDeathAfterTheLastStep checks that a run is complete if its runner died after every step had its result. A step
// that is being repeated has none.
func TestDeathAfterTheLastStep(t *testing.T) {
	benchmark := builders.Benchmark("b").Target("a").Steady("read", "1m").Mutate(func(run *v1alpha1.RunSpec) {
		run.Observations = []v1alpha1.Observation{{Name: "cpu", Query: "up"}}
	})
	planned, problems := plan.Make(benchmark.Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	last := planned.Steps[len(planned.Steps)-1].ID
	for stage, attempts := range map[string][]v1alpha1.StepStatus{
		v1alpha1.StageComplete: nil, v1alpha1.StageFailed: {{ID: last, Attempt: 2, State: v1alpha1.StepStarting}},
	} {
		run := record.New(record.Identity{Name: "b-1"}, benchmark.Run(), planned)
		for _, step := range planned.Steps {
			run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{
				ID: step.ID, Attempt: 1, State: v1alpha1.StepSucceeded, EndTime: new(metav1.NowMicro())})
		}
		run.Status.Steps = append(run.Status.Steps, attempts...)
		entry := Entry{Run: run, Data: []Data{{Path: "/mnt/a"}}}
		got := interruptedRun(entry, "signal: killed", errors.New("the directory is busy"))
		if got.Status.Stage != stage || len(got.Status.DataLeft) != 1 {
			t.Errorf("stage %s, want %s; left %+v", got.Status.Stage, stage, got.Status.DataLeft)
		}
		unasked := slices.ContainsFunc(got.Status.Warnings, func(w v1alpha1.Warning) bool {
			return w.Type == v1alpha1.WarningObservationFailed
		})
		if unasked != (stage == v1alpha1.StageComplete) {
			t.Errorf("stage %s: warnings %+v", stage, got.Status.Warnings)
		}
	}
}

// TestAgentThatDoesNotStart checks that an agent that does not start leaves no pipe open.
func TestAgentThatDoesNotStart(t *testing.T) {
	start := func() {
		t.Helper()
		if _, err := StartAgent([]string{"/nonexistent/agent"}, agent.Config{}); err == nil {
			t.Fatal("it started")
		}
	}
	start() // with the first pipe, the runtime opens files of its own
	before := openFiles(t)
	for range 3 {
		start()
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	folder, err := os.Open("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	names, err := folder.Readdirnames(-1)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return len(names)
}

// TestClientsShareTheirDirectory checks that the record of a local run says that the clients of a target share its
// volumes, even if the file has a claim per client. The hash must remain that of the file.
func TestClientsShareTheirDirectory(t *testing.T) {
	benchmark := builders.Benchmark("b").Target("a").Clients(4).Steady("write", "1m").Mutate(func(run *v1alpha1.RunSpec) {
		run.Targets[0].Volumes[0] = v1alpha1.Volume{Name: "data", ClaimTemplate: &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimPerClient}}
	}).Obj()
	run, err := newRun(Options{Benchmark: benchmark, Run: &benchmark.Spec.Run})
	if err != nil {
		t.Fatal(err)
	}
	if !plan.Shared(&run.Spec.Run.Targets[0]) {
		t.Errorf("volumes %+v", run.Spec.Run.Targets[0].Volumes)
	}
	if plan.Shared(&benchmark.Spec.Run.Targets[0]) || run.Spec.Hash != plan.RunHash(&benchmark.Spec.Run) {
		t.Errorf("the file's specification has changed: %+v", benchmark.Spec.Run.Targets[0].Volumes)
	}
}
