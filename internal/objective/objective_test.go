package objective_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/objective"
	"github.com/storagebench/storagebench/test/golden"
)

func pointer[T any](value T) *T { return &value }

func quantity(text string) *resource.Quantity { return pointer(resource.MustParse(text)) }

func atLeast(text string) *v1alpha1.QuantityBounds {
	return &v1alpha1.QuantityBounds{Min: quantity(text)}
}

func atMost(text string) *v1alpha1.QuantityBounds {
	return &v1alpha1.QuantityBounds{Max: quantity(text)}
}

func latency(percentile string, most v1alpha1.ShortDuration) *v1alpha1.LatencyObjective {
	return &v1alpha1.LatencyObjective{Percentile: percentile, Max: &most}
}

// operation returns an operation with the given bytes per second in blocks of 4 KiB.
func operation(kind v1alpha1.Operation, bytes int64) v1alpha1.OperationResult {
	return v1alpha1.OperationResult{
		Operation: kind, BytesPerSecond: &bytes, IOPSMilli: pointer(bytes * 1000 / 4096), RateErrorPPM: pointer[int64](20_000),
		Latency: &v1alpha1.LatencyResult{
			Samples: 5000, MeanNanoseconds: 900_000, P50Nanoseconds: pointer[int64](800_000), P95Nanoseconds: pointer[int64](1_500_000),
			P99Nanoseconds: pointer[int64](2_000_000), MaxNanoseconds: 40_000_000, // too few samples for higher percentiles
			Histogram: distribution(),
		},
	}
}

// distribution returns an encoded histogram of 5,000 samples from 1 us to 5 ms.
func distribution() []byte {
	var h measure.Histogram
	for i := range uint64(5000) {
		h.AddNanoseconds((i+1)*1000, 1)
	}
	encoded, err := h.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return encoded
}

