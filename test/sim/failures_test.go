package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/sim"
)

// even returns a store without credits.
func even() model.Config {
	return model.Config{Buckets: []model.Bucket{bytes("volume", 40e6, 0, 0, 0)}, Latency: model.Latency{Fixed: 2 * time.Millisecond}}
}

// usual returns a benchmark with three steps: a layout, writes and reads.
func usual() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("store").Clients(2).Workload(load(random, 0, "64Ki", 8).Dataset("16Mi")).Prepare("layout").
		Steady("write", "10s").Steady("read", "10s").With(load(random, 100, "64Ki", 8).Dataset("16Mi"))
}

// client returns the key of a client of the target "store".
func client(index int) decide.ClientKey { return decide.ClientKey{Target: "store", Index: index} }

// once checks that no attempt of a step began twice, that each attempt that succeeded had begun on each client, and
// that each step has an attempt that succeeded.
func once(t *testing.T, w *sim.World, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	begunOnce(t, w)
	succeeded := map[string]int{}
	for _, step := range run.Status.Steps {
		if step.State == v1alpha1.StepSucceeded {
			succeeded[step.ID]++
		}
		for index := range 2 {
			if name := fmt.Sprintf("%s#%d %s", step.ID, step.Attempt, client(index)); step.State == v1alpha1.StepSucceeded && w.House.Begun()[name] == 0 {
				t.Errorf("%s succeeded without having begun", name)
			}
		}
	}
	for _, step := range w.Plan.Steps {
		if succeeded[step.ID] == 0 {
			t.Errorf("step %s has no attempt that succeeded", step.ID)
		}
	}
}

// TestOperatorDies kills the operator at each of its actions, before and after the facts are stored. Its successor must
// continue the run: no attempt of a step starts twice, and the figures match the store's record.
func TestOperatorDies(t *testing.T) {
	operatorDies(t, usual, func(t *testing.T, w *sim.World, run *v1alpha1.BenchmarkRun) {
		t.Helper()
		once(t, w, run)
		exact(t, w, run)
	})
}

func operatorDies(t *testing.T, usual func() *builders.BenchmarkBuilder, check func(*testing.T, *sim.World, *v1alpha1.BenchmarkRun)) {
	t.Helper()
	actions := 0
	bubble(t, func(t *testing.T) {
		w := world(t, usual(), even(), 1)
		complete(t, conduct(t, w))
		actions = len(w.Actions)
	})
	if actions < 9 {
		t.Fatalf("the run has only %d actions", actions)
	}
	for at := range actions {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/stored=%t", at, stored), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T) {
					w := world(t, usual(), even(), 1)
					die := func(action decide.Action) bool {
						return action.Kind != decide.Wait && len(w.Actions) == at+1
					}
					if stored {
						w.Stored = die
					} else {
						w.Before = die
					}
					run := conduct(t, w)
					complete(t, run)
					check(t, w, run)
				})
			})
		}
	}
}

// during calls do when the step has been running for the given time.
func during(w *sim.World, step string, after time.Duration, do func()) {
	begun := false
	w.Stored = func(action decide.Action) bool {
		if !begun && action.Kind == decide.Start && action.Attempt.Step == step {
			begun = true
			time.AfterFunc(after, do)
		}
		return false
	}
}

