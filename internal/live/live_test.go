package live

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/golden"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(offset time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: start.Add(offset)} }

const benchmark = `
apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: file-server}
spec:
  run:
    targets:
    - name: share
      volumes: [{name: data, claimName: share}]
      documented: {throughput: {baseline: 25M, burst: 170M, bucket: 50G}}
    clients: {count: 4, spread: Any}
    workload:
      fio: {pattern: Random, readPercent: 30, blockSize: 1Mi, queueDepth: 32, datasetSize: 8Gi}
    phases:
    - {name: layout, prepare: {}}
    - {name: burst, burstDrain: {minDuration: 2m, maxDuration: 6h}}
    - {name: baseline, steady: {duration: 15m, warmUp: 30s}}
    - {name: recover, cooldown: {duration: 10m}}
    - {name: matrix, sweep: {axes: {jobs: [1, 2], blockSize: [64Ki, 1Mi]}, regime: Any, stepDuration: 20s}}
`

// world returns a run of the benchmark whose first done steps have ended and whose next one is running.
func world(t testing.TB, done int, change func(*v1alpha1.BenchmarkRun)) (*v1alpha1.BenchmarkRun, *plan.Plan) {
	t.Helper()
	objects, err := admission.Decode([]byte(benchmark))
	if err != nil {
		t.Fatal(err)
	}
	spec := &objects[0].Benchmark.Spec.Run
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "file-server-1a2b3c4d"}}
	run.Spec.BenchmarkRef.Name, run.Spec.Run = "file-server", *spec
	run.Status.Stage, run.Status.StartTime = v1alpha1.StageRunning, at(0)
	clock := 3 * time.Second
	for i := range done {
		fact := v1alpha1.StepStatus{ID: planned.Steps[i].ID, Attempt: 1, State: v1alpha1.StepSucceeded, StartTime: at(clock)}
		clock += 4 * time.Minute
		fact.EndTime = at(clock)
		run.Status.Steps = append(run.Status.Steps, fact)
		clock += time.Second
	}
	if done < len(planned.Steps) {
		run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: planned.Steps[done].ID, Attempt: 1, State: v1alpha1.StepRunning, StartTime: at(clock)})
		run.Status.Live = figures(planned.Steps[done].ID)
	}
	change(run)
	return run, &planned
}

// figures returns the figures of a step after two minutes: 160 MB/s in the first half, and a fifth of that in the
// second.
func figures(step string) *v1alpha1.LiveFigures {
	made := &v1alpha1.LiveFigures{Step: step, Clients: 4, Operations: []v1alpha1.LiveOperation{
		{Operation: v1alpha1.OperationRead, BytesPerSecond: 9_600_000, OperationsPerSecond: 9, MeanNanoseconds: new(int64(812_000_000))},
		{Operation: v1alpha1.OperationWrite, BytesPerSecond: 22_400_000, OperationsPerSecond: 21, MeanNanoseconds: new(int64(4_210_000_000))},
	}, Targets: []v1alpha1.LiveTarget{{Target: "share", BytesPerSecond: 32_000_000, CreditPercent: new(int32(7))}}}
	var bytes int64
	for second := range int64(41) {
		made.Points = append(made.Points, v1alpha1.LivePoint{Milliseconds: second * 3000, Bytes: bytes, Operations: bytes >> 20})
		bytes += 3 * 160_000_000
		if second >= 20 {
			bytes -= 3 * 128_000_000
		}
	}
	return made
}

