package storagebenchmark

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/trend"
)

// floor sets one objective: a minimum throughput of the phase.
func floor(least string) func(*v1alpha1.StorageBenchmark) {
	return func(b *v1alpha1.StorageBenchmark) {
		quantity := resource.MustParse(least)
		b.Spec.Objectives = []v1alpha1.Objective{{Name: "floor", Phase: "write", Throughput: &v1alpha1.QuantityBounds{Min: &quantity}}}
	}
}

func compared(b *v1alpha1.StorageBenchmark) {
	b.Spec.Regression = &v1alpha1.RegressionPolicy{Against: new(int32(20)), TolerancePercent: new(int32(5))}
}

func with(changes ...func(*v1alpha1.StorageBenchmark)) *v1alpha1.StorageBenchmark {
	benchmark := bench()
	for _, change := range changes {
		change(benchmark)
	}
	return benchmark
}

// at returns a function that ends a run with the given throughput in MB/s.
func at(megabytes float64) func(*v1alpha1.BenchmarkRun, time.Time) {
	return func(run *v1alpha1.BenchmarkRun, now time.Time) {
		good(run, now)
		operation := &run.Status.Phases[0].Targets[0].Operations[0]
		operation.BytesPerSecond = new(int64(megabytes * 1e6))
		run.Status.Environments = []v1alpha1.Environment{{Target: "data", Clients: 1, Kernel: "6.1.0"}}
		if megabytes < 90 {
			run.Status.Environments[0].Kernel = "6.12.0"
		}
		record.Finished(run, nil, now)
	}
}

// remembers stores a history with the given throughputs in the status, as nightly runs would.
func (b *bed) remembers(rates ...int64) {
	b.Helper()
	benchmark := b.steady()
	run := &v1alpha1.BenchmarkRun{}
	if err := cluster.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: benchmark.Status.LastRun.Name}, run); err != nil {
		b.Fatal(err)
	}
	judged := trend.RunOf(run)
	history := &v1alpha1.ComparedHistory{Hash: judged.Hash, Store: judged.By.Store,
		Figures: []v1alpha1.ComparedFigure{{Figure: judged.By.Figures[0].Figure, Unit: judged.By.Figures[0].Unit}}}
	for i, rate := range rates {
		history.Runs = append(history.Runs, v1alpha1.ComparedRun{Name: fmt.Sprintf("bench-%08d", i),
			Time: metav1.NewTime(judged.Started.Add(time.Duration(i-len(rates)) * 24 * time.Hour)), Values: []int64{rate}})
	}
	benchmark.Status.History = history
	if err := cluster.Status().Update(b.Context(), benchmark); err != nil {
		b.Fatal(err)
	}
}

// remembered gives a benchmark a history of nightly runs at steadyRates.
func remembered(b *v1alpha1.StorageBenchmark) {
	b.Status.History = &v1alpha1.ComparedHistory{Hash: plan.RunHash(&b.Spec.Run), Store: trend.Compare(&v1alpha1.BenchmarkRun{}).Store,
		Figures: []v1alpha1.ComparedFigure{{Figure: "throughput of write on data", Unit: v1alpha1.UnitBytesPerSecond}}}
	for i, rate := range steadyRates {
		run := v1alpha1.ComparedRun{Name: fmt.Sprintf("bench-%08d", i), Values: []int64{int64(rate * 1e6)},
			Time: metav1.NewTime(begin0.Add(time.Duration(i-len(steadyRates)) * 24 * time.Hour))}
		if i == 0 {
			run.Facts = []v1alpha1.RunFact{{Name: "kernel", Value: "6.1.0"}}
		}
		b.Status.History.Runs = append(b.Status.History.Runs, run)
	}
}

// steadyRates are the throughputs of nightly runs in MB/s, within 1 % of 100.
var steadyRates = []float64{100, 101, 99, 100.5, 99.5, 100, 101, 99}

