package benchmarkrun

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/standinior"
)

// withIOR returns a PATH with an ior and an mdtest, which may be stand-ins.
func withIOR(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, file := range map[string]string{"ior": standinior.Program(t), "mdtest": standinior.Mdtest(t)} {
		must(t, os.Symlink(file, filepath.Join(folder, name)))
	}
	return "PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH")
}

// withGatedMdtest is like withIOR, but each rank of mdtest first waits at the gate, identified by its rank number.
func withGatedMdtest(t *testing.T, g gate) string {
	t.Helper()
	path := withIOR(t)
	folder, _, _ := strings.Cut(strings.TrimPrefix(path, "PATH="), string(os.PathListSeparator))
	mdtest := filepath.Join(folder, "mdtest")
	must(t, os.Remove(mdtest))
	script := fmt.Sprintf(`#!/bin/sh
if [ -n "$OMPI_COMM_WORLD_RANK" ]; then
	touch "%[1]s/entered-$OMPI_COMM_WORLD_RANK"
	: <"%[1]s/open"
fi
exec "%[2]s" "$@"
`, g.folder, standinior.Mdtest(t))
	must(t, os.WriteFile(mdtest, []byte(script), 0o755)) // #nosec G306 -- a program
	return path
}

// TestRunOverMPI checks that a run of two clients over MPI completes with the figures of IOR and mdtest, although the
// operator restarts in the middle.
func TestRunOverMPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withIOR(t))
	profile := builders.IOR().Block("8Mi").Direct()
	run := w.start(builders.Benchmark("b").Target("data").Clients(2).Processes(2).Load(profile.Engine()).Prepare("layout").
		Steady("read", "3s").WithLoad(profile.Reads().Engine()).Steady("meta", "1m").WithLoad(builders.Mdtest()))
	w.until(run, "at its second step", func() bool { return len(run.Status.Steps) > 1 && run.Status.Steps[1].StartTime != nil })
	w.stop()
	w.operate()
	w.until(run, "over", over(run))
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

// TestJobLosesClient checks that losing any client ends the MPI job on all clients, that the message names the lost
// client, and that the run follows onLoss.
func TestJobLosesClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy v1alpha1.OnLoss
		pod    string
		client string
	}{
		"RestartStep, launcher": {v1alpha1.OnLossRestartStep, "run-data-0-1", "data/0"},
		"FailRun, member":       {v1alpha1.OnLossFailRun, "run-data-1-1", "data/1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := newGate(t)
			w := newWorld(t, withGatedMdtest(t, gate))
			profile := builders.IOR().Block("8Mi").Direct()
			run := w.start(builders.Benchmark("b").Target("data").Clients(2).Processes(2).Load(profile.Engine()).OnLoss(c.policy, 2).
				Prepare("layout").Steady("write", "10m").WithLoad(builders.Mdtest()))
			gate.waitFor(w, run, 0, 1, 2, 3) // the ranks of the job
			must(t, w.kubelet.Kill(w.pod(c.pod).UID))
			// The remaining ranks would wait at the gate for ten minutes.
			w.until(run, "out of the step", func() bool {
				return is(run, v1alpha1.ConditionFailed, metav1.ConditionTrue) || slices.ContainsFunc(run.Status.Steps, func(step v1alpha1.StepStatus) bool {
					return step.ID == "01-write" && step.EndTime != nil
				})
			})
			gate.open(t)
			w.until(run, "over", over(run))
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
