package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/cluster/burst"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/stillness"
)

// lustre is a store that bursts for 23 seconds. It compresses data by ratio before it counts bytes. In a burst half as
// long, the second in which the ranks start one after the other would account for 3 %.
func lustre(ratio float64) model.Config {
	return model.Config{
		Scenario: fmt.Sprintf("a bucket of 520 MB, 30 and 8 MB/s, on data that compresses %g to 1", ratio),
		Buckets: []model.Bucket{{Name: "network", Counts: model.CountsBytes, BaselinePerSecond: 8e6, BurstPerSecond: 30e6, Size: 520e6,
			CompressionRatio: ratio}},
		Latency: model.Latency{Fixed: time.Millisecond, Jitter: 500 * time.Microsecond},
	}
}

// TestMPI runs a job in four pods with two ranks each on two stores, one of which compresses. The figures of the run
// must agree with the records of the stores.
func TestMPI(t *testing.T) {
	soak.Only(t)
	s, image := newMPISpace(t)
	stores := map[string]*burst.Mounted{"none": s.burstClaim("none", lustre(1)), "lz4": s.burstClaim("lz4", lustre(2))}
	s.apply(mpiBenchmark(image, directIOR("16Mi"), "none", "lz4").Prepare("layout").
		BurstDrain("burst", "20s", "90s").WithLoad(directIOR("16Mi").Overwrites().Engine()).
		Steady("read", "15s").WarmUp("1s").WithLoad(directIOR("16Mi").Reads().Engine()).
		Steady("metadata", "1m").WithLoad(builders.Mdtest()).Obj())
	s.atWork("01-burst", 16)
	for _, pod := range s.pods() {
		checkPod(s, &pod)
	}
	run := s.ended(10 * time.Minute)
	time.Sleep(time.Second) // until the second in which the run ended is complete
	s.log(run)
	isComplete(t, run)
	for name, store := range stores {
		checkMPITarget(s, store, run, name)
		s.allBytes(store, run, name)
	}
	if environments := run.Status.Environments; len(environments) == 0 || environments[0].Clients != 4 {
		t.Errorf("the clients are %+v", environments)
	}
	s.clean()
}

// checkMPITarget compares the figures of a target and IOR's own figures with the record of the target's store.
func checkMPITarget(s *space, store *burst.Mounted, run *v1alpha1.BenchmarkRun, name string) {
	s.Helper()
	record := store.Truth()
	config := lustre(map[string]float64{"none": 1, "lz4": 2}[name])

	from, to := loadOf(s, record, run, "01-burst")
	if step := stepOf(run, "01-burst"); step.ConcludedTime != nil {
		to = step.ConcludedTime.Time
	}
	drained := record.Drain(config, record.Start, from, to)
	target := targetOf(s, run, "burst", name)
	switch {
	case target.Burst == nil || !target.Burst.Exhausted || target.Burst.Bytes == nil || target.Burst.Bytes.Burst == nil || target.Burst.Bytes.Baseline == nil:
		s.Errorf("%s: the burst was not found: %+v", name, target.Burst)
	case drained.Bucket == "":
		s.Errorf("%s: the store had credits to the end", name)
	default:
		s.near(name+": burst", float64(target.Burst.Bytes.Burst.Value), drained.Burst, mpiOffPercent)
		s.near(name+": baseline", float64(target.Burst.Bytes.Baseline.Value), drained.Baseline, mpiOffPercent)
	}
	isIOR(s, target, v1alpha1.OperationWrite)

	target = targetOf(s, run, "read", name)
	from, to = loadOf(s, record, run, "02-read")
	if len(target.Operations) != 1 || target.Operations[0].BytesPerSecond == nil || target.Operations[0].Operation != v1alpha1.OperationRead {
		s.Fatalf("%s: the reads are %+v", name, target.Operations)
	}
	s.near(name+": reads", float64(*target.Operations[0].BytesPerSecond), bandwidth(record, from, to), mpiOffPercent)
	own := isIOR(s, target, v1alpha1.OperationRead)
	// IOR has no warm-up: its figure includes the credits that the store regained in the pause before.
	whole := record.Between(from, to)
	s.near(name+": reads by IOR", float64(own.MeanBytesPerSecond), whole.ReadBytes/to.Sub(from).Seconds(), 5)

	target = targetOf(s, run, "metadata", name)
	if target.Mdtest == nil || target.Mdtest.Ranks != 8 || len(target.Mdtest.CommandLine) == 0 || target.Mdtest.CommandLine[0] != "mdtest" {
		s.Fatalf("%s: mdtest says %+v", name, target.Mdtest)
	}
	rates := map[string]int64{}
	for _, rate := range target.Mdtest.Rates {
		rates[rate.Operation] = rate.MeanOPSMilli
	}
	for _, operation := range []string{"File creation", "File stat", "File read", "File removal", "Tree creation", "Tree removal"} {
		if rates[operation] <= 0 {
			s.Errorf("%s: mdtest has no rate of %q: %v", name, operation, rates)
		}
	}
}

