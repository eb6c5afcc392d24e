package metrics_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/metrics"
	"github.com/storagebench/storagebench/test/golden"
)

const referenceFile = "../../docs/reference/metrics.md"

// scrape returns the text that Prometheus would receive.
func scrape(t *testing.T, facts metrics.Facts) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(metrics.NewCollector(func() metrics.Facts { return facts })); err != nil {
		t.Fatal(err)
	}
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, family := range gathered {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// TestWorld checks that a world with an example of everything exports every metric.
func TestWorld(t *testing.T) {
	got := scrape(t, world())
	golden.Check(t, "world", got)
	for _, family := range metrics.Families() {
		if !strings.Contains(got, "# TYPE "+family.FullName()+" ") {
			t.Errorf("%s is in no scrape of a world that has some of everything", family.FullName())
		}
	}
}

// TestLint checks the names and help texts against the rules of Prometheus.
func TestLint(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.NewCollector(world))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// TestNothingStale checks that objects that no longer exist are missing from the next scrape, and that a standby
// reports only itself.
func TestNothingStale(t *testing.T) {
	facts := world()
	facts.Live, facts.Runs, facts.Benchmarks = nil, nil, nil
	if left := scrape(t, facts); strings.Contains(left, "namespace=") || !strings.Contains(left, "storagebench_agents_connected 0") {
		t.Errorf("the scrape of an empty cluster is\n%s", left)
	}
	facts = world()
	facts.Leading = false
	if standby := scrape(t, facts); strings.Contains(standby, "benchmark") && strings.Contains(standby, "namespace=") ||
		!strings.Contains(standby, "storagebench_operator_leader 0") {
		t.Errorf("the scrape of a standby is\n%s", standby)
	}
}

// TestNoFiguresOfAnInvalidRun checks that the figures of an invalid run are not exported, but its problems are.
func TestNoFiguresOfAnInvalidRun(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.BenchmarkRun){
		"invalid":  func(run *v1alpha1.BenchmarkRun) { set(run, v1alpha1.ConditionValid, metav1.ConditionFalse) },
		"failed":   func(run *v1alpha1.BenchmarkRun) { set(run, v1alpha1.ConditionComplete, metav1.ConditionFalse) },
		"unjudged": func(run *v1alpha1.BenchmarkRun) { run.Status.Conditions = nil },
	} {
		t.Run(name, func(t *testing.T) {
			run := endedRun()
			change(run)
			told := map[string]bool{}
			for _, point := range metrics.Results(run) {
				told[point.Family.Name] = true
			}
			for _, never := range []string{"benchmark_throughput_bytes_per_second", "benchmark_latency_seconds", "benchmark_burst_bytes_per_second", "benchmark_credits_spent_bytes"} {
				if told[never] {
					t.Errorf("%s is exported", never)
				}
			}
			if !told["benchmark_last_run_warnings"] || !told["benchmark_last_run_duration_seconds"] {
				t.Errorf("only %v are exported", told)
			}
		})
	}
}

// TestHeadlines checks that the results of a deleted run come from the status of its benchmark, but only if the run was
// complete and valid.
func TestHeadlines(t *testing.T) {
	facts := world()
	facts.Results = func(*v1alpha1.StorageBenchmark) ([]metrics.Point, bool) { return nil, false }
	want := `storagebench_benchmark_throughput_bytes_per_second{benchmark="nightly",namespace="storage",operation="Write",phase="steady",target="share"} 3.2e+07`
	for _, reason := range []string{v1alpha1.ReasonPassed, v1alpha1.ReasonObjectiveMissed, v1alpha1.ReasonRegressed, v1alpha1.ReasonNotJudged} {
		facts.Benchmarks[0].Status.LastRun.Reason = reason
		if text := scrape(t, facts); !strings.Contains(text, want) {
			t.Errorf("%s: %s is not in\n%s", reason, want, text)
		}
	}
	const create = `{benchmark="nightly",namespace="storage",operation="Create",phase="files",target="share"}`
	text := scrape(t, facts)
	if !strings.Contains(text, "storagebench_benchmark_operations_per_second"+create+" 400") ||
		strings.Contains(text, "storagebench_benchmark_throughput_bytes_per_second"+create) {
		t.Errorf("the operations per second of Create are not in the text, or its throughput is:\n%s", text)
	}
	facts.Benchmarks[0].Status.LastRun.Reason = v1alpha1.ReasonRunInvalid
	if text := scrape(t, facts); strings.Contains(text, "storagebench_benchmark_throughput") {
		t.Error("there are headlines of an invalid run")
	}
}

