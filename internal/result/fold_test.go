package result_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// figures returns the result of a step with one operation.
func figures(bytesPerSecond int64, warnings ...v1alpha1.Warning) v1alpha1.TargetResult {
	iopsMilli := bytesPerSecond / 64
	return v1alpha1.TargetResult{Target: "data", Clients: 4, Warnings: warnings, Operations: []v1alpha1.OperationResult{{
		Operation: v1alpha1.OperationWrite, BytesPerSecond: &bytesPerSecond, IOPSMilli: &iopsMilli,
		Latency: &v1alpha1.LatencyResult{Samples: 1000, MeanNanoseconds: 5e6},
	}}}
}

func warned(kind v1alpha1.WarningType, phase v1alpha1.PhaseKind, message string, clients ...int32) v1alpha1.Warning {
	return v1alpha1.NewWarning(kind, phase, message, clients...)
}

func sweepPhase() *v1alpha1.Phase {
	return &v1alpha1.Phase{Name: "matrix", Sweep: &v1alpha1.SweepPhase{Axes: v1alpha1.SweepAxes{
		Jobs:        []int32{1, 2, 4},
		BlockSize:   []resource.Quantity{resource.MustParse("4Ki"), resource.MustParse("64Ki")},
		ReadPercent: []int32{0, 100},
	}}}
}

func cell(index int, repeat bool) plan.Step {
	return plan.Step{Phase: "matrix", Kind: v1alpha1.PhaseSweep, Purpose: plan.Measure, Cell: index, Repeat: repeat}
}

func rampPhase(steps ...int64) *v1alpha1.Phase {
	return &v1alpha1.Phase{Name: "ramp", Ramp: &v1alpha1.RampPhase{Dimension: v1alpha1.RampQueueDepth, Steps: steps}}
}

type foldedStep struct {
	step plan.Step
	made v1alpha1.TargetResult
}

func foldAll(phase *v1alpha1.Phase, all []foldedStep) v1alpha1.TargetResult {
	var into v1alpha1.TargetResult
	for _, one := range all {
		result.Fold(phase, &into, one.step, result.History{}, one.made)
	}
	return into
}