var judgedSequences = []sequence{
	{"objectives are changed", []client.Object{with(floor("100M")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		w.edit("an objective that is missed", floor("200M"))
		w.edit("suspend: true", suspend(true))
		w.edit("an objective that is met", floor("50M"))
		w.edit("suspend: false, and one that is missed", func(b *v1alpha1.StorageBenchmark) { suspend(false)(b); floor("300M")(b) })
		w.edit("none", func(b *v1alpha1.StorageBenchmark) { b.Spec.Objectives = nil })
	}},
	{"objectives are changed while a run is live", []client.Object{with(floor("100M")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("an objective that will be missed", floor("200M"))
		w.ends("good", good)
	}},
	{"objectives are changed with spec.run", []client.Object{with(floor("100M")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("another number of clients, and an objective that will be missed", func(b *v1alpha1.StorageBenchmark) { clients(2)(b); floor("200M")(b) })
		w.ends("good", good)
		w.ends("good", good)
		w.edit("back to what was run first", clients(1))
	}},
	{"objectives are changed, and the run is gone", []client.Object{with(floor("100M")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		run := w.runs()[0]
		w.deletes(&run)
		w.edit("an objective that is met", floor("50M"))
		w.edit("none", func(b *v1alpha1.StorageBenchmark) { b.Spec.Objectives = nil })
		w.edit("one again", floor("50M"))
		w.edit("requested at v1", request1("v1"))
		w.ends("good", good)
	}},
	{"objectives of a run that failed", []client.Object{with(floor("100M")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("failed", failed)
		w.edit("another objective", floor("50M"))
	}},
	{"nights that get worse, with a history limit of two", []client.Object{with(compared, remembered, func(b *v1alpha1.StorageBenchmark) {
		b.Spec.HistoryLimit = new(int32(2))
	}), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("as ever", at(100))
		w.edit("night 2", request1("night 2"))
		w.ends("worse", at(80))
		w.edit("night 3", request1("night 3"))
		w.ends("worse", at(81))
		w.edit("the new level is accepted", func(b *v1alpha1.StorageBenchmark) {
			b.Spec.Regression.AcceptedSince = &metav1.Time{Time: w.clock.Now().Add(-2 * time.Minute)}
		})
		w.edit("no comparison", func(b *v1alpha1.StorageBenchmark) { b.Spec.Regression = nil })
	}},
}

func init() { sequences = append(sequences, judgedSequences...) }

// TestHistoryIsKeptAndRebuilt checks that the history survives the pruning of runs, and is rebuilt from the stored runs
// if the status loses it.
func TestHistoryIsKeptAndRebuilt(t *testing.T) {
	w := newWorld(t, with(compared, func(b *v1alpha1.StorageBenchmark) { b.Spec.HistoryLimit = new(int32(4)) }), claimNamed("data"))
	w.settle()
	for i, rate := range steadyRates {
		if i > 0 {
			w.edit("again", request1(fmt.Sprint(i)))
		}
		w.ends("good", at(rate))
	}
	kept := w.benchmark().Status.History
	if len(w.runs()) != 4 || len(kept.Runs) != len(steadyRates) {
		t.Fatalf("%d runs are stored, and %d remembered", len(w.runs()), len(kept.Runs))
	}
	if facts := kept.Runs[0].Facts; len(facts) == 0 || len(kept.Runs[1].Facts) != 0 {
		t.Errorf("facts must be stored only for runs where they change: %+v, %+v", facts, kept.Runs[1].Facts)
	}
	lost := w.benchmark()
	lost.Status.History, lost.Status.Regression = nil, nil
	if err := w.client.Status().Update(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	w.edit("again", request1("once more"))
	w.ends("good", at(100))
	rebuilt := w.benchmark().Status.History
	if len(rebuilt.Runs) != 5 || !equality.Semantic.DeepEqual(rebuilt.Runs[2].Values, kept.Runs[6].Values) {
		t.Errorf("the rebuilt history has %d runs: %+v", len(rebuilt.Runs), rebuilt)
	}
}

// TestHistoryOutlivesThePolicy checks that the history is kept while spec.regression is absent.
func TestHistoryOutlivesThePolicy(t *testing.T) {
	w := newWorld(t, with(compared, remembered), claimNamed("data"))
	w.settle()
	w.ends("as ever", at(100))
	w.edit("no comparison", func(b *v1alpha1.StorageBenchmark) { b.Spec.Regression = nil })
	w.edit("compared again", compared)
	w.edit("again", request1("again"))
	w.ends("worse", at(80))
	status := w.benchmark().Status
	if status.Regression == nil || status.Regression.Verdict != v1alpha1.RegressionRegressed {
		t.Errorf("a worse run is judged %+v, with a history of %+v", status.Regression, status.History)
	}
}

// TestLargestVerdictFits checks that a status that exceeds the maximum size is shortened, but keeps all verdicts on
// objectives and the newest runs of the history.
func TestLargestVerdictFits(t *testing.T) {
	benchmark := with(compared)
	run := largest(begin0)
	run.Spec.Hash = "h"
	benchmark.Status.LastRun = &v1alpha1.JudgedRun{}
	benchmark.Status.ActiveRun = &v1alpha1.RunReference{Name: run.Name}
	wide := strings.Repeat("w", 300)
	for i := range 64 {
		least := resource.MustParse("9E")
		benchmark.Spec.Objectives = append(benchmark.Spec.Objectives, v1alpha1.Objective{Name: fmt.Sprintf("%02d%s", i, wide[:38]),
			Phase: run.Status.Phases[i%32].Name, Target: run.Status.Phases[0].Targets[i%16].Target, Operation: v1alpha1.OperationRead,
			Throughput: &v1alpha1.QuantityBounds{Min: &least}})
	}
	history := &v1alpha1.ComparedHistory{Hash: "h"}
	for range 8 {
		history.Figures = append(history.Figures, v1alpha1.ComparedFigure{Figure: wide[:128], Unit: v1alpha1.UnitBytesPerSecond, Condition: wide[:64]})
	}
	for i := range 80 {
		history.Runs = append(history.Runs, v1alpha1.ComparedRun{Name: fmt.Sprintf("%s-%d", wide[:45], i), Time: metav1.NewTime(begin0),
			Values: []int64{1 << 60, 1 << 60, 1 << 60, 1 << 60, 1 << 60, 1 << 60, 1 << 60, 1 << 60}})
	}
	benchmark.Status.History = history
	obs := observation{benchmark: benchmark, hash: "h", now: begin0, active: activeRun{state: activeEnded, run: run}}
	benchmark.Status = reportOn(obs, action{do: judge}, outcome{}).status
	checkBenchmark(t, benchmark)
	status := &benchmark.Status
	if len(status.Objectives) != 64 || status.Objectives[63].Verdict != v1alpha1.VerdictMet && status.Objectives[63].Observed == nil || status.History == nil || len(status.History.Runs) == 0 {
		t.Errorf("%d objectives, %d headlines and a history of %+v are left", len(status.Objectives), len(status.Headlines), status.History)
	}
	t.Logf("%d bytes, %d headlines, %d runs", size(status), len(status.Headlines), len(status.History.Runs))
}

// TestRegressedCondition checks the condition for each verdict of a comparison with earlier runs.
func TestRegressedCondition(t *testing.T) {
	figures := []v1alpha1.FigureChange{{Figure: "throughput of read on t", Verdict: v1alpha1.RegressionUnknown}}
	others := []v1alpha1.FigureChange{{Figure: "throughput of read on t", Verdict: v1alpha1.RegressionNoChange}}
	for name, test := range map[string]struct {
		found  *v1alpha1.RegressionResult
		hash   string
		status metav1.ConditionStatus
		reason string
	}{
		"worse":          {&v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionRegressed, Figures: figures}, "h", metav1.ConditionTrue, v1alpha1.ReasonRegressed},
		"better":         {&v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionImproved, Figures: figures}, "h", metav1.ConditionFalse, v1alpha1.ReasonImproved},
		"the same":       {&v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionNoChange, Figures: figures}, "h", metav1.ConditionFalse, v1alpha1.ReasonNoChange},
		"too few runs":   {&v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionUnknown, Figures: figures}, "h", metav1.ConditionUnknown, v1alpha1.ReasonTooFewRuns},
		"not comparable": {&v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionUnknown}, "h", metav1.ConditionUnknown, v1alpha1.ReasonNotComparable},
		"a lost figure":  {&v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionUnknown, Figures: others}, "h", metav1.ConditionUnknown, v1alpha1.ReasonNotComparable},
		"another hash":   {&v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionRegressed, Figures: figures}, "g", metav1.ConditionUnknown, v1alpha1.ReasonNotJudged},
		"no verdict":     {nil, "h", metav1.ConditionUnknown, v1alpha1.ReasonNotJudged},
	} {
		benchmark := with(compared)
		status := &v1alpha1.StorageBenchmarkStatus{LastRun: &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Hash: test.hash}}, Regression: test.found}
		got := regressedCondition(status, observation{benchmark: benchmark, hash: "h"})
		if got == nil || got.status != test.status || got.reason != test.reason {
			t.Errorf("%s: %+v, want %s %s", name, got, test.status, test.reason)
		}
	}
	if got := regressedCondition(&v1alpha1.StorageBenchmarkStatus{}, observation{benchmark: with(func(*v1alpha1.StorageBenchmark) {}), hash: "h"}); got != nil {
		t.Errorf("a benchmark without spec.regression has %+v", got)
	}
}