// run returns a run with each kind of phase on two targets, a and b.
func run() (*v1alpha1.BenchmarkRunSpec, *v1alpha1.BenchmarkRunStatus) {
	both := []string{"a", "b"}
	spec := &v1alpha1.BenchmarkRunSpec{Run: v1alpha1.RunSpec{Targets: []v1alpha1.Target{{Name: "a"}, {Name: "b"}}}}
	for _, phase := range []string{"write", "mixed", "drain", "layout"} {
		spec.Steps = append(spec.Steps, v1alpha1.ResolvedStep{ID: phase, Phase: phase, Targets: both})
	}
	spec.Steps = append(spec.Steps, v1alpha1.ResolvedStep{ID: "only-a", Phase: "only-a", Targets: both[:1]}, v1alpha1.ResolvedStep{ID: "half", Phase: "half", Targets: both})
	cell := int32(0)
	for _, jobs := range []int32{1, 8} {
		for _, block := range []string{"4Ki", "1Mi"} {
			spec.Steps = append(spec.Steps, v1alpha1.ResolvedStep{
				ID: fmt.Sprintf("sweep-%d", cell), Phase: "sweep", Targets: both, Clients: 4, Cell: pointer(cell),
				Overrides: &v1alpha1.StepOverrides{Jobs: pointer(jobs), BlockSize: quantity(block)},
			})
			cell++
		}
	}
	spec.Steps = append(spec.Steps, v1alpha1.ResolvedStep{
		ID: "sweep-0-again", Phase: "sweep", Targets: both, Clients: 4, Cell: pointer[int32](0), Repeat: pointer(true),
		Overrides: &v1alpha1.StepOverrides{Jobs: pointer[int32](1), BlockSize: quantity("4Ki")},
	})
	estimate := func(value int64) *v1alpha1.Estimate {
		return &v1alpha1.Estimate{Value: value, Lower: pointer(value * 97 / 100), Upper: pointer(value * 103 / 100)}
	}
	drain := func(target string, burst, baseline int64, exhausted bool, source string) v1alpha1.TargetResult {
		return v1alpha1.TargetResult{Target: target, Burst: &v1alpha1.BurstResult{Exhausted: exhausted, Bytes: &v1alpha1.BurstSeries{
			Burst: estimate(burst), Baseline: estimate(baseline), Refill: estimate(baseline), RefillSource: source,
			Drops: []v1alpha1.Drop{{Spent: estimate(600_000_000_000)}},
		}, Operations: &v1alpha1.BurstSeries{Drops: []v1alpha1.Drop{{Spent: estimate(9_000_000)}}}, NanosecondsToBaseline: estimate(2_300_000_000_000)}, Attributions: []v1alpha1.Attribution{
			{Level: v1alpha1.LevelBurst, Baseline: &v1alpha1.DocumentedRate{Limit: "disk", PermilleReached: 8990}, Burst: &v1alpha1.DocumentedRate{Limit: "disk", PermilleReached: 1049}},
			{Level: v1alpha1.LevelBaseline, Baseline: &v1alpha1.DocumentedRate{Limit: "disk", PermilleReached: 981}},
		}}
	}
	target := func(name string, operations ...v1alpha1.OperationResult) v1alpha1.TargetResult {
		return v1alpha1.TargetResult{Target: name, Operations: operations}
	}
	noWindow := operation(v1alpha1.OperationWrite, 0)
	noWindow.BytesPerSecond, noWindow.IOPSMilli, noWindow.Latency = nil, nil, nil
	sync := v1alpha1.OperationResult{Operation: v1alpha1.OperationSync, Latency: &v1alpha1.LatencyResult{Samples: 100, MeanNanoseconds: 5_000_000, MaxNanoseconds: 9_000_000}}
	layout := target("a", operation(v1alpha1.OperationWrite, 100_000_000))
	layout.Usage = &v1alpha1.UsageResult{CompressionRatioMilli: pointer[int64](3756)}
	steps := func(scale int64, cells ...int32) v1alpha1.TargetResult {
		result := v1alpha1.TargetResult{Target: map[int64]string{1: "a", 2: "b"}[scale]}
		for _, cell := range cells {
			step := v1alpha1.StepResult{Cell: cell, Clients: 4, Operations: []v1alpha1.StepOperation{{
				Operation: v1alpha1.OperationRead, BytesPerSecond: scale * int64(cell+1) * 10_000_000, IOPSMilli: scale * int64(cell+1) * 2_000_000, MeanNanoseconds: 700_000,
			}}}
			if cell > 0 {
				step.Operations[0].P99Nanoseconds = pointer(int64(cell) * 1_000_000)
				step.Attribution = &v1alpha1.StepAttribution{PermilleOfBaseline: pointer(int64(cell) * 300)}
			}
			if cell == 3 {
				step.Operations[0].P99Nanoseconds = pointer(int64(measure.LastBucketNanoseconds))
			}
			result.Steps = append(result.Steps, step)
		}
		return result
	}
	ofOperations := drain("a", 1, 1, true, "Measured")
	ofOperations.Burst.Dimension = "Operations"
	drained := drain("a", 287_500_000, 32_000_000, true, "Measured")
	drained.Operations = []v1alpha1.OperationResult{operation(v1alpha1.OperationWrite, 60_000_000)}
	drained.Burst.IdleNanoseconds = pointer[int64](3_600_000_000_000)
	slow := target("a", operation(v1alpha1.OperationWrite, 8_000_000))
	slow.Operations[0].Latency.P99Nanoseconds = pointer(int64(measure.LastBucketNanoseconds))
	slow.Operations[0].Latency.Histogram = nil
	mixed := target("a", operation(v1alpha1.OperationRead, 70_000_000), operation(v1alpha1.OperationWrite, 30_000_000))
	mixed.Attributions = []v1alpha1.Attribution{{Baseline: &v1alpha1.DocumentedRate{Limit: "disk", PermilleReached: 970}}}
	return spec, &v1alpha1.BenchmarkRunStatus{Phases: []v1alpha1.PhaseResult{
		{Name: "operations", Targets: []v1alpha1.TargetResult{ofOperations}},
		{Name: "write", Targets: []v1alpha1.TargetResult{target("a", operation(v1alpha1.OperationWrite, 287_500_000), sync), target("b", operation(v1alpha1.OperationWrite, 150_000_000))}},
		{Name: "mixed", Targets: []v1alpha1.TargetResult{mixed, target("b", noWindow)}},
		{Name: "drain", Targets: []v1alpha1.TargetResult{drained, drain("b", 280_000_000, 250_000_000, false, "Assumed")}},
		{Name: "layout", Targets: []v1alpha1.TargetResult{layout, target("b")}},
		{Name: "only-a", Targets: []v1alpha1.TargetResult{target("a", operation(v1alpha1.OperationRead, 1_000_000))}},
		{Name: "half", Targets: []v1alpha1.TargetResult{target("a", operation(v1alpha1.OperationRead, 1_000_000))}},
		{Name: "search", Kind: v1alpha1.PhaseSearch, Targets: []v1alpha1.TargetResult{{Target: "a", Steps: steps(1, 0).Steps, Search: &v1alpha1.SearchResult{Message: "no rate was confirmed"}}}},
		{Name: "sweep", Targets: []v1alpha1.TargetResult{steps(1, 0, 1, 2, 3), steps(2, 0, 1, 2)}},
		{Name: "slow", Targets: []v1alpha1.TargetResult{slow}},
	}}
}