var worlds = map[string]struct {
	done   int
	after  time.Duration
	change func(*v1alpha1.BenchmarkRun)
}{
	"waiting": {0, 20 * time.Second, func(run *v1alpha1.BenchmarkRun) {
		run.Status.Steps, run.Status.Live, run.Status.Stage = nil, nil, v1alpha1.StageConnecting
		run.Status.Message = "waiting for 2 of 4 clients: 0/3 nodes are available: 3 Insufficient cpu (share/2); pulling its image (share/3)"
	}},
	"layout": {0, 2 * time.Minute, func(*v1alpha1.BenchmarkRun) {}},
	"drain": {1, 6 * time.Minute, func(run *v1alpha1.BenchmarkRun) {
		run.Status.Phases = []v1alpha1.PhaseResult{{Name: "layout", Kind: v1alpha1.PhasePrepare, Targets: []v1alpha1.TargetResult{{Target: "share",
			Operations: []v1alpha1.OperationResult{{Operation: v1alpha1.OperationWrite, BytesPerSecond: new(int64(168_300_000))}},
			Warnings: []v1alpha1.Warning{
				{Type: v1alpha1.WarningClientsShareNode, Severity: v1alpha1.SeverityWarning, Message: "4 clients ran on one machine and shared its CPU, memory and network"},
				{Type: v1alpha1.WarningTooFewSamples, Severity: v1alpha1.SeverityInfo, Message: "not shown"},
			}}}}}
		run.Status.LostClients = []v1alpha1.LostClient{{Target: "share", Client: 3, Reason: "its node is gone: \x1b[2Jworker-7\n(a message of somebody else's)"}}
	}},
	"sweep": {5, 21 * time.Minute, func(run *v1alpha1.BenchmarkRun) { run.Status.Live = nil }},
	"idle":  {3, 13 * time.Minute, func(run *v1alpha1.BenchmarkRun) { run.Status.Live.Operations = nil }},
	"failed": {2, 10 * time.Minute, func(run *v1alpha1.BenchmarkRun) {
		run.Status.EndTime, run.Status.Stage, run.Status.Live = at(9*time.Minute), v1alpha1.StageFailed, nil
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Reason: "Stopped", Message: "the command received the signal: interrupt"}}
	}},
}

// TestFrames checks what users see in terminals of several sizes.
func TestFrames(t *testing.T) {
	for name, one := range worlds {
		run, planned := world(t, one.done, one.change)
		view := Of(run, planned, start.Add(one.after))
		view.End = view.End.UTC()
		for size, options := range map[string]Options{
			"80x24": {Width: 80, Height: 24, Hint: "Ctrl-C leaves"}, "plain-100x30": {Width: 100, Height: 30, Plain: true},
			"40x12": {Width: 40, Height: 12, Hint: "Ctrl-C leaves"}, "colour-80x24": {Width: 80, Height: 24, Colour: true, Hint: "Ctrl-C leaves"},
		} {
			t.Run(name+"-"+size, func(t *testing.T) {
				frame := Frame(view, options)
				if len(frame) >= options.Height {
					t.Errorf("%d lines on a terminal of %d", len(frame), options.Height)
				}
				for _, one := range frame {
					if columns := utf8.RuneCountInString(one); columns >= options.Width && !options.Colour {
						t.Errorf("%d columns: %q", columns, one)
					}
					if strings.ContainsAny(strings.ReplaceAll(one, "\x1b[", ""), "\x1b\n\r\t") {
						t.Errorf("what comes from outside moves the cursor: %q", one)
					}
				}
				golden.Check(t, name+"-"+size, strings.ReplaceAll(strings.Join(frame, "\n"), "\x1b", "^")+"\n")
			})
		}
	}
}

// TestLines checks the output to a pipe: a line for each step that has ended, and a line every ten seconds for the
// running one.
func TestLines(t *testing.T) {
	var told bytes.Buffer
	run, planned := world(t, 1, worlds["drain"].change)
	lines := NewLines(&told, planned, start)
	waiting, _ := world(t, 0, worlds["waiting"].change)
	lines.Tell(waiting, start)
	lines.Tell(waiting, start.Add(time.Second))
	for seconds := range 25 {
		lines.Tell(run, start.Add(6*time.Minute+time.Duration(seconds)*time.Second))
	}
	golden.Check(t, "lines", told.String())
}