// TestObjectivesOfAnInvalidRun checks that objectives are exported only if their run was complete and valid.
func TestObjectivesOfAnInvalidRun(t *testing.T) {
	facts := world()
	for reason, want := range map[string]bool{
		v1alpha1.ReasonObjectiveMissed: true, v1alpha1.ReasonRunInvalid: false, v1alpha1.ReasonStopped: false,
	} {
		facts.Benchmarks[0].Status.LastRun.Reason = reason
		if got := strings.Contains(scrape(t, facts), "storagebench_benchmark_objective_met{"); got != want {
			t.Errorf("%s: objectives are exported: %t", reason, got)
		}
	}
}

// TestRunThatIsNotCreated checks that a scheduled run stays due until it exists, because the API server may refuse to
// create it. If another run was created after the scheduled time, the missing run was requested without a schedule.
func TestRunThatIsNotCreated(t *testing.T) {
	for _, c := range []struct {
		uid           string
		created, want int64
	}{{"", 40, 100}, {"", 160, 700_000}, {"r", 40, 700_000}} {
		benchmark := &v1alpha1.StorageBenchmark{}
		benchmark.Status.LastScheduleTime = new(metav1.Unix(100, 0))
		benchmark.Status.NextScheduleTime = new(metav1.Unix(700_000, 0))
		benchmark.Status.ActiveRun = &v1alpha1.RunReference{Name: "nightly-2", UID: c.uid}
		before := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(c.created, 0)}}
		all := metrics.Benchmark(benchmark, []*v1alpha1.BenchmarkRun{before})
		at := slices.IndexFunc(all, func(p metrics.Point) bool {
			return p.Family.Name == "benchmark_next_schedule_timestamp_seconds"
		})
		if got := all[at].Value; got != float64(c.want) {
			t.Errorf("UID %q, a run created at %d: the next run is due at %g, want %d", c.uid, c.created, got, c.want)
		}
	}
}

// TestFillOfACooldown checks that the fill at the end of a cooldown is that after its redrain, if it has one.
func TestFillOfACooldown(t *testing.T) {
	fill := func(drain []v1alpha1.StepIO) string {
		run := endedRun()
		run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "idle", Phase: "refill"}, {ID: "redrain", Phase: "refill"}}
		run.Status.Steps = []v1alpha1.StepStatus{{ID: "idle"}, {ID: "redrain", IO: drain}}
		target := v1alpha1.TargetResult{Target: "share", Cooldown: &v1alpha1.CooldownResult{CreditPercentAtEnd: new(int32(41))}}
		run.Status.Phases = []v1alpha1.PhaseResult{
			{Name: "refill", Kind: v1alpha1.PhaseCooldown, Targets: []v1alpha1.TargetResult{target}}}
		var all []string
		for _, point := range metrics.Results(run) {
			if point.Family.FullName() == "storagebench_benchmark_credits_fill_ratio" {
				all = append(all, fmt.Sprint(point.Labels[len(point.Labels)-1], " ", point.Value))
			}
		}
		return strings.Join(all, ", ")
	}
	if got := fill(nil); got != "End 0.41" {
		t.Errorf("a pause alone: %s", got)
	}
	redrain := v1alpha1.StepIO{Target: "share", CreditPercentAtStart: new(int32(41)), CreditPercentAtEnd: new(int32(0))}
	if got := fill([]v1alpha1.StepIO{redrain}); got != "End 0" {
		t.Errorf("a pause and a drain: %s", got)
	}
}

