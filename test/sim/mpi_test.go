package sim_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/sim"
)

const transferSize = 64 << 10

// ior returns an IOR workload with the given operations and a file of 1 MiB per rank.
func ior(operations ...v1alpha1.Operation) v1alpha1.Engine {
	return builders.IOR().Block("1Mi").Overwrites().Mutate(func(p *v1alpha1.IORProfile) {
		p.TransferSize.Set(transferSize)
		p.Operations = operations
	}).Engine()
}

// ranks returns a benchmark of IOR with three steps, and two clients with two ranks each.
func ranks() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("store").Clients(2).Processes(2).Load(ior(v1alpha1.OperationWrite)).Prepare("layout").
		Steady("write", "10s").Steady("read", "10s").WithLoad(ior(v1alpha1.OperationRead))
}

// sound checks that IOR's own figures, the samples and the store's record agree, and that the number of operations
// matches the number of transfers.
func sound(t *testing.T, w *sim.World, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	steps := map[string]v1alpha1.StepStatus{}
	for _, step := range run.Status.Steps {
		steps[step.ID[3:]] = step
	}
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			for _, operation := range target.Operations {
				if transfers := operation.Bytes / transferSize; operation.Operations > transfers || operation.Operations < transfers-2 {
					t.Errorf("%s: %d operations moved %d bytes, %d transfers", phase.Name, operation.Operations, operation.Bytes, transfers)
				}
			}
			for _, warning := range target.Warnings {
				if warning.Type == v1alpha1.WarningBytesUncertain || warning.Type == v1alpha1.WarningSamplesLost || warning.Type == v1alpha1.WarningResultIncomplete {
					t.Errorf("%s: %s: %s", phase.Name, warning.Type, warning.Message)
				}
			}
			if target.IOR == nil || target.IOR.Ranks != 4 || target.IOR.Clients != 2 || len(target.IOR.Operations) == 0 {
				t.Fatalf("%s: IOR says %+v", phase.Name, target.IOR)
			}
			step := steps[phase.Name]
			sums := w.House.Store("store").Between(step.StartTime.Time, step.EndTime.Time)
			if phase.Kind == v1alpha1.PhasePrepare && (len(step.IO) != 1 || uint64(step.IO[0].Bytes) != sums[measure.Write].Bytes) {
				t.Errorf("%s: %+v, the store has answered %+v", phase.Name, step.IO, sums)
			}
			for _, own := range target.IOR.Operations {
				sum := sums[measure.Write]
				if own.Operation == v1alpha1.OperationRead {
					sum = sums[measure.Read]
				}
				// IOR does not report the repetition during which a drain is stopped.
				if unfinished := sum.Bytes - uint64(own.Bytes); unfinished != 0 && (phase.Kind != v1alpha1.PhaseBurstDrain || unfinished > 4<<20) {
					t.Errorf("%s: IOR says %d bytes, the store has answered %d", phase.Name, own.Bytes, sum.Bytes)
				}
			}
		}
	}
}

// TestIOR runs IOR in a drain, where it writes and reads in turn until the credits end, and then in a read-only phase.
// All figures must match the store's record.
func TestIOR(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := builders.Benchmark("b").Target("store").Clients(2).Processes(2).Load(ior(v1alpha1.OperationWrite, v1alpha1.OperationRead)).Prepare("layout").
			BurstDrain("burst", "1m", "30m").Steady("read", "1m").WithLoad(ior(v1alpha1.OperationRead))
		w := world(t, b, facts(), 1)
		run := conduct(t, w)
		complete(t, run)
		begunOnce(t, w)
		sound(t, w, run)
		if left := w.House.Processes(); left > 0 {
			t.Errorf("%d processes are left", left)
		}
		rows := truth.Compare(w.House.Record("store"), facts(), run.Status)
		if len(rows) < 7 {
			t.Error("not all was compared")
		}
		for _, row := range rows {
			if row.Off(percent) {
				t.Errorf("%s, %s: %g, and the truth is %g (%+.2f %%)", row.Phase, row.Figure, row.Ours, row.Truth, row.OffPercent())
			}
		}
		t.Log("\n" + truth.Table(rows))
		burst := run.Status.Phases[1].Targets[0]
		if burst.Burst == nil || !burst.Burst.Exhausted || len(burst.Operations) != 2 {
			t.Fatalf("the drain found %+v in %+v", burst.Burst, burst.Operations)
		}
		read := run.Status.Phases[2].Targets[0]
		near(t, "IOR's own bandwidth", float64(read.IOR.Operations[0].MeanBytesPerSecond), float64(*read.Operations[0].BytesPerSecond))
	})
}

// TestMPIOperatorDies is TestOperatorDies with MPI jobs.
func TestMPIOperatorDies(t *testing.T) {
	operatorDies(t, ranks, func(t *testing.T, w *sim.World, run *v1alpha1.BenchmarkRun) {
		t.Helper()
		once(t, w, run)
		exact(t, w, run)
		sound(t, w, run)
	})
}

