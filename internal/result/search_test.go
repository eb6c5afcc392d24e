package result_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/search"
)

func searchPhase() *v1alpha1.Phase {
	return &v1alpha1.Phase{Name: "search", Search: &v1alpha1.SearchPhase{
		Objective: v1alpha1.SearchObjective{Latency: v1alpha1.SearchLatency{Percentile: "99", Max: "5ms"}},
		Rate:      v1alpha1.SearchRate{Min: new(int64(100)), Max: 3200}, Regime: v1alpha1.RegimeAny, StepDuration: "1m"}}
}

func asked(t *testing.T, phase *v1alpha1.Phase) result.History {
	t.Helper()
	question, problems := search.Of(field.NewPath("search"), phase.Search, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return result.History{Search: &question}
}

// offered returns the result of one minute at a rate. slowerPPM millionths of the operations take 8 ms; half of the
// others take 1 ms, half 2 ms.
func offered(t *testing.T, rate float64, slowerPPM uint64, warnings ...v1alpha1.Warning) v1alpha1.TargetResult {
	t.Helper()
	var latency measure.Latency
	count := uint64(rate * 60)
	slow := count * slowerPPM / 1e6
	latency.AddNanoseconds(8e6, slow)
	latency.AddNanoseconds(1e6, (count-slow)/2)
	latency.AddNanoseconds(2e6, count-slow-(count-slow)/2)
	histogram, err := latency.Histogram.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return v1alpha1.TargetResult{Target: "data", Clients: 1, Warnings: warnings, WindowNanoseconds: 60e9, Operations: []v1alpha1.OperationResult{{
		Operation: v1alpha1.OperationRead, Operations: int64(count), Bytes: int64(count) * 4096, IOPSMilli: new(int64(rate * 1000)), BytesPerSecond: new(int64(rate * 4096)),
		RateErrorPPM: new(int64(10_000)),
		Latency: &v1alpha1.LatencyResult{Samples: int64(count), MeanNanoseconds: int64(latency.MeanNanoseconds()), MinNanoseconds: 1e6, MaxNanoseconds: 8e6,
			P50Nanoseconds: new(int64(1e6)), P99Nanoseconds: new(int64(2e6)), Histogram: histogram},
	}}}
}

// seek runs a search on a store whose share of slow operations depends on the rate.
func seek(t *testing.T, phase *v1alpha1.Phase, slowerPPM func(rate int64) uint64) v1alpha1.TargetResult {
	t.Helper()
	return seekAfter(t, phase, asked(t, phase), slowerPPM)
}

// seekAfter is seek with a history and with additional warnings for the steps at some rates.
func seekAfter(t *testing.T, phase *v1alpha1.Phase, history result.History, slowerPPM func(rate int64) uint64,
	more ...func(rate int64) []v1alpha1.Warning,
) v1alpha1.TargetResult {
	t.Helper()
	var into v1alpha1.TargetResult
	for index := 0; ; index++ {
		decision := history.Search.Next(result.Trials(&into, time.Minute))
		if decision.Stage == search.Done {
			return into
		}
		step := plan.Step{Phase: "search", Kind: v1alpha1.PhaseSearch, Purpose: plan.Measure, Cell: index, Duration: time.Minute, Clients: 1, Targets: []string{"data"},
			Confirms: decision.Stage == search.Confirming}.Offering(decision.Rate, history.Search.Latency)
		made := offered(t, float64(decision.Rate), slowerPPM(decision.Rate), warned(v1alpha1.WarningStartSkew, v1alpha1.PhaseSearch, "skewed"))
		for _, warnings := range more {
			made.Warnings = append(made.Warnings, warnings(decision.Rate)...)
		}
		result.Fold(phase, &into, step, history, made)
		once := *into.DeepCopy()
		if result.Fold(phase, &into, step, history, made); cmp.Diff(once, into) != "" {
			t.Fatalf("step %d: folding it again changed the result:\n%s", index, cmp.Diff(once, into))
		}
	}
}

// TestSearchUpToTheBaseline checks a search in which no rate missed the objective. The result must say whether the
// highest rate may be higher, and whether burst credits may have contributed.
func TestSearchUpToTheBaseline(t *testing.T) {
	for name, test := range map[string]struct {
		baseline float64
		says     string
		higher   bool
		credits  bool
	}{
		"a baseline below rate.max": {1000, "no rate up to the baseline missed the objective", false, false},
		"a baseline above rate.max": {10_000, "the highest rate may be higher", true, false},
		"no drain":                  {0, "the highest rate may be higher", true, true},
	} {
		history := asked(t, searchPhase())
		if test.baseline > 0 {
			history.Drained = true
			history.Search = new(history.Search.Below(test.baseline))
		}
		found := seekAfter(t, searchPhase(), history, func(int64) uint64 { return 5000 })
		if !found.Search.AtLeast || !strings.Contains(found.Search.Message, test.says) ||
			strings.Contains(found.Search.Message, "were not drained before") != test.credits {
			t.Errorf("%s: %+v", name, found.Search)
		}
		if doubt := slices.ContainsFunc(found.Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningSearchInconclusive }); doubt != test.higher {
			t.Errorf("%s: warnings %+v", name, found.Warnings)
		}
	}
}

