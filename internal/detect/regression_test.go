package detect

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

var steadyWorld = world{spread: 0.02, metrics: 1}

func newestOf(t *testing.T, history []HistoryRun, policy RegressionPolicy) RegressionReport {
	t.Helper()
	report, err := Regression(history, policy)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func random() *rand.Rand { return rand.New(rand.NewPCG(11, 12)) }

func TestRegressionVerdicts(t *testing.T) {
	lost := func(runs int, factor float64) []HistoryRun { return steadyWorld.history(random(), 20+runs, 20, factor) }
	latency := func(factor float64) []HistoryRun {
		history := lost(1, factor)
		for i := range history {
			history[i].Metrics[0].LowerIsBetter = true
		}
		return history
	}
	for name, one := range map[string]struct {
		history []HistoryRun
		want    RegressionVerdict
	}{
		"nothing changed":        {lost(1, 1), RegressionNoChange},
		"a fifth less":           {lost(1, 0.8), RegressionRegressed},
		"a fifth more":           {lost(1, 1.25), RegressionImproved},
		"under the tolerance":    {lost(3, 0.97), RegressionNoChange},
		"more latency":           {latency(1.25), RegressionRegressed},
		"less latency":           {latency(0.8), RegressionImproved},
		"three earlier runs":     {lost(1, 0.8)[17:], RegressionUnknown},
		"five earlier runs":      {lost(1, 0.5)[15:], RegressionRegressed},
		"four equal earlier":     {equalRuns(5, 0), RegressionNoChange},
		"a loss of equal ones":   {equalRuns(9, 0.2), RegressionRegressed},
		"the first of all":       {lost(1, 1)[:1], RegressionUnknown},
		"a loss of months ago":   {lost(60, 0.8), RegressionRegressed},
		"no figure in the run":   {withoutFigures(lost(1, 0.8)), RegressionUnknown},
		"not valid":              {changedRun(lost(1, 0.8), func(run *HistoryRun) { run.Valid = false }), RegressionUnknown},
		"another start":          {changedRun(lost(1, 0.8), func(run *HistoryRun) { run.Metrics[0].Condition = "half full" }), RegressionUnknown},
		"a fifth figure":         {changedRun(world{spread: 0.02, metrics: 5}.history(random(), 21, 21, 1), func(run *HistoryRun) { run.Metrics[4].Value /= 2 }), RegressionNoChange},
		"the fourth, a latency":  {changedRun(world{spread: 0.02, metrics: 4}.history(random(), 21, 21, 1), func(run *HistoryRun) { run.Metrics[3].Value *= 2 }), RegressionRegressed},
		"one of four is missing": {changedRun(world{spread: 0.02, metrics: 4}.history(random(), 21, 20, 0.7), func(run *HistoryRun) { run.Metrics = run.Metrics[:2] }), RegressionRegressed},
	} {
		if got := newestOf(t, one.history, RegressionPolicy{}); got.Verdict != one.want {
			t.Errorf("%s: %s, want %s (%+v)", name, got.Verdict, one.want, got.Metrics)
		}
	}
}

// equalRuns returns runs with identical figures, except that the figure of the last run is lower by the given fraction.
func equalRuns(runs int, less float64) []HistoryRun {
	history := make([]HistoryRun, runs)
	for i := range history {
		history[i] = HistoryRun{ID: string(rune('a' + i)), Valid: true, Metrics: []RunMetric{{Name: "x", Value: 100}}}
	}
	history[runs-1].Metrics[0].Value *= 1 - less
	return history
}

func withoutFigures(history []HistoryRun) []HistoryRun {
	return changedRun(history, func(run *HistoryRun) { run.Metrics = nil })
}

// changedRun applies a change to the newest run.
func changedRun(history []HistoryRun, change func(run *HistoryRun)) []HistoryRun {
	last := &history[len(history)-1]
	last.Metrics = slices.Clone(last.Metrics)
	change(last)
	return history
}

func TestRegressionFigures(t *testing.T) {
	report := newestOf(t, steadyWorld.history(random(), 23, 20, 0.9), RegressionPolicy{})
	change := report.Metrics[0]
	if report.Verdict != RegressionRegressed || change.Change.Low > -0.1 || change.Change.High < -0.1 || change.Change.Low < -0.15 || change.Change.High > -0.05 {
		t.Errorf("a loss of a tenth is reported as %+v", change)
	}
	if math.Abs(change.Spread-0.02) > 0.01 || change.EffectSize > -3 || change.Confidence < 0.99 || change.Confidence > 1 {
		t.Errorf("spread, effect and confidence: %+v", change)
	}
	if !slices.Equal(report.Pooled, []string{"20", "21", "22"}) || len(report.Baseline) != 18 || report.Baseline[17] != "17" || !report.Open {
		t.Errorf("runs from 20 on are worse, and 18 and 19 had not entered the baseline yet: %v against %v", report.Pooled, report.Baseline)
	}
}

// TestRegressionStaysOut checks that runs judged Regressed never join the baseline, however long the regression lasts,
// until the new level is accepted or the regression ends.
func TestRegressionStaysOut(t *testing.T) {
	history := steadyWorld.history(random(), 80, 30, 0.8)
	for n := 31; n <= len(history); n++ {
		if report := newestOf(t, history[:n], RegressionPolicy{}); report.Verdict != RegressionRegressed || report.Baseline[len(report.Baseline)-1] != "27" {
			t.Fatalf("run %d: %s against runs up to %s", n-1, report.Verdict, report.Baseline[len(report.Baseline)-1])
		}
	}
	accepted := RegressionPolicy{AcceptedSince: history[30].Started}
	if report := newestOf(t, history, accepted); report.Verdict != RegressionNoChange || report.Baseline[0] < "30" {
		t.Errorf("the accepted level is judged %s against %v", report.Verdict, report.Baseline)
	}
	odd := slices.Clone(history)
	odd[40].Metrics = slices.Clone(odd[40].Metrics)
	odd[40].Metrics[0].Condition = "clients missing"
	if report := newestOf(t, odd[:41], RegressionPolicy{}); report.Verdict != RegressionUnknown || !report.Open {
		t.Errorf("a run that cannot be compared is judged %s, open is %t", report.Verdict, report.Open)
	}
	back := steadyWorld.history(random(), 90, 30, 0.8)
	for i := 60; i < len(back); i++ {
		back[i].Metrics[0].Value /= 0.8
	}
	for n := 61; n <= len(back); n++ {
		report := newestOf(t, back[:n], RegressionPolicy{})
		if report.Verdict != RegressionNoChange {
			t.Errorf("run %d, well again, is judged %s", n-1, report.Verdict)
		}
		for _, id := range report.Baseline {
			if id >= "30" && id < "60" {
				t.Fatalf("run %s of the bad time is in the baseline of run %d", id, n-1)
			}
		}
	}
}

// TestRegressionKeepsRecords checks that recorded verdicts remain valid when older runs are deleted, but not after
// their level was accepted.
func TestRegressionKeepsRecords(t *testing.T) {
	history := steadyWorld.history(random(), 60, 30, 0.8)
	for i := 30; i < 60; i++ {
		history[i].Judged = RegressionRegressed
	}
	if report := newestOf(t, history[26:], RegressionPolicy{}); report.Verdict != RegressionRegressed {
		t.Errorf("with four good runs left: %s", report.Verdict)
	}
	if report := newestOf(t, history[30:], RegressionPolicy{}); report.Verdict != RegressionUnknown {
		t.Errorf("with no good run left: %s", report.Verdict)
	}
	accepted := RegressionPolicy{AcceptedSince: history[30].Started}
	if report := newestOf(t, history, accepted); report.Verdict != RegressionNoChange {
		t.Errorf("a verdict from before the level was accepted counts: %s", report.Verdict)
	}
}

func TestRegressionIsTheSameEachTime(t *testing.T) {
	history := world{spread: 0.05, correlation: 0.2, metrics: 4}.history(random(), 100, 50, 0.85)
	first := newestOf(t, history, RegressionPolicy{})
	if again := newestOf(t, history, RegressionPolicy{}); !reflect.DeepEqual(first, again) {
		t.Errorf("%+v and %+v", first, again)
	}
}

func TestRegressionRefuses(t *testing.T) {
	bad := equalRuns(5, 0)
	bad[2].Metrics[0].Value = 0
	for name, one := range map[string]struct {
		history []HistoryRun
		policy  RegressionPolicy
	}{
		"no run": {}, "a figure of 0": {history: bad}, "no number": {history: changedRun(equalRuns(5, 0), func(r *HistoryRun) { r.Metrics[0].Value = math.NaN() })},
		"too many": {history: make([]HistoryRun, mostHistoryRuns+1)}, "against one": {history: equalRuns(5, 0), policy: RegressionPolicy{Against: 1}},
		"against too few": {history: equalRuns(5, 0), policy: RegressionPolicy{Against: LeastBaselineRuns - 1}},
		"tolerance":       {history: equalRuns(5, 0), policy: RegressionPolicy{Tolerance: -1}},
	} {
		if _, err := Regression(one.history, one.policy); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestChangePoints(t *testing.T) {
	r := random()
	history := world{spread: 0.03, correlation: mild, metrics: 1}.history(r, 120, 40, 0.88)
	for i := 80; i < 120; i++ {
		history[i].Metrics[0].Value *= 1.3
	}
	for i := range history {
		history[i].Facts = map[string]string{"kernel": "6.1", "node": "m5"}
		if i >= 40 {
			history[i].Facts["kernel"] = "6.8"
		}
		if i >= 81 {
			delete(history[i].Facts, "node")
		}
	}
	points, err := ChangePoints(history, "0", RegressionPolicy{})
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 2 {
		t.Fatalf("%d changes, want 2: %+v", len(points), points)
	}
	if points[0].Run != "40" || points[0].Previous != "39" || !points[0].Started.Equal(time.Unix(40*86400, 0)) ||
		math.Abs(points[0].Change+0.12) > 0.03 {
		t.Errorf("the first change, at run 40: %+v", points[0])
	}
	if want := []FactChange{{Name: "kernel", Before: "6.1", After: "6.8"}}; !reflect.DeepEqual(points[0].Differences, want) {
		t.Errorf("what differs at run 40: %v", points[0].Differences)
	}
	if points[1].Run != "80" || len(points[1].Differences) != 0 {
		t.Errorf("the second change, at run 80: %+v", points[1])
	}
	again, err := ChangePoints(history, "0", RegressionPolicy{})
	if err != nil || !reflect.DeepEqual(points, again) {
		t.Errorf("another answer the second time: %v, %v", again, err)
	}
	if none, err := ChangePoints(history, "unknown", RegressionPolicy{}); err != nil || len(none) != 0 {
		t.Errorf("an unknown figure: %v, %v", none, err)
	}
}

// TestChangePointsAreRare checks that change points are rare in histories without a change, and that a change is found
// close to its run.
func TestChangePointsAreRare(t *testing.T) {
	alarms, found, exact := 0, 0, 0
	const histories = 100
	r := random()
	for range histories {
		quiet, err := ChangePoints(world{spread: 0.05, correlation: mild, metrics: 1}.history(r, 60, 60, 1), "0", RegressionPolicy{})
		if err != nil {
			t.Fatal(err)
		}
		if len(quiet) > 0 {
			alarms++
		}
		points, err := ChangePoints(world{spread: 0.03, correlation: mild, metrics: 1}.history(r, 60, 30, 0.9), "0", RegressionPolicy{})
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range points {
			if point.Run >= "28" && point.Run <= "32" {
				found++
			}
			if point.Run == "30" {
				exact++
			}
		}
	}
	t.Logf("%d of %d quiet histories have a change; of the changed ones %d are found within two runs, %d at the run", alarms, histories, found, exact)
	if alarms > 5 || found < 95 || exact < 70 {
		t.Errorf("%d alarms, %d found, %d exact", alarms, found, exact)
	}
}

// TestRegressionIntervalOfFewRuns checks that the interval has 97.5 % of the distribution below its upper bound for any
// number of degrees of freedom.
func TestRegressionIntervalOfFewRuns(t *testing.T) {
	for _, freedom := range []float64{1, 1.6, 2.3, 2.6, 2.9, 3.4, 5, 19} {
		side, look, change := runsSide{spread: 0.02, freedom: freedom}, runsComparison{runs: 1, difference: 0.1, deviation: 0.01}, MetricChange{}
		change.show(&side, &look)
		within := (math.Log1p(change.Change.High) - look.difference) / look.deviation
		of := distuv.StudentsT{Sigma: 1, Nu: freedom}
		if got := of.CDF(within); math.Abs(got-0.975) > 1e-6 {
			t.Errorf("%g degrees of freedom: the upper bound is above %.2f %%, want 97.5 %%", freedom, 100*got)
		}
	}
}
