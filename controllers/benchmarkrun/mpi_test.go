package benchmarkrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/standinior"
)

// withIOR puts an ior and an mdtest, which may be stand-ins, first into the PATH of what stands for pods.
func withIOR(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	for name, file := range map[string]string{"ior": standinior.Program(t), "mdtest": standinior.Mdtest(t)} {
		must(t, os.Symlink(file, filepath.Join(folder, name)))
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestRunOverMPI: a job of two clients, from a BenchmarkRun to what IOR and mdtest say, over an operator that goes and
// comes in the middle of it.
func TestRunOverMPI(t *testing.T) {
	withIOR(t)
	w := newWorld(t)
	profile := builders.IOR().Block("8Mi").Direct()
	run := w.start(builders.Benchmark("b").Target("data").Clients(2).Processes(2).Load(profile.Engine()).Prepare("layout").
		Steady("read", "3s").WithLoad(profile.Reads().Engine()).Steady("meta", "1m").WithLoad(builders.Mdtest()))
	w.until(run, time.Minute, "at its second step", func() bool { return len(run.Status.Steps) > 1 && run.Status.Steps[1].StartTime != nil })
	w.stop()
	w.operate()
	w.until(run, time.Minute, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) || len(run.Status.Phases) != 3 {
		t.Fatalf("conditions %+v", run.Status.Conditions)
	}
	read := run.Status.Phases[1].Targets[0]
	if read.Clients != 2 || read.IOR == nil || read.IOR.Ranks != 4 || read.IOR.Clients != 2 || len(read.Operations) != 1 || read.Operations[0].Latency != nil {
		t.Errorf("read: %+v", read)
	}
	if meta := run.Status.Phases[2].Targets[0].Mdtest; meta == nil || len(meta.Rates) == 0 {
		t.Errorf("meta: %+v", meta)
	}
	w.clean()
}

// TestJobLosesClient: the loss of any client ends the job of all, soon and by its name, and onLoss is followed.
func TestJobLosesClient(t *testing.T) {
	withIOR(t)
	for name, c := range map[string]struct {
		policy v1alpha1.OnLoss
		pod    string
		client string
	}{
		"RestartStep, launcher": {v1alpha1.OnLossRestartStep, "run-data-0-1", "data/0"},
		"RestartStep, member":   {v1alpha1.OnLossRestartStep, "run-data-1-1", "data/1"},
		"FailRun, member":       {v1alpha1.OnLossFailRun, "run-data-1-1", "data/1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			profile := builders.IOR().Block("8Mi").Direct().Overwrites()
			run := w.start(builders.Benchmark("b").Target("data").Clients(2).Processes(2).Load(profile.Engine()).OnLoss(c.policy, 2).
				Prepare("layout").Steady("write", "8s"))
			w.until(run, time.Minute, "writing", func() bool {
				return len(run.Status.Steps) > 1 && run.Status.Steps[1].StartTime != nil && time.Since(run.Status.Steps[1].StartTime.Time) > 3*time.Second
			})
			must(t, w.kubelet.Kill(w.pod(c.pod).UID))
			killed := time.Now()
			w.until(run, time.Minute, "out of the step", func() bool {
				return run.Status.Steps[1].EndTime != nil || is(run, v1alpha1.ConditionFailed, metav1.ConditionTrue)
			})
			t.Logf("the step has ended %s after the kill", time.Since(killed).Round(10*time.Millisecond))
			// Ranks that go on without it are killed after 15 seconds.
			if took := time.Since(killed); took > 15*time.Second {
				t.Errorf("the step has ended %s after the kill", took)
			}
			w.until(run, 2*time.Minute, "over", over(run))
			if c.policy == v1alpha1.OnLossFailRun {
				if got := reason(run, v1alpha1.ConditionFailed); !strings.Contains(got, "ClientLost: ") || !strings.Contains(got, c.client) && !strings.Contains(got, "client 1") {
					t.Errorf("failed: %s", got)
				}
			} else if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || len(run.Status.LostClients) != 1 || run.Status.Phases[1].Targets[0].Clients != 2 {
				t.Errorf("conditions %+v, lost %+v", run.Status.Conditions, run.Status.LostClients)
			}
			w.clean()
		})
	}
}