// TestMPILoss kills the head of an MPI job or another member in the middle of a step, with each policy that MPI jobs
// support.
func TestMPILoss(t *testing.T) {
	for _, policy := range []v1alpha1.OnLoss{v1alpha1.OnLossRestartStep, v1alpha1.OnLossFailRun} {
		for _, gone := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s/client %d", policy, gone), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T) {
					w := world(t, ranks().OnLoss(policy, 2), even(), 1)
					during(w, "02-read", 4*time.Second, func() { w.House.Kill(client(gone)) })
					run := conduct(t, w)
					if lost := run.Status.LostClients; len(lost) != 1 || int(lost[0].Client) != gone {
						t.Errorf("lost %+v", lost)
					}
					if left := w.House.Processes(); left > 0 {
						t.Errorf("%d processes are left", left)
					}
					if policy == v1alpha1.OnLossFailRun {
						if run.Status.Stage != v1alpha1.StageFailed || !strings.Contains(run.Status.Message, fmt.Sprintf("client store/%d", gone)) {
							t.Errorf("the run is %s: %s", run.Status.Stage, run.Status.Message)
						}
						return
					}
					complete(t, run)
					once(t, w, run)
					sound(t, w, run)
					attempts := map[string]int32{}
					for _, step := range run.Status.Steps {
						attempts[step.ID] = max(attempts[step.ID], step.Attempt)
					}
					if want := map[string]int32{"00-layout": 2, "01-write": 1, "02-read": 2}; !maps.Equal(attempts, want) {
						t.Errorf("the steps had %v attempts, want %v", attempts, want)
					}
					for _, operation := range run.Status.Phases[2].Targets[0].Operations {
						near(t, "read", float64(*operation.BytesPerSecond), 40e6)
					}
				})
			})
		}
	}
	_, problems := plan.Make(ranks().OnLoss(v1alpha1.OnLossContinueDegraded, 2).Run(), 1)
	if len(problems) == 0 {
		t.Error("the plan allows an MPI job to continue without a client")
	}
}

// TestMPICutWire disconnects the operator from the head of an MPI job for less than the loss timeout. The run must not
// lose the client or any I/O.
func TestMPICutWire(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := world(t, ranks(), even(), 1)
		during(w, "01-write", 2500*time.Millisecond, func() {
			w.House.Member(client(0)).CutOperator()
			time.AfterFunc(20*time.Second, w.House.Member(client(0)).Mend)
		})
		run := conduct(t, w)
		complete(t, run)
		once(t, w, run)
		exact(t, w, run)
		sound(t, w, run)
		if len(run.Status.LostClients) > 0 || len(w.House.Begun()) != 6 {
			t.Errorf("lost %v, begun %v", run.Status.LostClients, w.House.Begun())
		}
	})
}

// TestMPIActiveDeadline checks that an MPI job ends at the run's activeDeadline: its I/O counts, and no rank remains.
func TestMPIActiveDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := world(t, ranks().ActiveDeadline("21s"), even(), 1)
		run := conduct(t, w)
		if run.Status.Stage != v1alpha1.StageFailed || !strings.Contains(run.Status.Message, "activeDeadline") || len(run.Status.Phases) < 2 {
			t.Errorf("the run is %s: %s, with %d phases", run.Status.Stage, run.Status.Message, len(run.Status.Phases))
		}
		if left := w.House.Processes(); left > 0 {
			t.Errorf("%d processes are left", left)
		}
		exactBytes(t, w, run)
	})
}

// TestMdtest checks that the rates of mdtest match those at which the store answered.
func TestMdtest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := builders.Benchmark("b").Target("store").Clients(2).Processes(2).Load(builders.Mdtest()).Steady("files", "10m")
		b.Mutate(func(r *v1alpha1.RunSpec) { r.Workload.Mdtest.FilesPerProcess = 5000 })
		config := even()
		config.Buckets = append(config.Buckets, operations("operations", 500, 0, 0))
		w := world(t, b, config, 1)
		began := time.Now()
		run := conduct(t, w)
		complete(t, run)
		found := run.Status.Phases[0].Targets[0]
		if found.Mdtest == nil || found.Mdtest.Ranks != 4 {
			t.Fatalf("mdtest says %+v", found.Mdtest)
		}
		rates := map[string]int64{}
		for _, rate := range found.Mdtest.Rates {
			rates[rate.Operation] = rate.MeanOPSMilli
		}
		near(t, "File creation", float64(rates["File creation"])/1000, 500)
		near(t, "File read", float64(rates["File read"])/1000, 500)
		near(t, "File stat", float64(rates["File stat"])/1000, 4/0.0004)
		sums := w.House.Store("store").Between(began, time.Now())
		for _, operation := range found.Operations {
			of := map[v1alpha1.Operation]measure.Operation{v1alpha1.OperationRead: measure.Read, v1alpha1.OperationWrite: measure.Write}[operation.Operation]
			if sum := sums[of]; uint64(operation.Bytes) != sum.Bytes || sum.Operations != 20_000 {
				t.Errorf("%s: %d bytes, the store has answered %+v", operation.Operation, operation.Bytes, sum)
			}
		}
	})
}

// TestMdtestDeadline checks that the run fails if mdtest does not complete within its phase, and that no rank remains.
func TestMdtestDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := builders.Benchmark("b").Target("store").Clients(2).Processes(2).Load(builders.Mdtest()).Steady("files", "10s")
		b.Mutate(func(r *v1alpha1.RunSpec) { r.Workload.Mdtest.FilesPerProcess = 5000 })
		config := even()
		config.Buckets = append(config.Buckets, operations("operations", 500, 0, 0))
		w := world(t, b, config, 1)
		run := conduct(t, w)
		if run.Status.Stage != v1alpha1.StageFailed || !strings.Contains(run.Status.Message, "deadline passed") || w.House.Processes() > 0 {
			t.Errorf("the run is %s: %s; left %d", run.Status.Stage, run.Status.Message, w.House.Processes())
		}
		exactBytes(t, w, run)
	})
}