// TestLinesWhileAClientIsReplaced checks that, between two attempts, one line states what the run waits for and one
// that it continues. The last progress of the first attempt must not be repeated.
func TestLinesWhileAClientIsReplaced(t *testing.T) {
	var told bytes.Buffer
	const progress = "burst: 1m59s of at most 6h0m0s, 32.0 MB/s"
	const waits = "waiting for 1 of 4 clients: pulling its image (share/3)"
	run, planned := world(t, 1, func(run *v1alpha1.BenchmarkRun) { run.Status.Message = progress })
	lines := NewLines(&told, planned, start)
	lines.Tell(run, start.Add(6*time.Minute))
	old := &run.Status.Steps[1]
	old.State, old.EndTime, old.Message = v1alpha1.StepFailed, at(6*time.Minute), "a client was lost; repeated as attempt 2"
	run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: old.ID, Attempt: 2, State: v1alpha1.StepStarting})
	run.Status.Live = nil
	lines.Tell(run, start.Add(6*time.Minute+time.Second))
	for seconds, message := range []string{progress, waits, waits, waits} {
		run.Status.Message = message
		lines.Tell(run, start.Add(6*time.Minute+time.Duration(2+seconds)*time.Second))
	}
	again := &run.Status.Steps[2]
	again.State, again.StartTime, run.Status.Message = v1alpha1.StepRunning, at(6*time.Minute+6*time.Second), ""
	for seconds := range 3 {
		lines.Tell(run, start.Add(6*time.Minute+time.Duration(6+seconds)*time.Second))
	}
	golden.Check(t, "lines-replaced", told.String())
}

// TestLinesAfterTheDeadline checks that a run past its deadline reports that it has failed, and what it waits for.
func TestLinesAfterTheDeadline(t *testing.T) {
	var told bytes.Buffer
	run, planned := world(t, 1, func(run *v1alpha1.BenchmarkRun) {
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonDeadlineExceeded, Message: "the run did not finish within its activeDeadline (40s)"}}
	})
	lines := NewLines(&told, planned, start)
	for seconds := range 25 {
		lines.Tell(run, start.Add(6*time.Minute+time.Duration(seconds)*time.Second))
	}
	golden.Check(t, "lines-after-the-deadline", told.String())
}

// TestLinesOmitSkippedSteps checks that a step that a search skipped is not reported as incomplete.
func TestLinesOmitSkippedSteps(t *testing.T) {
	var told bytes.Buffer
	run, planned := world(t, 2, func(run *v1alpha1.BenchmarkRun) { run.Status.Steps[1].State = v1alpha1.StepSkipped })
	NewLines(&told, planned, start).Tell(run, start.Add(9*time.Minute))
	if got := told.String(); !strings.Contains(got, "[1/9]") || strings.Contains(got, "[2/9]") {
		t.Errorf("got %s", got)
	}
}

// TestSyncsAreNotIOPS checks that a write followed by a sync counts as one operation, as in the IOPS graph.
func TestSyncsAreNotIOPS(t *testing.T) {
	run, planned := world(t, 2, func(run *v1alpha1.BenchmarkRun) {
		run.Status.Live.Operations = []v1alpha1.LiveOperation{
			{Operation: v1alpha1.OperationWrite, BytesPerSecond: 1_638_400, OperationsPerSecond: 400},
			{Operation: v1alpha1.OperationSync, OperationsPerSecond: 400, MeanNanoseconds: new(int64(2_000_000))}}
	})
	view := Of(run, planned, start.Add(9*time.Minute))
	frame := strings.Join(Frame(view, Options{Width: 80, Height: 24, Plain: true}), "\n")
	if !strings.Contains(frame, "400.0") || strings.Contains(frame, "sync 0 B/s") {
		t.Errorf("the frame is\n%s", frame)
	}
	if got := NewLines(io.Discard, planned, start).running(view.Now); !strings.Contains(got, "400.0 IOPS") {
		t.Errorf("the line is %s", got)
	}
}

