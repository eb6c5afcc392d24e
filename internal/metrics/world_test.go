package metrics_test

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/metrics"
)

var now = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

func micro(seconds float64) *metav1.MicroTime {
	return new(metav1.NewMicroTime(now.Add(time.Duration(seconds * float64(time.Second)))))
}

func set(run *v1alpha1.BenchmarkRun, kind string, status metav1.ConditionStatus) {
	run.Status.Conditions = slices.DeleteFunc(run.Status.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Test"})
}

func made(name string, seconds float64) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{}
	run.Namespace, run.Name = "storage", name
	run.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(seconds) * time.Second))
	run.Spec.BenchmarkRef.Name = "nightly"
	run.Spec.Run.StartTimeout, run.Spec.Run.OrphanTimeout, run.Spec.Run.ActiveDeadline = "10m", "1h", "48h"
	run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "0-drain", Phase: "drain"}, {ID: "1-steady", Phase: "steady"}}
	return run
}

// endedRun returns a run with an example of every figure.
func endedRun() *v1alpha1.BenchmarkRun {
	run := made("nightly-1", 0)
	run.Status.StartTime, run.Status.EndTime = micro(1), micro(301.5)
	run.Status.Warnings = []v1alpha1.Warning{{Type: v1alpha1.WarningVolumeInUse, Severity: v1alpha1.SeverityWarning}}
	run.Status.LostClients = []v1alpha1.LostClient{{Target: "share", Client: 1}}
	set(run, v1alpha1.ConditionComplete, metav1.ConditionTrue)
	set(run, v1alpha1.ConditionValid, metav1.ConditionTrue)
	run.Status.Steps = []v1alpha1.StepStatus{
		{ID: "0-drain", State: v1alpha1.StepSucceeded, IO: []v1alpha1.StepIO{{Target: "share", CreditPercentAtStart: new(int32(100)), CreditPercentAtEnd: new(int32(0))}}},
		{ID: "1-steady", State: v1alpha1.StepSucceeded, IO: []v1alpha1.StepIO{{Target: "share", CreditPercentAtStart: new(int32(0)), CreditPercentAtEnd: new(int32(1))}}},
	}
	run.Spec.Run.Observations = []v1alpha1.Observation{{Name: "burst-balance", Query: "balance", Unit: "%"}}
	run.Status.Observations = &v1alpha1.Observations{Series: []v1alpha1.ObservedSeries{
		{Observation: "burst-balance", Step: "0-drain", Labels: `{volume_id="vol-1"}`, Points: 8, First: "100", Last: "0", Min: "0", Mean: "40.5", Max: "100"},
		{Observation: "burst-balance", Step: "1-steady", Labels: `{volume_id="vol-1"}`, Points: 2, First: "0", Last: "1", Min: "0", Mean: "0.5", Max: "1"}}}
	estimate := func(value int64) *v1alpha1.Estimate { return &v1alpha1.Estimate{Value: value} }
	run.Status.Phases = []v1alpha1.PhaseResult{
		{Name: "drain", Kind: v1alpha1.PhaseBurstDrain, StartTime: micro(10), EndTime: micro(130), Targets: []v1alpha1.TargetResult{{
			Target: "share", ClientCPUPermille: new(int64(250)),
			Burst: &v1alpha1.BurstResult{
				Exhausted: true, NanosecondsToBaseline: estimate(45_500_000_000), IdleNanoseconds: new(int64(600_000_000_000)),
				Bytes: &v1alpha1.BurstSeries{Burst: estimate(287_500_000), Sustained: estimate(280_000_000), Peak: estimate(400_000_000), Baseline: estimate(32_000_000),
					Refill: estimate(31_000_000), RefillSource: "Measured", Drops: []v1alpha1.Drop{{Spent: estimate(1)}, {Spent: estimate(9_000_000_000)}}},
				Operations: &v1alpha1.BurstSeries{Burst: estimate(287_500), Baseline: estimate(32_000), Drops: []v1alpha1.Drop{{Spent: estimate(9000)}}},
			},
			Attributions: []v1alpha1.Attribution{
				{Level: v1alpha1.LevelBurst, Baseline: &v1alpha1.DocumentedRate{PermilleReached: 8984}, Burst: &v1alpha1.DocumentedRate{PermilleReached: 479}},
				{Level: v1alpha1.LevelBaseline, Baseline: &v1alpha1.DocumentedRate{PermilleReached: 1000}},
			},
		}}},
		{Name: "steady", Kind: v1alpha1.PhaseSteady, StartTime: micro(131), EndTime: micro(300), Targets: []v1alpha1.TargetResult{{
			Target: "share", Warnings: []v1alpha1.Warning{
				{Type: v1alpha1.WarningTooFewSamples, Severity: v1alpha1.SeverityInfo}, {Type: v1alpha1.WarningVolumeInUse, Severity: v1alpha1.SeverityWarning}},
			Operations: []v1alpha1.OperationResult{{Operation: v1alpha1.OperationWrite, BytesPerSecond: new(int64(32_000_000)), IOPSMilli: new(int64(30_518)),
				Latency: &v1alpha1.LatencyResult{Samples: 5000, MeanNanoseconds: 1_000_000_000, P50Nanoseconds: new(int64(900_000_000)),
					P95Nanoseconds: new(int64(1_100_000_000)), P99Nanoseconds: new(int64(1_200_000_000)), MaxNanoseconds: 3_000_000_000}}},
			SteadyState:  &v1alpha1.SteadyStateResult{Assessed: true, Steady: new(true)},
			Usage:        &v1alpha1.UsageResult{CompressionRatioMilli: new(int64(3750))},
			Attributions: []v1alpha1.Attribution{{Operation: v1alpha1.OperationWrite, Baseline: &v1alpha1.DocumentedRate{PermilleReached: 998}}},
		}}},
		{Name: "search", Kind: v1alpha1.PhaseSearch, Targets: []v1alpha1.TargetResult{{
			Target: "share", Search: &v1alpha1.SearchResult{Found: true, OfferedIOPS: new(int64(1180))},
		}}},
		{Name: "files", Kind: v1alpha1.PhaseSmallFiles, Targets: []v1alpha1.TargetResult{{
			Target: "share", Operations: []v1alpha1.OperationResult{{Operation: v1alpha1.OperationCreate, IOPSMilli: new(int64(400_000)),
				Latency: &v1alpha1.LatencyResult{Samples: 4000, MeanNanoseconds: 38_000_000, P99Nanoseconds: new(int64(61_000_000)), MaxNanoseconds: 90_000_000}}},
		}}},
		{Name: "neighbours", Kind: v1alpha1.PhaseInterference, Fairness: &v1alpha1.FairnessResult{JainPPM: estimate(990_000)}, Targets: []v1alpha1.TargetResult{{
			Target: "share", Interference: &v1alpha1.InterferenceResult{Levels: []v1alpha1.InterferenceLevel{{}, {Neighbours: 3, RateRatioPPM: estimate(580_000),
				Operations: []v1alpha1.InterferenceOperation{{Operation: v1alpha1.OperationRead, P99RatioPPM: estimate(3_100_000)}}}}},
		}}},
	}
	return run
}

