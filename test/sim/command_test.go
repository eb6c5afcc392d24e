package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/sim"
)

// copies returns a benchmark of a command on two clients: a setup that writes 64 MiB, and a program with the given
// arguments.
func copies(words ...string) *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("store").Clients(2).
		Load(v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Setup: []string{"load", "write=67108864"}, Command: append([]string{"load"}, words...)}}).
		Prepare("setup").Steady("copy", "5m")
}

// TestCommand checks that the figures of a program count only I/O that the store has answered, although half of the
// program's reads come from the page cache.
func TestCommand(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := world(t, copies("cached=104857600", "read=104857600", "write=52428800", "say=done"), even(), 1)
		run := conduct(t, w)
		complete(t, run)
		copied := run.Status.Phases[1].Targets[0]
		if of := copied.Command; of == nil || of.ExitCode != 0 || of.CutShort || of.Source != v1alpha1.SourceControlGroup {
			t.Fatalf("the command is %+v", copied.Command)
		}
		for _, source := range copied.Command.Sources {
			want := map[v1alpha1.CommandSource]int64{v1alpha1.SourceControlGroup: 200 << 20, v1alpha1.SourceCalls: 400 << 20, v1alpha1.SourceStorage: 200 << 20}
			if source.ReadBytes != want[source.Source] || source.WriteBytes != 100<<20 {
				t.Errorf("by %s it read %d bytes and wrote %d", source.Source, source.ReadBytes, source.WriteBytes)
			}
		}
		var answered uint64
		for _, sum := range w.House.Store("store").Between(time.Time{}, time.Now()) {
			answered += sum.Bytes
		}
		if answered != (128+300)<<20 {
			t.Errorf("the store answered %d bytes", answered)
		}
		// Two clients read and write 150 MiB each, and share 40 MB/s.
		near(t, "the duration", float64(copied.Command.DurationNanoseconds)/1e9, 300<<20/40e6)
		for _, operation := range copied.Operations {
			if want := map[v1alpha1.Operation]int64{v1alpha1.OperationRead: 200, v1alpha1.OperationWrite: 100}[operation.Operation]; operation.Bytes != want<<20 || operation.Operations != want {
				t.Errorf("%s: %d bytes in %d operations", operation.Operation, operation.Bytes, operation.Operations)
			}
		}
	})
}

// TestCommandFails checks that a program that fails also fails the run, with the program's last output as the reason,
// unless its exit code is in successExitCodes.
func TestCommandFails(t *testing.T) {
	t.Parallel()
	for name, codes := range map[string][]int32{"fails": nil, "succeeds": {0, 12}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				b := copies("read=67108864", "say=nothing to do", "exit=12")
				b.Mutate(func(r *v1alpha1.RunSpec) { r.Workload.Command.SuccessExitCodes = codes })
				w := world(t, b, even(), 1)
				run := conduct(t, w)
				exactBytes(t, w, run)
				switch {
				case codes != nil:
					complete(t, run)
					if of := run.Status.Phases[1].Targets[0].Command; of == nil || of.ExitCode != 12 {
						t.Errorf("the command is %+v", of)
					}
				case run.Status.Stage != v1alpha1.StageFailed || !strings.Contains(run.Status.Message, "load ended with exit code 12: nothing to do"):
					t.Errorf("the run is %s: %s", run.Status.Stage, run.Status.Message)
				}
			})
		})
	}
}

// TestCommandLoss kills a client in the middle of its program. Depending on the policy, the step is repeated, the run
// continues without the client, or the run fails. The setup serves as the layout: it runs again because the client's
// data is lost, and once more before the repeated step.
func TestCommandLoss(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy  v1alpha1.OnLoss
		stage   string
		clients int32
		bytes   int64
		setups  uint64
	}{
		{v1alpha1.OnLossRestartStep, v1alpha1.StageComplete, 2, 400 << 20, 6},
		{v1alpha1.OnLossContinueDegraded, v1alpha1.StageComplete, 1, 200 << 20, 2},
		{v1alpha1.OnLossFailRun, v1alpha1.StageFailed, 0, 0, 2},
	} {
		t.Run(string(test.policy), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := world(t, copies("read=209715200").OnLoss(test.policy, 2), even(), 1)
				during(w, "01-copy", 4*time.Second, func() { w.House.Kill(client(1)) })
				run := conduct(t, w)
				if run.Status.Stage != test.stage || len(run.Status.LostClients) != 1 || w.House.Processes() > 0 {
					t.Errorf("the run is %s (%s), lost %v, left %d", run.Status.Stage, run.Status.Message, run.Status.LostClients, w.House.Processes())
				}
				if written := w.House.Store("store").Between(time.Time{}, time.Now())[measure.Write].Bytes; written != test.setups*64<<20 {
					t.Errorf("%d bytes were written, %d by each of %d setups", written, 64<<20, test.setups)
				}
				if test.clients == 0 {
					return
				}
				copied := run.Status.Phases[1].Targets[0]
				if copied.Clients != test.clients || len(copied.Operations) != 1 || copied.Operations[0].Bytes != test.bytes {
					t.Errorf("%d clients, %+v", copied.Clients, copied.Operations)
				}
			})
		})
	}
}

// TestCommandDeadline checks that a program that exceeds its phase's duration is terminated then, and that its I/O
// until then counts.
func TestCommandDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := copies("read=1073741824000")
		b.Mutate(func(r *v1alpha1.RunSpec) { r.Phases[1].Steady.Duration = "20s" })
		w := world(t, b, even(), 1)
		run := conduct(t, w)
		exactBytes(t, w, run)
		if len(run.Status.Phases) != 2 || w.House.Processes() > 0 {
			t.Fatalf("the run is %s (%s), with %d phases; left %d", run.Status.Stage, run.Status.Message, len(run.Status.Phases), w.House.Processes())
		}
		copied := run.Status.Phases[1].Targets[0]
		if copied.Command == nil || !copied.Command.CutShort || len(copied.Operations) != 1 {
			t.Fatalf("the command is %+v: %+v", copied.Command, copied.Operations)
		}
		near(t, "what it has read", float64(copied.Operations[0].Bytes), 20*40e6)
	})
}

// TestCommandOperatorDies is TestOperatorDies with a command. The bytes that the store has answered prove that no
// program ran twice. An attempt that began too late is repeated after its setup.
func TestCommandOperatorDies(t *testing.T) {
	words := func() *builders.BenchmarkBuilder { return copies("read=67108864", "write=67108864") }
	operatorDies(t, words, func(t *testing.T, w *sim.World, run *v1alpha1.BenchmarkRun) {
		t.Helper()
		var answered uint64
		for _, sum := range w.House.Store("store").Between(time.Time{}, time.Now()) {
			answered += sum.Bytes
		}
		attempts := run.Status.Steps[len(run.Status.Steps)-1].Attempt
		if want := uint64(2+attempts) * 128 << 20; answered != want {
			t.Errorf("the store answered %d bytes, not %d, in %d attempts", answered, want, attempts)
		}
		for _, operation := range run.Status.Phases[1].Targets[0].Operations {
			if operation.Bytes != 128<<20 {
				t.Errorf("%s: %d bytes", operation.Operation, operation.Bytes)
			}
			near(t, "bytes/s", float64(*operation.BytesPerSecond), 20e6)
		}
	})
}