// TestDoubles checks that duplicate objects do not fail a scrape.
func TestDoubles(t *testing.T) {
	facts := world()
	facts.Benchmarks[0].Status.Objectives = append(facts.Benchmarks[0].Status.Objectives, facts.Benchmarks[0].Status.Objectives...)
	facts.Live = append(facts.Live, facts.Live...)
	scrape(t, facts)
}

// TestLiveLatency checks that live percentiles come from the merged histograms of all clients and require as many
// samples as those in results.
func TestLiveLatency(t *testing.T) {
	var all, few measure.Histogram
	for i := range uint64(2000) {
		all.AddNanoseconds(1_000_000+i*1000, 1)
	}
	few.AddNanoseconds(5_000_000, 20)
	load := metrics.Load{Phase: "steady", Target: "share", Operation: measure.Write}
	points := metrics.Live(&metrics.LiveRun{Namespace: "n", Benchmark: "b", Name: "r",
		Latencies: map[metrics.Load]metrics.Latency{load: {Whole: all, Newest: few}}})
	got := map[string]float64{}
	for _, point := range points {
		got[point.Family.Name+" "+point.Labels[len(point.Labels)-1]] = point.Value
	}
	for _, percentile := range []struct {
		label string
		value float64
	}{{"50", 50}, {"95", 95}, {"99", 99}} {
		want, _ := all.Percentile(percentile.value)
		if got["run_latency_seconds "+percentile.label] != float64(want)/1e9 {
			t.Errorf("p%s is %g, want %g", percentile.label, got["run_latency_seconds "+percentile.label], float64(want)/1e9)
		}
	}
	for _, absent := range []string{"run_latency_seconds 99.9", "run_recent_latency_seconds 95", "run_recent_latency_seconds 99"} {
		if _, told := got[absent]; told {
			t.Errorf("%s is exported with fewer than ten samples above it", absent)
		}
	}
	if got["run_recent_latency_seconds 50"] == 0 {
		t.Errorf("no median of twenty samples: %v", got)
	}
}

// TestReferenceIsCurrent checks that the reference of metrics matches the code.
func TestReferenceIsCurrent(t *testing.T) {
	golden.File(t, referenceFile, string(metrics.Reference()))
}