func TestEvaluate(t *testing.T) {
	cell := func(jobs int32, block string) *v1alpha1.CellSelector {
		selector := &v1alpha1.CellSelector{}
		if jobs > 0 {
			selector.Jobs = &jobs
		}
		if block != "" {
			selector.BlockSize = quantity(block)
		}
		return selector
	}
	objectives := []v1alpha1.Objective{
		{Name: "throughput-met", Phase: "write", Target: "a", Throughput: atLeast("260M")},
		{Name: "throughput-missed", Phase: "write", Target: "a", Throughput: atLeast("300M")},
		{Name: "throughput-at-the-bound", Phase: "write", Target: "a", Throughput: atLeast("287500k")},
		{Name: "throughput-in-the-interval", Phase: "write", Target: "a", Throughput: atLeast("288M")},
		{Name: "throughput-all-targets", Phase: "write", Throughput: atLeast("200M")},
		{Name: "throughput-all-met", Phase: "write", Throughput: atLeast("100M")},
		{Name: "throughput-at-most", Phase: "write", Target: "b", Throughput: atMost("140M")},
		{Name: "throughput-both-met", Phase: "write", Target: "b", Throughput: &v1alpha1.QuantityBounds{Min: quantity("140M"), Max: quantity("900M")}},
		{Name: "throughput-both-missed-below", Phase: "write", Target: "b", Throughput: &v1alpha1.QuantityBounds{Min: quantity("160M"), Max: quantity("170M")}},
		{Name: "throughput-operation", Phase: "mixed", Target: "a", Operation: v1alpha1.OperationRead, Throughput: atLeast("60M")},
		{Name: "throughput-which-operation", Phase: "mixed", Target: "a", Throughput: atLeast("60M")},
		{Name: "throughput-no-such-operation", Phase: "write", Target: "a", Operation: v1alpha1.OperationRead, Throughput: atLeast("1")},
		{Name: "throughput-no-window", Phase: "mixed", Target: "b", Throughput: atLeast("1")},
		{Name: "missed-beats-unknown", Phase: "mixed", Operation: v1alpha1.OperationWrite, Throughput: atLeast("40M")},
		{Name: "unknown-beats-met", Phase: "mixed", Operation: v1alpha1.OperationWrite, Throughput: atLeast("20M")},
		{Name: "no-rate-found", Phase: "search", Target: "a", IOPS: atLeast("1")},
		{Name: "no-phase", Phase: "gone", Throughput: atLeast("1")},
		{Name: "no-target", Phase: "write", Target: "c", Throughput: atLeast("1")},
		{Name: "target-takes-no-part", Phase: "only-a", Throughput: atLeast("1")},
		{Name: "target-has-no-result", Phase: "half", Throughput: atLeast("1")},
		{Name: "iops-met", Phase: "write", Target: "a", IOPS: atLeast("50k")},
		{Name: "iops-fraction", Phase: "write", Target: "a", IOPS: atLeast("70190.5")},
		{Name: "throughput-in-bytes", Phase: "write", Target: "a", Throughput: atLeast("287500001")},
		{Name: "iops-huge", Phase: "write", Target: "a", IOPS: atLeast("9E")},
		{Name: "p99-met", Phase: "write", Target: "a", Latency: latency("99", "2ms")},
		{Name: "p99-missed", Phase: "write", Target: "a", Latency: latency("99", "1ms")},
		{Name: "p99-clipped", Phase: "slow", Target: "a", Latency: latency("99", "20s")},
		{Name: "p99-clipped-missed", Phase: "slow", Target: "a", Latency: latency("99", "10s")},
		{Name: "p50-met", Phase: "write", Target: "a", Latency: latency("50", "1ms")},
		{Name: "p95-missed", Phase: "write", Target: "a", Latency: latency("95", "1ms")},
		{Name: "p999-too-few", Phase: "write", Target: "a", Latency: latency("99.9", "1s")},
		{Name: "p9999-too-few", Phase: "write", Target: "a", Latency: latency("99.99", "1s")},
		{Name: "mean-met", Phase: "write", Target: "a", Latency: latency("Mean", "1ms")},
		{Name: "max-missed", Phase: "write", Target: "a", Latency: latency("Max", "30ms")},
		{Name: "sync-latency", Phase: "write", Target: "a", Operation: v1alpha1.OperationSync, Latency: latency("Mean", "10ms")},
		{Name: "no-latency", Phase: "mixed", Target: "b", Latency: latency("99", "1ms")},
		{Name: "throughput-of-a-drain", Phase: "drain", Target: "a", Throughput: atLeast("30M")},
		{Name: "p99-of-a-drain", Phase: "drain", Target: "a", Latency: latency("99", "5ms")},
		{Name: "burst-met", Phase: "drain", Target: "a", Burst: atLeast("280M")},
		{Name: "baseline-met", Phase: "drain", Target: "a", Baseline: atLeast("30M")},
		{Name: "baseline-in-interval", Phase: "drain", Target: "a", Baseline: atLeast("32500k")},
		{Name: "baseline-not-seen", Phase: "drain", Target: "b", Baseline: atLeast("30M")},
		{Name: "refill-met", Phase: "drain", Target: "a", Refill: atLeast("30M")},
		{Name: "refill-assumed", Phase: "drain", Target: "b", Refill: atLeast("30M")},
		{Name: "refill-of-an-earlier-phase", Phase: "operations", Target: "a", Refill: atLeast("1")},
		{Name: "burst-of-no-drain", Phase: "write", Target: "a", Burst: atLeast("1")},
		{Name: "documented-met", Phase: "drain", Target: "a", Ratio: &v1alpha1.RatioObjective{Of: "Documented", MinPercent: pointer[int32](95)}},
		{Name: "documented-missed", Phase: "drain", Ratio: &v1alpha1.RatioObjective{Of: "Documented", MinPercent: pointer[int32](99)}},
		{Name: "documented-not-known", Phase: "write", Target: "a", Ratio: &v1alpha1.RatioObjective{Of: "Documented", MinPercent: pointer[int32](95)}},
		{Name: "documented-of-a-mix", Phase: "mixed", Target: "a", Ratio: &v1alpha1.RatioObjective{Of: "Documented", MinPercent: pointer[int32](95)}},
		{Name: "documented-of-reads-in-a-mix", Phase: "mixed", Target: "a", Operation: v1alpha1.OperationRead, Ratio: &v1alpha1.RatioObjective{Of: "Documented", MinPercent: pointer[int32](95)}},
		{Name: "documented-at-most", Phase: "drain", Target: "a", Ratio: &v1alpha1.RatioObjective{Of: "Documented", MaxPercent: pointer[int32](98)}},
		{Name: "documented-burst-within", Phase: "drain", Target: "a", Ratio: &v1alpha1.RatioObjective{Of: "DocumentedBurst", MinPercent: pointer[int32](90), MaxPercent: pointer[int32](105)}},
		{Name: "documented-burst-over", Phase: "drain", Target: "a", Ratio: &v1alpha1.RatioObjective{Of: "DocumentedBurst", MaxPercent: pointer[int32](104)}},
		{Name: "time-to-baseline-met", Phase: "drain", Target: "a", TimeToBaseline: &v1alpha1.DurationBounds{Min: pointer[v1alpha1.Duration]("30m")}},
		{Name: "time-to-baseline-missed", Phase: "drain", Target: "a", TimeToBaseline: &v1alpha1.DurationBounds{Max: pointer[v1alpha1.Duration]("30m")}},
		{Name: "time-to-baseline-not-seen", Phase: "drain", Target: "b", TimeToBaseline: &v1alpha1.DurationBounds{Max: pointer[v1alpha1.Duration]("30m")}},
		{Name: "time-to-baseline-of-no-drain", Phase: "write", Target: "a", TimeToBaseline: &v1alpha1.DurationBounds{Max: pointer[v1alpha1.Duration]("30m")}},
		{Name: "credits-met", Phase: "drain", Target: "a", Credits: atLeast("500G")},
		{Name: "credits-missed", Phase: "drain", Target: "a", Credits: atMost("500G")},
		{Name: "credits-of-operations", Phase: "operations", Target: "a", Credits: atLeast("10M")},
		{Name: "credits-not-spent", Phase: "drain", Target: "b", Credits: atLeast("1")},
		{Name: "p97-of-the-histogram", Phase: "write", Target: "a", Latency: latency("97", "5ms")},
		{Name: "p97-of-no-histogram", Phase: "slow", Target: "a", Operation: v1alpha1.OperationWrite, Latency: latency("97", "5ms")},
		{Name: "p99.5-missed", Phase: "write", Target: "a", Latency: latency("99.5", "4900us")},
		{Name: "p99.0-is-99", Phase: "write", Target: "a", Latency: latency("99.0", "2ms")},
		{Name: "p99.8-too-few", Phase: "write", Target: "a", Latency: latency("99.85", "5ms")},
		{Name: "latency-at-least", Phase: "write", Target: "a", Latency: &v1alpha1.LatencyObjective{Percentile: "50", Min: pointer[v1alpha1.ShortDuration]("1ms")}},
		{Name: "latency-without-bound", Phase: "write", Target: "a", Latency: &v1alpha1.LatencyObjective{Percentile: "50"}},
		{Name: "cell-documented-burst", Phase: "sweep", Target: "a", Cell: cell(8, "1Mi"), Ratio: &v1alpha1.RatioObjective{Of: "DocumentedBurst", MinPercent: pointer[int32](90)}},
		{Name: "compression-met", Phase: "layout", Target: "a", Ratio: &v1alpha1.RatioObjective{Of: "Compression", MinPercent: pointer[int32](300)}},
		{Name: "compression-not-seen", Phase: "layout", Target: "b", Ratio: &v1alpha1.RatioObjective{Of: "Compression", MinPercent: pointer[int32](300)}},
		{Name: "cell-met", Phase: "sweep", Target: "a", Cell: cell(8, "1Mi"), Throughput: atLeast("40M")},
		{Name: "cell-missed", Phase: "sweep", Target: "a", Cell: cell(8, "1Mi"), Throughput: atLeast("41M")},
		{Name: "cells-the-worst", Phase: "sweep", Target: "a", Cell: cell(0, "4Ki"), IOPS: atLeast("3000")},
		{Name: "cell-not-on-a-target", Phase: "sweep", Cell: cell(8, "1Mi"), Throughput: atLeast("1M")},
		{Name: "cell-p99", Phase: "sweep", Target: "a", Cell: cell(8, "4Ki"), Latency: latency("99", "3ms")},
		{Name: "cell-p99-too-few", Phase: "sweep", Target: "a", Cell: cell(1, "4Ki"), Latency: latency("99", "3ms")},
		{Name: "cell-p99-clipped", Phase: "sweep", Target: "a", Cell: cell(8, "1Mi"), Latency: latency("99", "20s")},
		{Name: "cell-mean", Phase: "sweep", Target: "a", Cell: cell(1, "4Ki"), Latency: latency("Mean", "3ms")},
		{Name: "cell-p50", Phase: "sweep", Target: "a", Cell: cell(1, "4Ki"), Latency: latency("50", "3ms")},
		{Name: "cell-documented", Phase: "sweep", Target: "a", Cell: cell(8, "1Mi"), Ratio: &v1alpha1.RatioObjective{Of: "Documented", MinPercent: pointer[int32](90)}},
		{Name: "cell-no-such", Phase: "sweep", Target: "a", Cell: cell(3, "4Ki"), Throughput: atLeast("1")},
		{Name: "cell-of-no-axis", Phase: "sweep", Target: "a", Cell: &v1alpha1.CellSelector{ReadPercent: pointer[int32](100), Clients: pointer[int32](4)}, Throughput: atLeast("1")},
		{Name: "cell-burst", Phase: "sweep", Target: "a", Cell: cell(1, "4Ki"), Burst: atLeast("1")},
		{Name: "cell-missing", Phase: "sweep", Target: "a", Throughput: atLeast("1")},
		{Name: "bad-time", Phase: "write", Target: "a", Latency: latency("99", "soon")},
		{Name: "time-crossed", Phase: "drain", Target: "a", TimeToBaseline: &v1alpha1.DurationBounds{Max: pointer[v1alpha1.Duration]("a while")}},
		{Name: "nothing-asked", Phase: "write", Target: "a"},
	}
	spec, status := run()
	before, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	results := objective.Evaluate(objectives, spec, status)
	if after, err := json.Marshal(status); err != nil || string(after) != string(before) {
		t.Error("the status was changed")
	}
	if len(results) != len(objectives) {
		t.Fatalf("%d results for %d objectives", len(results), len(objectives))
	}
	var text strings.Builder
	show := func(value *int64) string {
		if value == nil {
			return "-"
		}
		return fmt.Sprint(*value)
	}
	for i, r := range results {
		if r.Name != objectives[i].Name || len(r.Message) > 512 || r.Message == "" || (r.Verdict == v1alpha1.VerdictUnknown) != (r.Observed == nil) {
			t.Errorf("%+v", r)
		}
		fmt.Fprintf(&text, "%-30s %-8s %s of %s %s\n  %s\n  %s\n", r.Name, r.Verdict, show(r.Observed), show(r.Required), r.Unit, r.Figure, r.Message)
	}
	golden.Check(t, "verdicts", text.String())
}

