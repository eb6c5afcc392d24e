package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
)

// sideOf returns a run with one phase that has the given result.
func sideOf(name string, phase v1alpha1.Phase, kind v1alpha1.PhaseKind, result v1alpha1.TargetResult) compare.Side {
	phase.Name = "p"
	return compare.Side{Name: name, ID: name, Run: &v1alpha1.RunSpec{Phases: []v1alpha1.Phase{phase}},
		Status: &v1alpha1.BenchmarkRunStatus{Phases: []v1alpha1.PhaseResult{{Name: "p", Kind: kind, Targets: []v1alpha1.TargetResult{result}}}}}
}

// TestFiguresOfOneRun checks that a main figure that only one run has is listed as not comparable, whichever run is the
// baseline.
func TestFiguresOfOneRun(t *testing.T) {
	drain := func(exhausted bool) v1alpha1.TargetResult {
		level := func(v int64) *v1alpha1.Estimate {
			return &v1alpha1.Estimate{Value: v, Lower: new(v - v/100), Upper: new(v + v/100)}
		}
		series := &v1alpha1.BurstSeries{Burst: level(260e6)}
		burst := &v1alpha1.BurstResult{Exhausted: exhausted, Dimension: "Bytes", Bytes: series}
		if exhausted {
			series.Baseline, series.Drops, burst.NanosecondsToBaseline = level(32e6), []v1alpha1.Drop{{Spent: level(600e9)}}, level(1800e9)
		}
		return v1alpha1.TargetResult{Target: "t", Clients: 1, Burst: burst}
	}
	stopped := steady("t", 1_000_000, 10_000)
	stopped.Operations[0].BytesPerSecond, stopped.Operations[0].IOPSMilli = new(int64(0)), new(int64(0))
	for name, test := range map[string]struct {
		phase    v1alpha1.Phase
		kind     v1alpha1.PhaseKind
		one, two v1alpha1.TargetResult
		want     string // what "two" does not have
	}{
		"both drains ended": {v1alpha1.Phase{BurstDrain: &v1alpha1.BurstDrainPhase{}}, v1alpha1.PhaseBurstDrain, drain(true), drain(true), ""},
		"one drain ended":   {v1alpha1.Phase{BurstDrain: &v1alpha1.BurstDrainPhase{}}, v1alpha1.PhaseBurstDrain, drain(true), drain(false), "Baseline, TimeToBaseline, Spent"},
		"equal rates":       {v1alpha1.Phase{Steady: &v1alpha1.SteadyPhase{}}, v1alpha1.PhaseSteady, steady("t", 1_000_000, 10_000), steady("t", 1_000_000, 10_000), ""},
		"a rate of 0":       {v1alpha1.Phase{Steady: &v1alpha1.SteadyPhase{}}, v1alpha1.PhaseSteady, steady("t", 1_000_000, 10_000), stopped, "Write Throughput above 0"},
	} {
		one, two := sideOf("one", test.phase, test.kind, test.one), sideOf("two", test.phase, test.kind, test.two)
		for _, sides := range [][2]compare.Side{{one, two}, {two, one}} {
			all := compare.Runs(sides[0], sides[1], 0.05)
			switch {
			case len(all) == 0 || all[0].Refused != "" || len(all[0].Figures) == 0:
				t.Errorf("%s: %+v, want figures that both have", name, all)
			case test.want == "" && len(all) > 1:
				t.Errorf("%s: refused %q, want none", name, all[1].Refused)
			case test.want != "" && (len(all) != 2 || all[1].Refused != "two has no "+test.want):
				t.Errorf("%s, %s first: %+v, want %s refused", name, sides[0].Name, all[1:], test.want)
			}
		}
	}
}

// TestWarningsOfOneRun checks that a warning that only one of two runs has is shown as a note, unless it is
// informational.
func TestWarningsOfOneRun(t *testing.T) {
	phase := v1alpha1.Phase{Steady: &v1alpha1.SteadyPhase{}}
	one, two := steady("t", 1_000_000, 10_000), steady("t", 2_000_000, 10_000)
	both := v1alpha1.NewWarning(v1alpha1.WarningVolumeInUse, v1alpha1.PhaseSteady, "another pod writes")
	one.Warnings = []v1alpha1.Warning{both}
	two.Warnings = []v1alpha1.Warning{both, v1alpha1.NewWarning(v1alpha1.WarningTooFewSamples, v1alpha1.PhaseSteady, "no p99.9"),
		v1alpha1.NewWarning(v1alpha1.WarningPageCacheSuspected, v1alpha1.PhaseSteady, "reads took 2 us")}
	sides := []compare.Side{sideOf("one", phase, v1alpha1.PhaseSteady, one), sideOf("two", phase, v1alpha1.PhaseSteady, two)}
	for range sides {
		got := compare.Runs(sides[0], sides[1], 0.05)[0].Notes
		if want := []string{"two: PageCacheSuspected: reads took 2 us"}; !slices.Equal(got, want) {
			t.Errorf("%s first: notes %q, want %q", sides[0].Name, got, want)
		}
		slices.Reverse(sides)
	}
}