// isIOR checks IOR's own part of a result, and returns its figures of the operation.
func isIOR(s *space, target v1alpha1.TargetResult, operation v1alpha1.Operation) v1alpha1.IOROperation {
	s.Helper()
	own := target.IOR
	if own == nil || own.Ranks != 8 || own.Clients != 4 || own.API != "POSIX" || own.Version == "" || own.MPIVersion == "" {
		s.Fatalf("target %s: IOR says %+v", target.Target, own)
	}
	if line := strings.Join(own.CommandLine, " "); !strings.HasPrefix(line, "ior -a POSIX -t 256k -b 16m ") || !strings.Contains(line, "--posix.odirect") {
		s.Errorf("target %s: the command line is %q", target.Target, line)
	}
	if len(own.Operations) != 1 || own.Operations[0].Operation != operation || own.Operations[0].Count < 1 {
		s.Fatalf("target %s: IOR's operations are %+v", target.Target, own.Operations)
	}
	for _, repetition := range own.Operations[0].Repetitions {
		if repetition.Bytes <= 0 || repetition.TotalNanoseconds <= 0 || repetition.BytesEstimated {
			s.Errorf("target %s: repetition %+v", target.Target, repetition)
		}
	}
	return own.Operations[0]
}

// TestMPIStart bounds the time from the start of a step to the first request of a rank, with eight clients.
func TestMPIStart(t *testing.T) {
	soak.Only(t)
	s, image := newMPISpace(t)
	still := stillness.During(t)
	store := s.burstClaim("data", lustre(1))
	benchmark := mpiBenchmark(image, directIOR("4Mi"), "data").Clients(8).Processes(1).Prepare("layout")
	const steps = 5
	for i := range steps {
		benchmark.Steady(fmt.Sprintf("write-%d", i+1), "3s").WithLoad(directIOR("4Mi").Overwrites().Engine())
	}
	s.apply(benchmark.Obj())
	run := s.ended(5 * time.Minute)
	time.Sleep(time.Second)
	isComplete(t, run)
	record := store.Truth()
	var delays []time.Duration
	for i := range steps {
		id := fmt.Sprintf("%02d-write-%d", i+1, i+1)
		first, _ := loadOf(s, record, run, id)
		delays = append(delays, first.Sub(stepOf(run, id).StartTime.Time))
	}
	soak.Report(t, "From the start of a step to the first I/O of eight MPI ranks in eight pods", "median %s of %v", median(delays).Round(time.Millisecond), rounded(delays))
	s.clean()
	within(t, still, "the median start", median(delays), 2*time.Second)
}

// TestMPIStop checks that a stopped job leaves no process, both in pods that the run continues to use and after the run
// is deleted.
func TestMPIStop(t *testing.T) {
	soak.Only(t)
	const times = 20
	t.Run("steps that are ended from outside", func(t *testing.T) {
		s, image := newMPISpace(t)
		s.burstClaim("data", lustre(1))
		for left := times; left > 0; left -= 10 { // a run has at most 32 phases
			stopDrains(s, image, min(left, 10))
		}
	})
	t.Run("runs that are deleted", func(t *testing.T) {
		s, image := newMPISpace(t)
		s.burstClaim("data", lustre(1))
		for i := range times {
			s.apply(mpiBenchmark(image, directIOR("4Mi"), "data").Prepare("layout").
				Steady("write", "5m").WithLoad(directIOR("4Mi").Overwrites().Engine()).Obj())
			pods := s.atWork("01-write", 8)
			deleted := deletions[1]
			deleted.do(s)
			s.gone(deleted, wholeRun)
			s.noRanks(fmt.Sprintf("run %d is deleted", i), pods)
		}
	})
}