// TestUnitOfTheWorstTarget checks that the worst figure keeps its own unit if one target counts credits in operations
// and another in bytes.
func TestUnitOfTheWorstTarget(t *testing.T) {
	spec, status := run()
	inBytes := status.Phases[3].Targets[0]
	inBytes.Target = "b"
	status.Phases[0].Targets = append(status.Phases[0].Targets, inBytes)
	objectives := []v1alpha1.Objective{{Name: "credits", Phase: "operations", Credits: atLeast("10M")}}
	got := objective.Evaluate(objectives, spec, status)[0]
	if got.Unit != "Operations" || !strings.Contains(got.Message, "9000000 operations") {
		t.Errorf("%s: %s", got.Unit, got.Message)
	}
}

// TestWideInterval checks that the interval of a figure starts at 0, and includes the bound, if it is wider than the
// figure.
func TestWideInterval(t *testing.T) {
	spec, status := run()
	found := &status.Result("write", "a").Operations[0]
	found.BytesPerSecond, found.RateErrorPPM = pointer[int64](1_678_000), pointer[int64](5_280_000)
	objectives := []v1alpha1.Objective{{Name: "slow", Phase: "write", Target: "a", Throughput: atLeast("1M")}}
	got := objective.Evaluate(objectives, spec, status)[0]
	const says = "interval, 0 B/s to 10.54 MB/s, includes the bound"
	if got.Verdict != v1alpha1.VerdictMet || !strings.Contains(got.Message, says) {
		t.Errorf("%s: %s", got.Verdict, got.Message)
	}
}