// TestSearchIsPooled checks that the figures combine the five steps that confirm the highest rate.
func TestSearchIsPooled(t *testing.T) {
	found := seek(t, searchPhase(), func(rate int64) uint64 {
		if rate > 1000 {
			return 20_000
		}
		return 5000
	})
	rate := *found.Search.OfferedIOPS
	if !found.Search.Found || found.Search.AtLeast || rate > 1000 || rate < 970 {
		t.Fatalf("%+v", found.Search)
	}
	read := found.Operations[0]
	if read.Operations < 5*60*rate-5 || read.Operations > 5*60*rate || *read.IOPSMilli < rate*1000-1 || *read.IOPSMilli > rate*1000+1 || found.WindowNanoseconds != 5*60e9 {
		t.Errorf("%d operations at %d milli-IOPS in %d ns", read.Operations, *read.IOPSMilli, found.WindowNanoseconds)
	}
	if got := *read.RateErrorPPM; got < 4470 || got > 4480 {
		t.Errorf("the error of five steps of 1 %% each is %d ppm, want 1 %% / sqrt(5)", got)
	}
	if *read.Latency.P99Nanoseconds < 1.98e6 || *read.Latency.P99Nanoseconds > 2.02e6 || read.Latency.MaxNanoseconds != 8e6 || read.Latency.Samples != read.Operations {
		t.Errorf("latency %+v", read.Latency)
	}
	if share := found.Search.SlowerPPM; share.Value < 4980 || share.Value > 5000 || *share.Upper < share.Value {
		t.Errorf("%+v are slower", share)
	}
	if len(found.Warnings) != 1 || found.Warnings[0].Type != v1alpha1.WarningStartSkew {
		t.Errorf("warnings %+v", found.Warnings)
	}
	if found.Knee == nil || found.Knee.Message == "" {
		t.Error("the result has no message about the knee")
	}
	confirming := 0
	for _, step := range found.Steps {
		if step.Confirms != nil {
			confirming++
		}
		if step.OfferedIOPS == nil || step.SlowerPPM == nil || step.Operations[0].P50Nanoseconds == nil {
			t.Errorf("%+v", step)
		}
	}
	if confirming != search.Confirmations {
		t.Errorf("%d steps confirm it", confirming)
	}
}

func TestSearchConcludes(t *testing.T) {
	for name, test := range map[string]struct {
		slowerPPM func(rate int64) uint64
		says      string
		warns     string
		found     bool
	}{
		"all meet it":   {func(int64) uint64 { return 1000 }, "so the highest rate may be higher", "no rate missed the objective: raise rate.max", true},
		"none meets it": {func(int64) uint64 { return 50_000 }, "no rate was confirmed", "the first rate, 100.0 IOPS, missed the objective", false},
	} {
		found := seek(t, searchPhase(), test.slowerPPM)
		if found.Search.Found != test.found || !strings.Contains(found.Search.Message, test.says) {
			t.Errorf("%s: %+v", name, found.Search)
		}
		inconclusive := false
		for _, warning := range found.Warnings {
			inconclusive = inconclusive || warning.Type == v1alpha1.WarningSearchInconclusive && strings.Contains(warning.Message, test.warns)
		}
		if !inconclusive || (len(found.Operations) > 0) != test.found {
			t.Errorf("%s: %+v, %d operations", name, found.Warnings, len(found.Operations))
		}
	}
}