// TestLoss kills a client in the middle of a step, with each policy. The run repeats the step, continues without the
// client, or fails.
func TestLoss(t *testing.T) {
	for _, test := range []struct {
		policy   v1alpha1.OnLoss
		stage    string
		attempts map[string]int32 // by step; other steps have one
		degraded bool
	}{
		{policy: v1alpha1.OnLossRestartStep, stage: v1alpha1.StageComplete, attempts: map[string]int32{"00-layout": 2, "02-read": 2}},
		{policy: v1alpha1.OnLossContinueDegraded, stage: v1alpha1.StageComplete, degraded: true},
		{policy: v1alpha1.OnLossFailRun, stage: v1alpha1.StageFailed},
	} {
		t.Run(string(test.policy), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := world(t, usual().OnLoss(test.policy, 2), even(), 1)
				during(w, "02-read", 4*time.Second, func() { w.House.Kill(client(1)) })
				run := conduct(t, w)
				if run.Status.Stage != test.stage || len(run.Status.LostClients) != 1 {
					t.Errorf("the run is %s (%s), lost %v", run.Status.Stage, run.Status.Message, run.Status.LostClients)
				}
				attempts := map[string]int32{}
				for _, step := range run.Status.Steps {
					attempts[step.ID] = max(attempts[step.ID], step.Attempt)
				}
				for _, step := range w.Plan.Steps {
					if want := max(1, test.attempts[step.ID]); attempts[step.ID] != want {
						t.Errorf("step %s had %d attempts, not %d", step.ID, attempts[step.ID], want)
					}
				}
				if test.stage != v1alpha1.StageComplete {
					return
				}
				read := run.Status.Phases[len(run.Status.Phases)-1].Targets[0]
				if clients := map[bool]int32{false: 2, true: 1}[test.degraded]; read.Clients != clients {
					t.Errorf("the result is of %d clients, not %d", read.Clients, clients)
				}
				if !test.degraded {
					once(t, w, run)
					// The figures must not include the lost attempt.
					for _, operation := range read.Operations {
						near(t, "read", float64(*operation.BytesPerSecond), 40e6)
					}
				}
			})
		})
	}
}

// TestUpgradedReplacement checks that a run warns if the replacement of a client has another version of fio.
func TestUpgradedReplacement(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := world(t, usual(), even(), 1)
		during(w, "02-read", 4*time.Second, func() {
			w.House.Upgrade("fio-3.43")
			w.House.Kill(client(1))
		})
		run := conduct(t, w)
		complete(t, run)
		const want = "a replacement client of target store has fio-3.43, but the run began with fio-3.42: " +
			"figures from before and after the replacement may differ"
		if all := run.Status.Warnings; len(all) != 1 || all[0].Message != want {
			t.Errorf("warnings %+v", all)
		}
	})
}

// TestLossOfSmallFiles kills a client while small files are read. Its replacement has no files, so they must be written
// again before the step is repeated.
func TestLossOfSmallFiles(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		files := builders.Fio().BlockSize("4Ki").Dataset("80000Ki").Jobs(4).Mutate(func(p *v1alpha1.FioProfile) {
			p.Pattern, p.QueueDepth, p.FilesPerJob = v1alpha1.FioSequential, nil, new(int32(5000))
		})
		phase := v1alpha1.Phase{Name: "files", SmallFiles: &v1alpha1.SmallFilesPhase{
			Operations: []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}}}
		w := world(t, builders.Benchmark("b").Target("store").Clients(2).Workload(files).Phase(phase), even(), 1)
		during(w, "00-001-files-read", 4*time.Second, func() { w.House.Kill(client(1)) })
		run := conduct(t, w)
		complete(t, run)
		once(t, w, run)
		if attempts := len(run.Status.Steps); attempts != 4 {
			t.Errorf("there were %d attempts, not two of each step: %+v", attempts, run.Status.Steps)
		}
	})
}

// TestOperatorDiesAfterLoss kills a client, which loses its data, during a step, and then the operator at any of its
// actions. The next operator must be able to repeat the layout before it hears from the other client, which is still
// running the step.
func TestOperatorDiesAfterLoss(t *testing.T) {
	for at := range 18 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := world(t, usual(), even(), 1)
				during(w, "02-read", 2*time.Second, func() { w.House.Kill(client(1)) })
				died := false
				w.Before = func(action decide.Action) bool {
					dies := !died && action.Kind != decide.Wait && len(w.Actions) == at+1
					died = died || dies
					return dies
				}
				run := conduct(t, w)
				complete(t, run)
				once(t, w, run)
			})
		})
	}
}