// TestTargetsLoadedInTurn checks that a note says so if two targets of one run were loaded one after the other. Targets
// of different runs get no such note.
func TestTargetsLoadedInTurn(t *testing.T) {
	phase := v1alpha1.Phase{Mode: v1alpha1.PhaseSequential, Steady: &v1alpha1.SteadyPhase{}}
	one := sideOf("one", phase, v1alpha1.PhaseSteady, steady("one", 1_000_000, 10_000))
	two := sideOf("two", phase, v1alpha1.PhaseSteady, steady("two", 2_000_000, 10_000))
	if notes := compare.Runs(one, two, 0.05)[0].Notes; len(notes) > 0 {
		t.Errorf("two runs: notes %q, want none", notes)
	}
	two.ID = one.ID
	if notes := compare.Runs(one, two, 0.05)[0].Notes; len(notes) != 1 || !strings.Contains(notes[0], "one after the other") {
		t.Errorf("one run: notes %q, want that the targets were loaded one after the other", notes)
	}
}

// TestEquivalenceIsNotRounded checks that equivalence is judged by the exact interval, not by one rounded to
// thousandths.
func TestEquivalenceIsNotRounded(t *testing.T) {
	phase := v1alpha1.Phase{Steady: &v1alpha1.SteadyPhase{}}
	one := sideOf("one", phase, v1alpha1.PhaseSteady, steady("t", 100_000_000, 0))
	two := sideOf("two", phase, v1alpha1.PhaseSteady, steady("t", 100_080_000, 689)) // at most 0.149 % higher
	throughput := compare.Runs(one, two, 0.001)[0].Figures[0]
	if throughput.Figure != v1alpha1.FigureThroughput || throughput.Equivalence != compare.Inconclusive {
		t.Errorf("%s: %s, want %s", throughput.Figure, throughput.Equivalence, compare.Inconclusive)
	}
}

// TestSearchesOnTheBaseline checks that searches in the Baseline regime are compared. Their result also has a burst,
// from the drain before the steps.
func TestSearchesOnTheBaseline(t *testing.T) {
	search := func(target string, bytesPerSecond int64) v1alpha1.TargetResult {
		level := &v1alpha1.Estimate{Value: 260e6, Lower: new(int64(259e6)), Upper: new(int64(261e6))}
		result := steady(target, bytesPerSecond, 10_000)
		result.Usage = nil
		result.Burst = &v1alpha1.BurstResult{Exhausted: true, Dimension: "Bytes",
			Bytes: &v1alpha1.BurstSeries{Burst: level, Baseline: level}}
		result.Steps, result.Search = []v1alpha1.StepResult{{Cell: 0}}, &v1alpha1.SearchResult{Found: true}
		return result
	}
	phase := v1alpha1.Phase{Search: &v1alpha1.SearchPhase{Regime: v1alpha1.RegimeBaseline}}
	one, two := search("one", 1e6), search("two", 3e6)
	runs := func() []compare.RunPhase {
		return compare.Runs(sideOf("one", phase, v1alpha1.PhaseSearch, one),
			sideOf("two", phase, v1alpha1.PhaseSearch, two), 0.05)
	}
	all := runs()
	if len(all) != 1 || len(all[0].Figures) == 0 {
		t.Errorf("two runs: %+v, want figures", all)
	}
	results := []v1alpha1.TargetResult{one, two}
	targets := compare.Targets(nil, &v1alpha1.PhaseResult{Kind: v1alpha1.PhaseSearch, Targets: results})
	if len(targets) != 1 || len(targets[0].Figures) == 0 {
		t.Errorf("two targets: %+v, want figures", targets)
	}
	two.Search.AtLeast = true // the search ended at the drain's baseline
	if all = runs(); len(all) != 1 {
		t.Errorf("a search that ended at the baseline: %+v, want only figures", all)
	}
	two.Warnings = []v1alpha1.Warning{{Type: v1alpha1.WarningSearchInconclusive, Severity: v1alpha1.SeverityWarning}}
	all = runs()
	const unknown = "two met the objective even at rate.max, so its highest rate is unknown: raise rate.max"
	if len(all) != 2 || all[1].Refused != unknown {
		t.Errorf("a search that ended at rate.max: %+v, want its highest rate refused", all)
	}
	two.Search, two.Warnings = &v1alpha1.SearchResult{}, nil
	all = runs()
	if len(all) != 2 || all[1].Refused != "two has no Write IOPS, Write P99Latency" {
		t.Errorf("a search that found no rate: %+v, want its figures refused", all)
	}
}