// TestUncountedOperations checks that there are no IOPS if only the bytes were counted.
func TestUncountedOperations(t *testing.T) {
	spec, status := run()
	status.Result("write", "a").Operations[0].IOPSMilli = nil
	status.Result("sweep", "a").Steps[0].Operations[0].IOPSMilli = 0
	first := &v1alpha1.CellSelector{Jobs: pointer[int32](1), BlockSize: quantity("4Ki")}
	objectives := []v1alpha1.Objective{
		{Name: "phase", Phase: "write", Target: "a", IOPS: atMost("100")},
		{Name: "cell", Phase: "sweep", Target: "a", Cell: first, IOPS: atMost("100")},
	}
	for _, got := range objective.Evaluate(objectives, spec, status) {
		if got.Verdict != v1alpha1.VerdictUnknown || !strings.Contains(got.Message, "not counted") {
			t.Errorf("%s: %s: %s", got.Name, got.Verdict, got.Message)
		}
	}
}

// TestWantedCredits checks that a bound on credits is shown in both units: before a run, it is unknown whether credits
// are bytes or operations.
func TestWantedCredits(t *testing.T) {
	got := objective.Wanted(&v1alpha1.Objective{Credits: atLeast("5400k")})
	if got != "at least 5.400 MB or 5400000 operations" {
		t.Errorf("it wants %q", got)
	}
}

func TestOverall(t *testing.T) {
	result := func(verdicts ...v1alpha1.Verdict) v1alpha1.Verdict {
		var results []v1alpha1.ObjectiveResult
		for _, verdict := range verdicts {
			results = append(results, v1alpha1.ObjectiveResult{Verdict: verdict})
		}
		return objective.Overall(results)
	}
	const met, missed, unknown = v1alpha1.VerdictMet, v1alpha1.VerdictMissed, v1alpha1.VerdictUnknown
	for _, one := range []struct {
		got, want v1alpha1.Verdict
	}{{result(), met}, {result(met, met), met}, {result(met, unknown, met), unknown}, {result(unknown, missed, met), missed}} {
		if one.got != one.want {
			t.Errorf("%s, want %s", one.got, one.want)
		}
	}
}