// exact compares the rates of steady phases with what the store answered in exactly the measured time, and checks the
// bytes of all steps with exactBytes.
func exact(t *testing.T, w *sim.World, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	exactBytes(t, w, run)
	store := w.House.Store("store")
	for _, phase := range run.Status.Phases {
		if phase.Kind != v1alpha1.PhaseSteady {
			continue
		}
		var measured time.Time
		for _, step := range run.Status.Steps {
			if strings.HasSuffix(step.ID, "-"+phase.Name) && step.MeasuredTime != nil {
				measured = step.MeasuredTime.Time
			}
		}
		target := phase.Targets[0]
		from, to := truth.Window(target, measured)
		sums := store.Between(from, to)
		for _, operation := range target.Operations {
			sum := sums[measure.Write]
			if operation.Operation == v1alpha1.OperationRead {
				sum = sums[measure.Read]
			}
			if operation.BytesPerSecond == nil {
				t.Errorf("%s has no rate: %+v", phase.Name, target.Warnings)
				continue
			}
			near(t, phase.Name+" bytes/s", float64(*operation.BytesPerSecond), float64(sum.Bytes)/to.Sub(from).Seconds())
			near(t, phase.Name+" IOPS", float64(*operation.IOPSMilli)/1000, float64(sum.Operations)/to.Sub(from).Seconds())
		}
	}
}

// exactBytes compares the bytes of all steps with all bytes that the store answered. For MPI jobs, up to 50 ms of I/O
// may be missing per step: the agent samples ranks at this interval, and does not see what they do after their last
// sample.
func exactBytes(t *testing.T, w *sim.World, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	var all int64
	for _, step := range run.Status.Steps {
		for _, io := range step.IO {
			all += io.Bytes
		}
	}
	var answered uint64
	for _, sum := range w.House.Store("store").Between(time.Time{}, time.Now()) {
		answered += sum.Bytes
	}
	unread := uint64(0)
	for _, phase := range run.Status.Phases {
		if run.Spec.Run.UsesMPI() && phase.Kind != v1alpha1.PhasePrepare {
			unread += 40e6 / 20
		}
	}
	if uint64(all) > answered || uint64(all)+unread < answered {
		t.Errorf("the steps have read and written %d bytes, the store answered %d", all, answered)
	}
}

// near fails the test if got differs from want by more than percent.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got < want*(1-percent/100) || got > want*(1+percent/100) {
		t.Errorf("%s is %g, not %g", what, got, want)
	}
}

// TestCutWire disconnects a client for less than the loss timeout. None of its I/O may be lost or counted twice.
func TestCutWire(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := world(t, usual(), even(), 1)
		during(w, "01-write", 2500*time.Millisecond, func() {
			w.House.Member(client(0)).Cut()
			time.AfterFunc(20*time.Second, w.House.Member(client(0)).Mend)
		})
		run := conduct(t, w)
		complete(t, run)
		once(t, w, run)
		exact(t, w, run)
		if len(run.Status.LostClients) > 0 || len(w.House.Begun()) != 6 {
			t.Errorf("lost %v, begun %v", run.Status.LostClients, w.House.Begun())
		}
	})
}

// TestCutForGood checks that a client that remains unreachable is replaced.
func TestCutForGood(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := world(t, usual(), even(), 1)
		during(w, "02-read", 2*time.Second, func() { w.House.Member(client(0)).Cut() })
		run := conduct(t, w)
		complete(t, run)
		once(t, w, run)
		if len(run.Status.LostClients) != 1 || !strings.Contains(run.Status.LostClients[0].Reason, "unreachable for 30") {
			t.Errorf("lost %+v", run.Status.LostClients)
		}
	})
}

