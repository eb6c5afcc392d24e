package report_test

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

// loaded returns the document of a run with two interference phases: a victim beside one and two aggressors, and two
// victims beside each other.
func loaded(t *testing.T) report.Document {
	t.Helper()
	spec := builders.Benchmark("usual").Target("data").Target("x").Target("y").Prepare("layout").
		Interference("cost", []string{"data"}, []string{"x", "y"}, "1m", 1, 2).Interference("equals", []string{"x", "y"}, nil, "1m").Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	run := record.New(record.Identity{Name: "usual-3f2a91", Namespace: "default", UID: "0-1",
		Benchmark: v1alpha1.BenchmarkReference{Name: "usual", UID: "0-0"}, Hash: "abc", Seed: 7}, spec, planned)
	record.Begin(run, builders.Start)
	estimate := func(value, half int64) *v1alpha1.Estimate {
		return &v1alpha1.Estimate{Value: value, Lower: new(value - half), Upper: new(value + half)}
	}
	target := func(name string, rate int64) v1alpha1.TargetResult {
		return v1alpha1.TargetResult{Target: name, Clients: 1, WindowNanoseconds: 360e9, Operations: []v1alpha1.OperationResult{{Operation: v1alpha1.OperationWrite,
			Operations: rate * 360 / 65536, Bytes: rate * 360, BytesPerSecond: &rate, IOPSMilli: new(rate * 1000 / 65536),
			Latency: &v1alpha1.LatencyResult{Samples: rate * 360 / 65536, MeanNanoseconds: 3e6, P50Nanoseconds: new(int64(2_900_000)), P99Nanoseconds: new(int64(9_100_000))}}}}
	}
	level := func(neighbours int32, rate, p99 int64, ratio, tail *v1alpha1.Estimate) v1alpha1.InterferenceLevel {
		return v1alpha1.InterferenceLevel{Neighbours: neighbours, Blocks: 6, RateRatioPPM: ratio, Operations: []v1alpha1.InterferenceOperation{{
			Operation: v1alpha1.OperationWrite, BytesPerSecond: rate, IOPSMilli: rate * 1000 / 65536, P50Nanoseconds: new(p99 / 3), P99Nanoseconds: &p99, P99RatioPPM: tail}}}
	}
	step := func(cell, neighbours int32, rate int64) v1alpha1.StepResult {
		return v1alpha1.StepResult{Cell: cell, Neighbours: &neighbours, Clients: 1, Operations: []v1alpha1.StepOperation{{Operation: v1alpha1.OperationWrite, BytesPerSecond: rate, IOPSMilli: rate * 1000 / 65536}}}
	}
	victim, x, y := target("data", 58e6), target("x", 60e6), target("y", 59e6)
	victim.Interference = &v1alpha1.InterferenceResult{Message: "2 neighbours cost 42.0 % (38.0 to 46.0 %) of throughput; p99 3.10 times (2.80 to 3.40)", Levels: []v1alpha1.InterferenceLevel{
		level(0, 100e6, 2_930_000, nil, nil), level(1, 99_500_000, 2_940_000, estimate(995_000, 8000), estimate(1_003_000, 12_000)),
		level(2, 58e6, 9_100_000, estimate(580_000, 40_000), estimate(3_100_000, 300_000))}}
	x.Steps = []v1alpha1.StepResult{step(1, 1, 110e6), step(2, 2, 61e6), step(3, 2, 59e6), step(4, 1, 112e6)}
	y.Steps = []v1alpha1.StepResult{step(2, 2, 58e6), step(3, 2, 60e6)}
	one, other := target("x", 50e6), target("y", 50e6)
	for _, equal := range []*v1alpha1.TargetResult{&one, &other} {
		equal.Interference = &v1alpha1.InterferenceResult{Message: "1 neighbour cost 50.0 % (49.0 to 51.0 %) of throughput",
			Levels: []v1alpha1.InterferenceLevel{level(0, 100e6, 2_930_000, nil, nil), level(1, 50e6, 5_900_000, estimate(500_000, 10_000), nil)}}
	}
	for _, step := range planned.Steps {
		run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: step.ID, Attempt: 1, State: v1alpha1.StepSkipped, EndTime: &metav1.MicroTime{Time: builders.Start}})
	}
	run.Status.Phases = []v1alpha1.PhaseResult{
		{Name: "cost", Kind: v1alpha1.PhaseInterference, Targets: []v1alpha1.TargetResult{victim, x, y}},
		{Name: "equals", Kind: v1alpha1.PhaseInterference, Targets: []v1alpha1.TargetResult{one, other},
			Fairness: &v1alpha1.FairnessResult{JainPPM: estimate(998_000, 1000), LeastOfMostPPM: estimate(920_000, 10_000),
				Message: "Jain's index of the 2 targets is 0.998, and the lowest rate is 92.0 % of the highest"}},
	}
	finished()(run)
	return report.NewDocument(run, "v0.1.0")
}

func TestInterference(t *testing.T) {
	document := loaded(t)
	golden.File(t, "testdata/interference.golden.txt",
		text(t, document, report.TextOptions{})+"\n== with -v\n\n"+text(t, document, verbose))
	var page, structured bytes.Buffer
	if err := report.HTML(&page, document); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Neighbours", "2 neighbours cost 42.0 %", "0.580 ± 0.040", "Jain", "AGGRESSOR"} {
		if !strings.Contains(strings.ReplaceAll(page.String(), "&#39;", "'"), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if err := report.JSON(&structured, document); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"rateRatioPPM"`, `"p99RatioPPM"`, `"jainPPM"`} {
		if !strings.Contains(structured.String(), want) {
			t.Errorf("JSON does not have %s", want)
		}
	}
}