// TestInvalidStepOfASearch checks that a step without valid figures counts as missed, and makes the search inconclusive
// unless a lower rate missed the objective.
func TestInvalidStepOfASearch(t *testing.T) {
	for invalid, doubt := range map[int64]bool{800: true, 1600: false} {
		found := seekAfter(t, searchPhase(), asked(t, searchPhase()), func(rate int64) uint64 {
			if rate > 1000 {
				return 20_000
			}
			return 5000
		}, func(rate int64) []v1alpha1.Warning {
			if rate != invalid {
				return nil
			}
			return []v1alpha1.Warning{warned(v1alpha1.WarningCommonWindowTooShort, v1alpha1.PhaseSearch, "short")}
		})
		at := slices.Index(types(found.Warnings), v1alpha1.WarningSearchInconclusive)
		if !found.Search.Found || (at >= 0) != doubt ||
			doubt && !strings.Contains(found.Warnings[at].Message, "a step at 800.0 IOPS has no valid figures") {
			t.Errorf("invalid at %d: %+v, warnings %+v", invalid, found.Search, found.Warnings)
		}
	}
}

// TestInvalidFirstStepOfASearch checks that the warning names the reason if no rate was found because the first step
// has no valid figures.
func TestInvalidFirstStepOfASearch(t *testing.T) {
	question := asked(t, searchPhase())
	found := seekAfter(t, searchPhase(), question, func(int64) uint64 { return 5000 }, func(rate int64) []v1alpha1.Warning {
		if rate != question.Search.Min {
			return nil
		}
		return []v1alpha1.Warning{warned(v1alpha1.WarningCommonWindowTooShort, v1alpha1.PhaseSearch, "short")}
	})
	at := slices.Index(types(found.Warnings), v1alpha1.WarningSearchInconclusive)
	if found.Search.Found || at < 0 || !strings.Contains(found.Warnings[at].Message, "has no valid figures") {
		t.Errorf("%+v, warnings %+v", found.Search, found.Warnings)
	}
}

// TestTooFewPooledSamples checks that the warning counts the samples of all confirming steps.
func TestTooFewPooledSamples(t *testing.T) {
	phase := searchPhase()
	phase.Search.Rate.Max = 100
	few := warned(v1alpha1.WarningTooFewSamples, v1alpha1.PhaseSearch, "Read: 6000 samples are too few for p99.9, p99.99")
	found := seekAfter(t, phase, asked(t, phase), func(int64) uint64 { return 5000 }, func(int64) []v1alpha1.Warning {
		return []v1alpha1.Warning{few}
	})
	at := slices.Index(types(found.Warnings), v1alpha1.WarningTooFewSamples)
	if at < 0 || found.Warnings[at].Message != "Read: 30000 samples are too few for p99.99" {
		t.Errorf("warnings %+v", found.Warnings)
	}
}

// TestSlowerIsRoundedUp checks that the share of slower operations is rounded up to whole millionths.
func TestSlowerIsRoundedUp(t *testing.T) {
	phase := searchPhase()
	for slower, want := range map[uint64]int64{0: 0, 1: 1, 10: 1, 14: 2} {
		made := offered(t, 100, 0)
		var histogram measure.Histogram
		histogram.AddNanoseconds(1e6, 10_000_000-slower)
		histogram.AddNanoseconds(9e6, slower)
		encoded, err := histogram.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		made.Operations[0].Latency.Histogram = encoded
		var into v1alpha1.TargetResult
		step := plan.Step{Phase: "search", Kind: v1alpha1.PhaseSearch, Purpose: plan.Measure,
			Duration: time.Minute, Clients: 1, Targets: []string{"data"}}
		result.Fold(phase, &into, step.Offering(100, 5*time.Millisecond), asked(t, phase), made)
		if got := *into.Steps[0].SlowerPPM; got != want {
			t.Errorf("%d of 10 million slower: %d ppm, want %d", slower, got, want)
		}
	}
}

// TestSearchWithoutLatencies checks that a step without latencies does not confirm the objective.
func TestSearchWithoutLatencies(t *testing.T) {
	phase := searchPhase()
	history := asked(t, phase)
	made := offered(t, 100, 0)
	made.Operations[0].Latency = nil
	var into v1alpha1.TargetResult
	step := plan.Step{Phase: "search", Kind: v1alpha1.PhaseSearch, Purpose: plan.Measure, Duration: time.Minute, Clients: 1, Targets: []string{"data"}}
	result.Fold(phase, &into, step.Offering(100, 5*time.Millisecond), history, made)
	if into.Search.Found || into.Steps[0].SlowerPPM != nil || len(into.Operations) > 0 {
		t.Errorf("%+v", into)
	}
}