// TestActiveDeadline checks that a run that exceeds its activeDeadline ends at that time and keeps its results.
func TestActiveDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		began := time.Now()
		w := world(t, usual().ActiveDeadline("21s"), even(), 1)
		run := conduct(t, w)
		if run.Status.Stage != v1alpha1.StageFailed || !strings.Contains(run.Status.Message, "activeDeadline") {
			t.Errorf("the run is %s: %s", run.Status.Stage, run.Status.Message)
		}
		for _, c := range run.Status.Conditions {
			if c.Type == v1alpha1.ConditionFailed && c.LastTransitionTime.Sub(began).Round(time.Second) != 21*time.Second {
				t.Errorf("it failed after %s", c.LastTransitionTime.Sub(began))
			}
		}
		if len(run.Status.Phases) < 2 {
			t.Errorf("there are results of %d phases", len(run.Status.Phases))
		}
	})
}

// TestCancelled checks that a cancelled run keeps what it has measured.
func TestCancelled(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := world(t, usual(), even(), 1)
		ctx, cancel := context.WithCancelCause(context.Background())
		during(w, "01-write", 5*time.Second, func() { cancel(fmt.Errorf("stopped by hand")) })
		run, err := w.Conduct(ctx)
		must(t, err)
		if run.Status.Stage != v1alpha1.StageFailed || run.Status.Message != "stopped by hand" || len(run.Status.Phases) != 2 {
			t.Errorf("the run is %s: %s, with %d phases", run.Status.Stage, run.Status.Message, len(run.Status.Phases))
		}
	})
}

// TestOrphans checks that agents exit when no operator has connected to them for the orphan timeout.
func TestOrphans(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := world(t, usual().Mutate(func(r *v1alpha1.RunSpec) { r.OrphanTimeout = "10m" }), even(), 1)
		w.Stored = func(action decide.Action) bool { return action.Kind == decide.Load && action.Attempt.Step == "02-read" }
		if err := w.OperateOnce(context.Background()); err == nil {
			t.Fatal("the operator has not died")
		}
		died := time.Now()
		for _, m := range w.House.Members() {
			left := m.Left()
			if after := left.Sub(died); after < 10*time.Minute || after > 10*time.Minute+2*time.Second {
				t.Errorf("an agent left %s after the operator died", after)
			}
			if !strings.Contains(m.Said(), "its load was stopped") {
				t.Errorf("it said %q", m.Said())
			}
		}
	})
}

// TestPlanAgainstRun checks that each step takes at least the time of its load and at most the planned time, and that
// the next step begins immediately.
func TestPlanAgainstRun(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := usual().Cooldown("pause", "30s").Ramp("ramp", v1alpha1.RampQueueDepth, "5s", 1, 2, 4)
		w := world(t, b, even(), 1)
		run := conduct(t, w)
		complete(t, run)
		begunOnce(t, w)
		planned := plan.Show(&run.Spec)
		var before time.Time
		for i, fact := range run.Status.Steps {
			step := planned.Steps[i]
			if fact.ID != step.ID {
				t.Fatalf("step %d is %s, not %s", i, fact.ID, step.ID)
			}
			if step.Duration > 0 {
				took, load := fact.EndTime.Sub(fact.StartTime.Time), step.WarmUp+step.Duration
				if took < load || took > step.Expected {
					t.Errorf("step %s took %s; its load lasts %s, and %s were planned for all of it", fact.ID, took, load, step.Expected)
				}
			}
			if gap := fact.StartTime.Sub(before); i > 0 && gap > 100*time.Millisecond {
				t.Errorf("%s passed before step %s", gap, fact.ID)
			}
			before = fact.EndTime.Time
		}
	})
}

// begunOnce checks that no attempt of a step began more than once.
func begunOnce(t *testing.T, w *sim.World) {
	t.Helper()
	for name, times := range w.House.Begun() {
		if times != 1 {
			t.Errorf("fio began %s %d times", name, times)
		}
	}
}