// stopDrains runs drains that are stopped before the job ends. A pause in the same pods follows each.
func stopDrains(s *space, image string, count int) {
	s.Helper()
	benchmark := mpiBenchmark(image, directIOR("4Mi"), "data").Prepare("layout")
	for i := range count {
		// A drain is long enough for all ranks to start and be seen, and a pause for the inspection of what is left.
		benchmark.BurstDrain(fmt.Sprintf("drain-%d", i), "8s", "10s").WithLoad(directIOR("4Mi").Overwrites().Engine()).
			Cooldown(fmt.Sprintf("idle-%d", i), "4s")
	}
	s.apply(benchmark.Obj())
	for i := range count {
		pods := s.atWork(fmt.Sprintf("%02d-drain-%d", 1+2*i, i), 8)
		idle := fmt.Sprintf("%02d-idle-%d", 2+2*i, i)
		s.until("step "+idle+" has begun", wholeRun, func() bool { return stepOf(s.run(), idle) != nil })
		s.noRanks(fmt.Sprintf("drain %d is over, and its pods are idle", i), pods)
	}
	s.ended(wholeRun)
	deletions[1].do(s)
	s.gone(deletions[1], wholeRun)
}

// TestMPILoss kills a client during a step. The job must end at once and name the client, and the run must follow
// onLoss. Client 0 is the one that runs mpirun.
func TestMPILoss(t *testing.T) {
	soak.Only(t)
	for _, test := range []struct {
		policy v1alpha1.OnLoss
		client int32
	}{
		{v1alpha1.OnLossRestartStep, 2}, {v1alpha1.OnLossFailRun, 1}, {v1alpha1.OnLossRestartStep, 0},
	} {
		t.Run(fmt.Sprintf("%s, client %d", test.policy, test.client), func(t *testing.T) {
			s, image := newMPISpace(t)
			still := stillness.During(t)
			s.burstClaim("data", lustre(1))
			s.apply(mpiBenchmark(image, directIOR("4Mi"), "data").OnLoss(test.policy, 2).Prepare("layout").
				Steady("write", "10s").WithLoad(directIOR("4Mi").Overwrites().Engine()).Obj())
			pods := s.atWork("01-write", 8)
			run := s.run()
			pod := &corev1.Pod{}
			if !s.get(fmt.Sprintf("%s-data-%d-1", run.Name, test.client), pod) {
				t.Fatalf("there is no pod of client %d", test.client)
			}
			killed := time.Now()
			must(t, syscall.Kill(agentProcess(t, pod), syscall.SIGKILL))
			var failed v1alpha1.StepStatus
			s.until("the step has ended", 30*time.Second, func() bool {
				for _, step := range s.run().Status.Steps {
					// An earlier attempt may have failed because its start command came too late.
					if step.ID == "01-write" && step.State == v1alpha1.StepFailed && step.EndTime != nil && step.EndTime.After(killed) {
						failed = step
						return true
					}
				}
				return false
			})
			t.Logf("the step ended: %s", failed.Message)
			s.until("no rank of the failed attempt is left in the other pods", 20*time.Second, func() bool {
				if test.policy == v1alpha1.OnLossRestartStep && stepOf(s.run(), "01-write").Attempt > failed.Attempt {
					return true // the processes are those of the next attempt
				}
				return len(processesOf(t, pods)) == 0
			})
			run = s.ended(wholeRun)
			if len(run.Status.LostClients) != 1 || run.Status.LostClients[0].Client != test.client || run.Status.LostClients[0].Step != "01-write" {
				t.Errorf("lost clients %+v", run.Status.LostClients)
			}
			if test.policy == v1alpha1.OnLossFailRun {
				want := fmt.Sprintf("True ClientLost: client data/%d was lost", test.client)
				if got := told(run.Status.Conditions, v1alpha1.ConditionFailed); !strings.HasPrefix(got, want) {
					t.Errorf("Failed is %s, want %s", got, want)
				}
			} else {
				isComplete(t, run)
				if got := targetOf(s, run, "write", "data"); got.IOR == nil || got.IOR.Ranks != 8 {
					t.Errorf("the repeated step has %+v", got.IOR)
				}
			}
			s.clean()
			within(t, still, fmt.Sprintf("the end of the step after client %d was killed", test.client), failed.EndTime.Sub(killed), 5*time.Second)
		})
	}
}

// bandwidth returns the bytes per second of a store in the middle of a load, where all ranks are active.
func bandwidth(record truth.Record, from, to time.Time) float64 {
	from, to = from.Add(2*time.Second), to.Add(-2*time.Second)
	sums := record.Between(from, to)
	return (sums.ReadBytes + sums.WriteBytes) / to.Sub(from).Seconds()
}

// atWork waits until all ranks of a job run, and returns their pods.
func (s *space) atWork(step string, ranks int) []corev1.Pod {
	s.Helper()
	s.busy(step)
	var pods []corev1.Pod
	s.until(fmt.Sprintf("%d ranks are at work", ranks), time.Minute, func() bool {
		pods = s.pods()
		count := 0
		for _, process := range processesOf(s.T, pods) {
			if process.program == "ior" {
				count++
			}
		}
		return count == ranks
	})
	return pods
}