func TestShort(t *testing.T) {
	for length, want := range map[time.Duration]string{
		0: "0s", 59*time.Second + 600*time.Millisecond: "1m00s", 3 * time.Minute: "3m00s", 90 * time.Minute: "1h30m", 50 * time.Hour: "2d02h", 47 * time.Hour: "47h00m",
	} {
		if got := Short(length); got != want {
			t.Errorf("%s: %q, want %q", length, got, want)
		}
	}
}

// TestRates checks that the rates add up to the bytes transferred, whatever the number of parts.
func TestRates(t *testing.T) {
	points := figures("x").Points
	total := points[len(points)-1].Bytes
	for _, parts := range []int{1, 7, 40, 100} {
		rates := ratesOf(points, func(p v1alpha1.LivePoint) int64 { return p.Bytes }, parts)
		sum := 0.0
		for _, rate := range rates {
			sum += rate * 120 / float64(len(rates))
		}
		if len(rates) != min(parts, len(points)-1) || sum < float64(total)*0.9999 || sum > float64(total)*1.0001 {
			t.Errorf("%d parts: %d rates hold %.0f bytes of %d", parts, len(rates), sum, total)
		}
	}
	if got := spark([]float64{0, 1, 50, 100}, bars); got != " ▁▄█" {
		t.Errorf("drawn as %q", got)
	}
}

// TestCurrentPhase checks that the current phase, which is found without a plan, is the phase that the view shows as
// running.
func TestCurrentPhase(t *testing.T) {
	found := 0
	for name, one := range worlds {
		run, planned := world(t, one.done, one.change)
		for i := range planned.Steps {
			run.Spec.Steps = append(run.Spec.Steps, v1alpha1.ResolvedStep{ID: planned.Steps[i].ID, Phase: planned.Steps[i].Phase})
		}
		want := ""
		for _, phase := range Of(run, planned, start.Add(one.after)).Phases {
			if phase.State == Running {
				want = phase.Name
				found++
			}
		}
		if got := CurrentPhase(run); got != want {
			t.Errorf("%s: the current phase is %q, want %q", name, got, want)
		}
	}
	if found < 4 {
		t.Errorf("only %d runs are in a phase", found)
	}
}

// TestStepOfSmallFiles checks that a step that performs a single operation shows only the rate of that operation.
func TestStepOfSmallFiles(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Phases = []v1alpha1.PhaseResult{{Name: "files", Kind: v1alpha1.PhaseSmallFiles, Targets: []v1alpha1.TargetResult{{Target: "a", Operations: []v1alpha1.OperationResult{
		{Operation: v1alpha1.OperationWrite, BytesPerSecond: new(int64(4096_000)), IOPSMilli: new(int64(1000_000))},
		{Operation: v1alpha1.OperationDelete, IOPSMilli: new(int64(250_000))}}}}}}
	step := plan.Step{Phase: "files", Kind: v1alpha1.PhaseSmallFiles, Purpose: plan.Measure, Cell: -1, Targets: []string{"a"}}
	step.Overrides.Operation = v1alpha1.OperationDelete
	if got := strings.Join(stepFigures(run, &step), ", "); got != "Delete 250.0 IOPS" {
		t.Errorf("got %s", got)
	}
}

// TestStepOfOneTarget checks that a step of a sequential phase shows only the figures of its own target.
func TestStepOfOneTarget(t *testing.T) {
	target := func(name string, bytesPerSecond int64) v1alpha1.TargetResult {
		return v1alpha1.TargetResult{Target: name, Operations: []v1alpha1.OperationResult{
			{Operation: v1alpha1.OperationWrite, BytesPerSecond: &bytesPerSecond}}}
	}
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Phases = []v1alpha1.PhaseResult{{Name: "write", Kind: v1alpha1.PhaseSteady, Targets: []v1alpha1.TargetResult{target("a", 100e6), target("b", 200e6)}}}
	step := plan.Step{Phase: "write", Kind: v1alpha1.PhaseSteady, Purpose: plan.Measure, Cell: -1, Targets: []string{"b"}}
	if got := strings.Join(stepFigures(run, &step), ", "); got != "Write 200.0 MB/s" {
		t.Errorf("got %s", got)
	}
}