func TestDeadline(t *testing.T) {
	at := func(seconds int) *metav1.MicroTime {
		return new(metav1.NewMicroTime(now.Add(time.Duration(seconds) * time.Second)))
	}
	waiting := func(status metav1.ConditionStatus, reason string, seconds int) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionWaiting, Status: status, Reason: reason,
			LastTransitionTime: metav1.NewTime(now.Add(time.Duration(seconds) * time.Second))}}
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.BenchmarkRun)
		want   int
	}{
		"waits":   {func(run *v1alpha1.BenchmarkRun) { run.Status.StartTime = nil }, -1},
		"deploys": {func(run *v1alpha1.BenchmarkRun) { run.Status.Steps = nil }, 600},
		"a step": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Steps = []v1alpha1.StepStatus{{ID: "1", EndTime: at(20)}, {ID: "2", StartTime: at(30), Deadline: at(90)}}
		}, 90},
		"between": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Steps = []v1alpha1.StepStatus{{ID: "1", Deadline: at(30), EndTime: at(20)}}
		}, 48 * 3600},
		"its deadline is near": {func(run *v1alpha1.BenchmarkRun) {
			run.Spec.Run.ActiveDeadline = "60s"
			run.Status.Steps = []v1alpha1.StepStatus{{ID: "2", StartTime: at(30), Deadline: at(90)}}
		}, 60},
		"leaves": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDataRemoved, Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now.Add(100 * time.Second))}}
		}, 100 + 3600},
		"leaves, with observations": {func(run *v1alpha1.BenchmarkRun) {
			run.Spec.Run.Observations = []v1alpha1.Observation{{Name: "cpu"}}
			run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDataRemoved,
				LastTransitionTime: metav1.NewTime(now.Add(100 * time.Second))}}
		}, 100 + 150 + 3600},
		"had its turn": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Conditions = waiting(metav1.ConditionFalse, v1alpha1.ReasonItsTurn, 10)
		}, 600},
		"waits for quota": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Conditions = waiting(metav1.ConditionTrue, v1alpha1.ReasonWaitsForQuota, 5)
		}, -1},
		"has its quota": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Conditions = waiting(metav1.ConditionFalse, v1alpha1.ReasonQuotaGranted, 10800)
		}, 10800 + 600},
		"between, with quota": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Conditions = waiting(metav1.ConditionFalse, v1alpha1.ReasonQuotaGranted, 10800)
			run.Status.Steps = []v1alpha1.StepStatus{{ID: "1", Deadline: at(10830), EndTime: at(10820)}}
		}, 10800 + 48*3600},
		"quota again after the first step": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Conditions = waiting(metav1.ConditionFalse, v1alpha1.ReasonQuotaGranted, 10800)
			run.Status.Steps = []v1alpha1.StepStatus{{ID: "1", StartTime: at(10), Deadline: at(10830), EndTime: at(10820)}}
		}, 48 * 3600},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.BenchmarkRun{}
			run.Spec.Run.StartTimeout, run.Spec.Run.OrphanTimeout, run.Spec.Run.ActiveDeadline = "10m", "1h", "48h"
			run.Status.StartTime = at(0)
			test.change(run)
			got := metrics.Deadline(run, 30*time.Second)
			if test.want < 0 && !got.IsZero() || test.want >= 0 && !got.Equal(now.Add(time.Duration(test.want)*time.Second)) {
				t.Errorf("got %s, want %d s after %s", got, test.want, now)
			}
		})
	}
}

// TestPhaseStates checks that the state of a phase follows from the states of its steps.
func TestPhaseStates(t *testing.T) {
	for _, test := range []struct {
		steps []v1alpha1.StepStatus
		want  string
	}{
		{nil, "Pending"},
		{[]v1alpha1.StepStatus{{ID: "1", State: v1alpha1.StepRunning}}, "Running"},
		{[]v1alpha1.StepStatus{{ID: "1", State: v1alpha1.StepSucceeded}}, "Running"},
		{[]v1alpha1.StepStatus{{ID: "1", State: v1alpha1.StepSucceeded}, {ID: "2", State: v1alpha1.StepStarting}}, "Running"},
		{[]v1alpha1.StepStatus{{ID: "1", State: v1alpha1.StepSucceeded}, {ID: "2", State: v1alpha1.StepSkipped}}, "Succeeded"},
		{[]v1alpha1.StepStatus{{ID: "1", State: v1alpha1.StepSkipped}, {ID: "2", State: v1alpha1.StepSkipped}}, "Skipped"},
		{[]v1alpha1.StepStatus{{ID: "1", State: v1alpha1.StepSucceeded}, {ID: "2", State: v1alpha1.StepFailed}}, "Failed"},
		{[]v1alpha1.StepStatus{{ID: "1", State: v1alpha1.StepFailed}, {ID: "1", Attempt: 2, State: v1alpha1.StepRunning}}, "Running"},
	} {
		run := liveRun()
		run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "1", Phase: "only"}, {ID: "2", Phase: "only"}}
		run.Status.Steps = test.steps
		at := slices.IndexFunc(metrics.Run(run, 0), func(p metrics.Point) bool { return p.Family.Name == "run_phase_state" })
		if got := metrics.Run(run, 0)[at].Labels; got[len(got)-1] != test.want {
			t.Errorf("%+v is %v, want %s", test.steps, got, test.want)
		}
	}
}