func liveRun() *v1alpha1.BenchmarkRun {
	run := made("nightly-2", 1000)
	run.Status.Stage = v1alpha1.StageRunning
	run.Status.StartTime = micro(1001)
	run.Status.Steps = []v1alpha1.StepStatus{{ID: "0-drain", Attempt: 1, State: v1alpha1.StepRunning, StartTime: micro(1010), Deadline: micro(1200)}}
	run.Status.Warnings = []v1alpha1.Warning{{Type: v1alpha1.WarningVolumeInUse, Severity: v1alpha1.SeverityWarning}}
	return run
}

// world returns facts with an example of everything that is exported.
func world() metrics.Facts {
	benchmark := &v1alpha1.StorageBenchmark{}
	benchmark.Namespace, benchmark.Name, benchmark.UID = "storage", "nightly", "b"
	benchmark.Spec.Queue = "fsx-1"
	benchmark.Status = v1alpha1.StorageBenchmarkStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}, {Type: "Others", Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionRegressed, Status: metav1.ConditionUnknown}},
		NextScheduleTime: new(metav1.NewTime(now.Add(24 * time.Hour))), LastScheduleTime: new(metav1.NewTime(now)),
		LastRun: &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: "nightly-1", UID: "r"}, Reason: v1alpha1.ReasonObjectiveMissed},
		Objectives: []v1alpha1.ObjectiveResult{{Name: "floor", Verdict: v1alpha1.VerdictMet}, {Name: "tail", Verdict: v1alpha1.VerdictMissed},
			{Name: "absent", Verdict: v1alpha1.VerdictUnknown}},
		Regression: &v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionRegressed, ComparedRuns: 20, Figures: []v1alpha1.FigureChange{
			{Figure: "throughput of steady", Verdict: v1alpha1.RegressionRegressed, ChangePermille: -104}, {Figure: "other", Verdict: v1alpha1.RegressionUnknown}}},
		Headlines: []v1alpha1.Headline{
			{Phase: "steady", Target: "share", Operation: v1alpha1.OperationWrite, BytesPerSecond: new(int64(32_000_000)),
				IOPSMilli: new(int64(30_518)), P99Nanoseconds: new(int64(1_200_000_000))},
			{Phase: "files", Target: "share", Operation: v1alpha1.OperationCreate, IOPSMilli: new(int64(400_000))}},
	}
	ended, waiting := endedRun(), made("nightly-3", 2000)
	waiting.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWaiting, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWaitsForQueue}}
	var latency measure.Histogram
	latency.AddNanoseconds(2_000_000, 1000)
	latency.AddNanoseconds(40_000_000, 30)
	return metrics.Facts{
		Leading: true, Version: "v1", Benchmarks: []*v1alpha1.StorageBenchmark{benchmark},
		Runs:    []*v1alpha1.BenchmarkRun{ended, liveRun(), waiting},
		Results: func(*v1alpha1.StorageBenchmark) ([]metrics.Point, bool) { return metrics.Results(ended), true },
		Live: []metrics.LiveRun{{
			Namespace: "storage", Benchmark: "nightly", Name: "nightly-2",
			Clients: map[string]map[string]int{"share": {"Ready": 3, "Lost": 1}},
			Samples: map[string]metrics.SampleCount{"share": {Taken: 400, Lost: 2}},
			Loads:   map[metrics.Load]measure.Counter{{Phase: "drain", Target: "share", Operation: measure.Write}: {Bytes: 1 << 30, Operations: 1024}},
			Latencies: map[metrics.Load]metrics.Latency{
				{Phase: "drain", Target: "share", Operation: measure.Write}: {Whole: latency, Newest: latency}},
		}},
	}
}