// TestCellWithoutARate checks that a cell whose rate is 0 on one side only is not compared, because it has no relative
// difference. Neither is a cell that lost clients on one side only.
func TestCellWithoutARate(t *testing.T) {
	sweep := func(rates ...int64) (result v1alpha1.TargetResult) {
		result.Target = "t"
		for i, rate := range rates {
			result.Steps = append(result.Steps, v1alpha1.StepResult{Cell: int32(i), Operations: []v1alpha1.StepOperation{
				{Operation: v1alpha1.OperationRead, BytesPerSecond: rate, IOPSMilli: rate, MeanNanoseconds: 1000}}})
		}
		return result
	}
	phase := v1alpha1.Phase{Sweep: &v1alpha1.SweepPhase{}}
	degraded := sweep(10e6, 0, 10e6)
	degraded.Steps[2].Clients, degraded.Steps[2].Warnings = 3, []v1alpha1.WarningType{v1alpha1.WarningClientsMissing}
	one, two := sideOf("one", phase, v1alpha1.PhaseSweep, sweep(10e6, 10e6, 10e6)), sideOf("two", phase, v1alpha1.PhaseSweep, degraded)
	all := compare.Runs(one, two, 0.05)
	if len(all) != 1 || len(all[0].Cells) != 3 {
		t.Fatalf("%+v", all)
	}
	if third := all[0].Cells[2]; third.Refused != "clients were lost on one side" || len(third.Figures) > 0 {
		t.Errorf("%+v, want it refused", third)
	}
	if first, second := all[0].Cells[0], all[0].Cells[1]; first.Refused != "" || len(first.Figures) == 0 || second.Refused == "" || len(second.Figures) > 0 {
		t.Errorf("%+v and %+v, want only the second refused", first, second)
	}
}

// TestUnknownKind checks that a phase of a kind that only newer versions know is not compared.
func TestUnknownKind(t *testing.T) {
	one := sideOf("one", v1alpha1.Phase{}, "Copy", steady("t", 100e6, 10_000))
	two := sideOf("two", v1alpha1.Phase{}, "Copy", steady("t", 50e6, 10_000))
	const want = "this version of storagebench does not know Copy phases: use a newer version"
	if all := compare.Runs(one, two, 0.05); len(all) != 1 || all[0].Refused != want {
		t.Errorf("%+v, want it refused", all)
	}
}

// TestTargetOfOneRun checks that a target that only one of two runs has is listed as not compared, whichever run has
// it.
func TestTargetOfOneRun(t *testing.T) {
	run := func(name string, targets ...string) compare.Side {
		spec := &v1alpha1.RunSpec{Phases: []v1alpha1.Phase{{Name: "write", Steady: &v1alpha1.SteadyPhase{}}}}
		phase := ofOneRun(100, 0)[1]
		phase.Targets = nil
		for _, target := range targets {
			result := ofOneRun(100, 0)[1].Targets[0]
			result.Target = target
			phase.Targets = append(phase.Targets, result)
		}
		return compare.Side{Name: name, ID: name, Run: spec, Status: &v1alpha1.BenchmarkRunStatus{Phases: []v1alpha1.PhaseResult{phase}}}
	}
	one, two := run("one", "a", "b"), run("two", "b", "c")
	want := map[string]string{
		"a/":  "two has no target a: select one target of each run with RUN:TARGET",
		"b/b": "",
		"/c":  "one has no target c: select one target of each run with RUN:TARGET",
	}
	phases := compare.Runs(one, two, 0.05)
	if len(phases) != len(want) {
		t.Errorf("it has %d comparisons, want %d", len(phases), len(want))
	}
	for _, phase := range phases {
		refused, known := want[phase.BaselineTarget+"/"+phase.Target]
		if !known || phase.Refused != refused {
			t.Errorf("%q and %q: refused: %q", phase.BaselineTarget, phase.Target, phase.Refused)
		}
	}
}