func text(t *testing.T, of any) string {
	t.Helper()
	encoded, err := json.MarshalIndent(of, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// TestFoldAgain checks that folding a step twice, as after a crash of the operator, changes nothing.
func TestFoldAgain(t *testing.T) {
	few := func(phase v1alpha1.PhaseKind) v1alpha1.Warning {
		return warned(v1alpha1.WarningTooFewSamples, phase, "Write: 200 samples are too few for p99.9")
	}
	for name, test := range map[string]struct {
		phase *v1alpha1.Phase
		steps []foldedStep
	}{
		"ramp": {rampPhase(1, 2, 4), []foldedStep{
			{plan.Step{Kind: v1alpha1.PhaseRamp, Purpose: plan.Measure, Cell: 0}, figures(100e6, few(v1alpha1.PhaseRamp))},
			{plan.Step{Kind: v1alpha1.PhaseRamp, Purpose: plan.Measure, Cell: 1}, figures(180e6)},
			{plan.Step{Kind: v1alpha1.PhaseRamp, Purpose: plan.Measure, Cell: 2}, figures(200e6, few(v1alpha1.PhaseRamp), warned(v1alpha1.WarningStartSkew, v1alpha1.PhaseRamp, "apart"))},
		}},
		"sweep": {sweepPhase(), []foldedStep{
			{plan.Step{Kind: v1alpha1.PhaseSweep, Purpose: plan.Drain, Cell: -1}, figures(1e6, few(v1alpha1.PhaseSweep), warned(v1alpha1.WarningNoDropSeen, v1alpha1.PhaseSweep, "no drop"))},
			{cell(7, false), figures(100e6, few(v1alpha1.PhaseSweep))},
			{cell(2, false), figures(200e6, warned(v1alpha1.WarningClientsShareNode, v1alpha1.PhaseSweep, "shared", 1, 2))},
			{cell(7, true), figures(120e6, warned(v1alpha1.WarningClientsShareNode, v1alpha1.PhaseSweep, "shared by others", 3))},
			{cell(0, false), figures(300e6)},
			{cell(7, true), figures(95e6)},
		}},
		"prepare": {&v1alpha1.Phase{Prepare: &v1alpha1.PreparePhase{}}, []foldedStep{
			{plan.Step{Kind: v1alpha1.PhasePrepare, Purpose: plan.Prepare, Cell: -1}, figures(100e6, few(v1alpha1.PhasePrepare))},
			{plan.Step{Kind: v1alpha1.PhasePrepare, Purpose: plan.Precondition, Cell: -1}, figures(50e6, few(v1alpha1.PhasePrepare), warned(v1alpha1.WarningIOStalled, v1alpha1.PhasePrepare, "stalled", 1))},
		}},
		"setup": {&v1alpha1.Phase{Steady: &v1alpha1.SteadyPhase{}}, []foldedStep{
			{plan.Step{Kind: v1alpha1.PhaseSteady, Purpose: plan.Prepare, Cell: -1}, figures(50e6, few(v1alpha1.PhaseSteady),
				warned(v1alpha1.WarningClientsMissing, v1alpha1.PhaseSteady, "was lost", 3), warned(v1alpha1.WarningToolVersionsDiffer, v1alpha1.PhaseSteady, "two versions"))},
			{plan.Step{Kind: v1alpha1.PhaseSteady, Purpose: plan.Measure, Cell: -1}, figures(100e6, few(v1alpha1.PhaseSteady),
				warned(v1alpha1.WarningToolVersionsDiffer, v1alpha1.PhaseSteady, "three versions"))},
		}},
		"cooldown": {&v1alpha1.Phase{Cooldown: &v1alpha1.CooldownPhase{}}, []foldedStep{
			{plan.Step{Kind: v1alpha1.PhaseCooldown, Purpose: plan.Idle, Cell: -1}, v1alpha1.TargetResult{Target: "data", Cooldown: &v1alpha1.CooldownResult{IdleNanoseconds: 5}}},
			{plan.Step{Kind: v1alpha1.PhaseCooldown, Purpose: plan.Drain, Redrain: true, Cell: -1}, func() v1alpha1.TargetResult {
				made := figures(50e6, few(v1alpha1.PhaseCooldown))
				made.Burst = &v1alpha1.BurstResult{Exhausted: true}
				return made
			}()},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var twice []foldedStep
			for _, one := range test.steps {
				twice = append(twice, one, one)
			}
			once := text(t, foldAll(test.phase, test.steps))
			if diff := cmp.Diff(once, text(t, foldAll(test.phase, twice))); diff != "" {
				t.Errorf("it changed (-once +twice):\n%s", diff)
			}
			compared(t, "fold-"+name, foldAll(test.phase, test.steps))
		})
	}
}

// TestFoldOfARepeatedLayout checks a layout that is repeated after the loss of a client. The figures must come from the
// attempt that wrote the data, if some or all clients reuse their data in the next attempt.
func TestFoldOfARepeatedLayout(t *testing.T) {
	layout := plan.Step{Kind: v1alpha1.PhasePrepare, Purpose: plan.Prepare, Cell: -1}
	reused := warned(v1alpha1.WarningLayoutReused, v1alpha1.PhasePrepare, "the files already exist", 0, 1, 2)
	phase := &v1alpha1.Phase{Prepare: &v1alpha1.PreparePhase{}}
	wrote := figures(100e6)
	wrote.Usage = &v1alpha1.UsageResult{Files: 4}
	part := figures(25e6, reused)
	part.Clients = 1
	for name, again := range map[string]v1alpha1.TargetResult{
		"all reuse their data":  {Target: "data", Warnings: []v1alpha1.Warning{reused}},
		"some reuse their data": part,
	} {
		got := foldAll(phase, []foldedStep{{layout, wrote}, {layout, again}})
		want := wrote
		want.Warnings = []v1alpha1.Warning{reused}
		if diff := cmp.Diff(text(t, want), text(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got := foldAll(phase, []foldedStep{{layout, wrote}, {layout, figures(90e6)}})
	if *got.Operations[0].BytesPerSecond != 90e6 {
		t.Errorf("all clients wrote again, but the figures are %+v", got)
	}
}

// TestFoldUncounted checks that a cell shows the bytes of a program whose operations were not counted.
func TestFoldUncounted(t *testing.T) {
	t.Parallel()
	made := figures(100_000_000)
	made.Operations[0].IOPSMilli = nil
	operations := foldAll(sweepPhase(), []foldedStep{{cell(0, false), made}}).Steps[0].Operations
	if len(operations) != 1 || operations[0].BytesPerSecond != 100_000_000 {
		t.Errorf("%+v", operations)
	}
}

// TestFoldRepeats checks that the order of repetitions, and the cells between them, do not affect the figures.
func TestFoldRepeats(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 7))
		first := foldedStep{cell(3, false), figures(100e6)}
		rest := []foldedStep{{cell(0, false), figures(50e6)}, {cell(11, false), figures(70e6)}}
		most := int64(0)
		for range 1 + random.IntN(6) {
			rate := 60e6 + random.Int64N(80e6)
			most = max(most, abs(rate-100e6)/100_000)
			rest = append(rest, foldedStep{cell(3, true), figures(rate)})
		}
		want := foldAll(sweepPhase(), slices.Concat([]foldedStep{first}, rest))
		random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		got := foldAll(sweepPhase(), slices.Concat([]foldedStep{first}, rest))
		if diff := cmp.Diff(text(t, want), text(t, got)); diff != "" {
			t.Fatalf("seed %d: the order matters:\n%s", seed, diff)
		}
		repeated := got.Steps[1]
		if repeated.Cell != 3 || repeated.DriftPermille == nil || abs(*repeated.DriftPermille-most) > 1 || repeated.Operations[0].BytesPerSecond != 100e6 {
			t.Fatalf("seed %d: %+v, the most is %d permille", seed, repeated, most)
		}
		if slices.Contains(types(got.Warnings), v1alpha1.WarningSweepDrift) != (*repeated.DriftPermille > 100) {
			t.Fatalf("seed %d: drift %d, warnings %v", seed, *repeated.DriftPermille, got.Warnings)
		}
	}
}

func abs(value int64) int64 { return max(value, -value) }

// TestFoldKnee checks the knee of a ramp whose rate grows with the depth up to a known maximum.
func TestFoldKnee(t *testing.T) {
	phase := rampPhase(1, 2, 4, 8, 16, 32, 64)
	var all []foldedStep
	for i, depth := range phase.Ramp.Steps {
		rate := min(25e6*float64(depth), 250e6+float64(i)*1e5)
		all = append(all, foldedStep{plan.Step{Kind: v1alpha1.PhaseRamp, Purpose: plan.Measure, Cell: i}, figures(int64(rate))})
		got := foldAll(phase, all)
		if i < 4 {
			if got.Knee == nil || got.Knee.Found || got.Knee.Value != nil || !strings.Contains(got.Knee.Message, "needs at least 5 steps") {
				t.Errorf("after %d steps: %+v", i+1, got.Knee)
			}
		}
	}
	got := foldAll(phase, all)
	if !got.Knee.Found || *got.Knee.Value != 8 && *got.Knee.Value != 16 || *got.Knee.ValueAt95Percent != 16 {
		t.Errorf("knee %+v", got.Knee)
	}
	// An invalid step is not a point of the curve.
	all[6].made = figures(1000e6, warned(v1alpha1.WarningClientLost, v1alpha1.PhaseRamp, "lost"))
	got = foldAll(phase, all)
	if *got.Knee.ValueAt95Percent != 16 || !strings.Contains(got.Knee.Message, "1 step without a valid result") {
		t.Errorf("knee %+v", got.Knee)
	}
}

// TestSweepSize checks that a sweep of 256 cells with a p99 per operation takes little space in a status.
func TestSweepSize(t *testing.T) {
	phase := &v1alpha1.Phase{Name: "matrix", Sweep: &v1alpha1.SweepPhase{}}
	for name, test := range map[string]struct {
		mixed    bool
		history  result.History
		warnings []v1alpha1.Warning
		most     int
	}{
		"writes": {most: 48 << 10},
		"reads and writes, with credits and a warning": {mixed: true, most: 100 << 10,
			history:  result.History{CreditPercentAtStart: full(), CreditPercentAtEnd: full()},
			warnings: []v1alpha1.Warning{warned(v1alpha1.WarningTooFewSamples, v1alpha1.PhaseSweep, "Write: 200 samples are too few for p99.9")}},
	} {
		t.Run(name, func(t *testing.T) {
			var into v1alpha1.TargetResult
			for i := range 256 {
				made := figures(12_345_678_901, test.warnings...)
				made.Operations[0].Latency.P99Nanoseconds = pointerTo(int64(123_456_789))
				if test.mixed {
					read := made.Operations[0]
					read.Operation = v1alpha1.OperationRead
					made.Operations = append(made.Operations, read)
				}
				result.Fold(phase, &into, cell(i, false), test.history, made)
			}
			encoded, err := json.Marshal(into)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes of JSON", len(encoded))
			if len(into.Steps) != 256 || len(encoded) > test.most {
				t.Errorf("%d cells, %d bytes", len(into.Steps), len(encoded))
			}
		})
	}
}

func TestCooldown(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	before := []result.Span{{Start: start.Add(-time.Hour), End: start.Add(-3 * time.Second), Bytes: 1}}
	for name, test := range map[string]struct {
		percent int
		history result.History
		idle    time.Duration
		says    string
	}{
		"a duration":                {history: result.History{Earlier: before}, idle: 1803 * time.Second, says: "no load for 30m3s"},
		"nothing before":            {idle: 1800 * time.Second, says: "the target was not loaded before"},
		"until, documented":         {percent: 90, history: result.History{Earlier: before, Documented: documentedOf(scaled)}, idle: 1803 * time.Second, says: "90 % of the documented bucket of 22.80 GB to refill, at the documented rate of 32.00 MB/s"},
		"until, ended before":       {percent: 90, history: result.History{Earlier: before, Documented: documentedOf(scaled), CreditPercentAtEnd: pointerTo(int32(12))}, idle: 1803 * time.Second, says: "; did not wait for 90 % of the documented bucket of 22.80 GB to refill, at the documented rate of 32.00 MB/s: maxDuration ended the pause, or the bucket of another target is unknown"},
		"until, ended in time":      {percent: 90, history: result.History{Earlier: before, Documented: documentedOf(scaled), CreditPercentAtEnd: pointerTo(int32(90))}, idle: 1803 * time.Second, says: "; waited for 90 % of the documented bucket"},
		"until, measured":           {percent: 90, history: result.History{Earlier: before, MeasuredRefill: pointerTo(12e6), MeasuredBucket: 5e9}, idle: 1803 * time.Second, says: "drained bucket of 5.000 GB to refill, at the measured rate of 12.00 MB/s"},
		"until, of an unknown size": {percent: 90, history: result.History{Earlier: before, MeasuredRefill: pointerTo(12e6)}, idle: 1803 * time.Second, says: "its size is neither documented"},
		"until, nothing is known":   {percent: 90, history: result.History{Earlier: before}, idle: 1803 * time.Second, says: "no refill is documented or measured"},
	} {
		t.Run(name, func(t *testing.T) {
			step := plan.Step{Kind: v1alpha1.PhaseCooldown, Purpose: plan.Idle, Cell: -1, UntilCreditsPercent: test.percent}
			got := result.Cooldown(step, "data", test.history, start, start.Add(30*time.Minute))
			if got.Target != "data" || got.Cooldown.IdleNanoseconds != int64(test.idle) || !strings.Contains(got.Cooldown.Message, test.says) {
				t.Errorf("%+v", got.Cooldown)
			}
			if (got.Cooldown.WantedPercent == nil) != (test.percent == 0) {
				t.Error(fmt.Sprint(got.Cooldown.WantedPercent))
			}
		})
	}
}

// TestCooldownThatKnewNoRefill checks the message of a cooldown if the documented limits have no bucket: the refill is
// unknown, even if an earlier drain measured the credits spent.
func TestCooldownThatKnewNoRefill(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	history := result.History{
		Documented: limits.Declared(&v1alpha1.Limits{Throughput: &v1alpha1.RateLimits{
			Baseline: resource.NewQuantity(32e6, resource.DecimalSI), Burst: resource.NewQuantity(260e6, resource.DecimalSI)}}),
		Earlier:    []result.Span{{Start: start.Add(-time.Hour), End: start, Bytes: 1}},
		DrainSpent: &result.Spent{Amount: 22.8e9, Refill: 32e6, Burst: 260e6, Baseline: 32e6},
	}
	step := plan.Step{Kind: v1alpha1.PhaseCooldown, Purpose: plan.Idle, Cell: -1, UntilCreditsPercent: 90}
	got := result.Cooldown(step, "data", history, start, start.Add(time.Second)).Cooldown.Message
	const want = "no load for 1s; cannot determine when the bucket is 90 % full, " +
		"because no refill is documented or measured: waited for maxDuration, or not at all if maxDuration is not set"
	if got != want {
		t.Errorf("it says %q", got)
	}
}
