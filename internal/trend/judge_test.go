package trend

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
)

var began = time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)

// night returns the run of the nth night with the given figures, in MB/s.
func night(n int, figures ...float64) Run {
	run := Run{Name: fmt.Sprintf("bench-%04d", n), Started: began.Add(time.Duration(n) * 24 * time.Hour), Hash: "h", Valid: true, By: &v1alpha1.Comparable{
		Store: "s", Facts: []v1alpha1.RunFact{{Name: "kernel", Value: "6.1.0"}, {Name: changed + "the workload of read", Value: "abc"}},
	}}
	for i, value := range figures {
		run.By.Figures = append(run.By.Figures, v1alpha1.RunFigure{Figure: fmt.Sprintf("throughput of p%d on t", i), Value: int64(value * 1e6), Unit: v1alpha1.UnitBytesPerSecond})
	}
	return run
}

func standard() *v1alpha1.RegressionPolicy {
	return &v1alpha1.RegressionPolicy{Against: new(int32(20)), TolerancePercent: new(int32(5))}
}

// nights returns runs with four figures of about 100 MB/s, with a spread of 3 %. From night falls on, the first figure
// is lower by a tenth.
func nights(r *rand.Rand, count, falls int) []Run {
	all := make([]Run, count)
	for n := range all {
		figures := make([]float64, 4)
		for i := range figures {
			figures[i] = 100 * math.Exp(0.03*r.NormFloat64())
		}
		if n >= falls {
			figures[0] *= 0.9
		}
		all[n] = night(n, figures...)
	}
	return all
}

// TestStatusIsEnough checks that the part of a history that is kept in the status leads to the same verdicts as the
// whole history, and does not grow without bounds during a long regression.
func TestStatusIsEnough(t *testing.T) {
	differ, judged, found, foundWhole := 0, 0, 0, 0
	for seed := range uint64(6) {
		all := nights(rand.New(rand.NewPCG(seed, 1)), 90, 50)
		var runsToKeep *v1alpha1.ComparedHistory
		var whole []detect.HistoryRun
		for n := range all {
			made := Judge(runsToKeep, nil, all[n], standard())
			runsToKeep = made.History
			encoded, err := json.Marshal(runsToKeep)
			if err != nil {
				t.Fatal(err)
			}
			if len(encoded) > 8<<10 || len(runsToKeep.Runs) > 50 {
				t.Fatalf("night %d: %d bytes, %d runs", n, len(encoded), len(runsToKeep.Runs))
			}
			run := entryOf(&all[n])
			whole = append(whole, run.historyRun())
			report, err := detect.Regression(whole, rulesOf(standard()))
			if err != nil {
				t.Fatal(err)
			}
			for i := range whole {
				whole[i].Use = report.Uses[whole[i].ID]
			}
			if n >= 52 && report.Verdict == detect.RegressionRegressed {
				foundWhole++
			}
			judged++
			if string(report.Verdict) != string(made.Result.Verdict) {
				differ++
			}
			if n >= 52 && made.Result.Verdict == v1alpha1.RegressionRegressed {
				found++
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d verdicts differ from those of the whole history", differ, judged)
	}
	if found < 6*38*7/10 {
		t.Errorf("of %d nights after the fall %d are judged regressed", 6*38, found)
	}
	t.Logf("%d of %d verdicts differ; %d of %d are judged regressed, by the whole history %d", differ, judged, found, 6*38, foundWhole)
}

// TestHistoryIsReadBack checks that a history is unchanged after packing and unpacking, and that trimming does not
// change the remaining runs.
func TestHistoryIsReadBack(t *testing.T) {
	all := nights(rand.New(rand.NewPCG(2, 2)), 30, 30)
	all[7].By.Facts = []v1alpha1.RunFact{{Name: "kernel", Value: "6.2.0"}}
	all[8].By.Figures = all[8].By.Figures[:2]
	all[9].By.Figures[1].Condition = "filled to 90 %"
	var entries []entry
	for i := range all {
		one := entryOf(&all[i])
		one.verdict = v1alpha1.RegressionNoChange
		entries = append(entries, one)
	}
	packed := pack("h", "s", entries)
	again := unpack(packed)
	for i := range entries {
		want, got := shown(entries[i]), shown(again[i])
		if want != got {
			t.Errorf("run %d was\n%s and is\n%s", i, want, got)
		}
	}
	cut := unpack(Trim(packed, 22))
	if len(cut) != 22 || shown(cut[0]) != shown(entries[8]) {
		t.Errorf("cut to %d runs, the first\n%s, want\n%s", len(cut), shown(cut[0]), shown(entries[8]))
	}
}

func shown(e entry) string {
	// fmt prints maps in the order of their keys.
	values := map[string]int64{}
	for _, figure := range e.figures {
		values[figure.Figure+figure.Condition] = figure.Value
	}
	return fmt.Sprint(e.name, e.started, e.verdict, values, e.facts)
}

func TestVerdictsAndMessages(t *testing.T) {
	earlier := func(count int) []Run { return nights(rand.New(rand.NewPCG(3, 3)), count, count) }
	last := func(n int, change func(*Run), figures ...float64) Run {
		run := night(n, figures...)
		change(&run)
		return run
	}
	asItIs := func(*Run) {}
	degraded := func(r *Run) {
		for i := range r.By.Figures {
			r.By.Figures[i].Condition = "clients missing"
		}
	}
	without := func(figure int, runs []Run) []Run {
		for i := range runs {
			runs[i].By.Figures = slices.Delete(runs[i].By.Figures, figure, figure+1)
		}
		return runs
	}
	for name, test := range map[string]struct {
		stored []Run
		run    Run
		policy *v1alpha1.RegressionPolicy
		want   v1alpha1.RegressionVerdict
		told   string
	}{
		"worse": {earlier(20), last(20, asItIs, 70, 100, 100, 100), standard(), v1alpha1.RegressionRegressed,
			"throughput of p0 on t is 70.00 MB/s, -3"},
		"what to do": {earlier(20), last(20, asItIs, 70, 100, 100, 100), standard(), v1alpha1.RegressionRegressed,
			"set spec.regression.acceptedSince to 2026-01-21T03:00:00Z"},
		"a new figure": {without(0, earlier(20)), last(20, asItIs, 100, 100, 100, 100), standard(),
			v1alpha1.RegressionNoChange, "; not compared, because fewer than 4 earlier runs have these figures: throughput of p0 on t"},
		"a figure is gone": {earlier(20), without(0, []Run{last(20, asItIs, 100, 100, 100, 100)})[0], standard(), v1alpha1.RegressionUnknown,
			"earlier runs; the run has no throughput of p0 on t, which most earlier runs have"},
		"one is gone and one is worse": {earlier(20), without(1, []Run{last(20, asItIs, 70, 100, 100, 100)})[0], standard(),
			v1alpha1.RegressionRegressed, "; the run has no throughput of p1 on t, which most earlier runs have"},
		"gone and accepted": {append(earlier(16), without(0, earlier(20)[16:])...), without(0, []Run{last(20, asItIs, 100, 100, 100, 100)})[0],
			&v1alpha1.RegressionPolicy{AcceptedSince: new(metav1.NewTime(began.Add(16 * 24 * time.Hour)))}, v1alpha1.RegressionNoChange, "is worse"},
		"clients missing": {earlier(20), last(20, degraded, 75, 75, 75, 75), standard(), v1alpha1.RegressionUnknown,
			"0 earlier runs to compare with, but 4 are needed; other runs lack these figures or measured them under other conditions: " +
				"throughput of p0 on t (clients missing), "},
		"better":         {earlier(20), last(20, asItIs, 150, 100, 100, 100), standard(), v1alpha1.RegressionImproved, "based on run bench-0020 and 1"},
		"as ever":        {earlier(20), last(20, asItIs, 100, 100, 100, 100), standard(), v1alpha1.RegressionNoChange, "no figure of run bench-0020 is worse"},
		"three runs":     {earlier(3), last(3, asItIs, 70, 100, 100, 100), standard(), v1alpha1.RegressionUnknown, "3 earlier runs to compare with, but 4 are needed"},
		"not valid":      {earlier(20), last(20, func(r *Run) { r.Valid = false }, 70), standard(), v1alpha1.RegressionUnknown, "is not valid"},
		"no figure":      {nil, last(20, asItIs), standard(), v1alpha1.RegressionUnknown, "has no figure to compare: add a phase that measures, such as steady"},
		"all are gone":   {earlier(20), last(20, asItIs), standard(), v1alpha1.RegressionUnknown, "has no figure to compare; the run has no throughput of p0 on t, "},
		"nothing known":  {earlier(20), last(20, func(r *Run) { r.By = nil }), standard(), v1alpha1.RegressionUnknown, "has no figure"},
		"another store":  {earlier(20), last(20, func(r *Run) { r.By.Store = "other" }, 70, 100, 100, 100), standard(), v1alpha1.RegressionUnknown, "0 earlier runs to compare with"},
		"another hash":   {earlier(20), last(20, func(r *Run) { r.Hash = "other" }, 70, 100, 100, 100), standard(), v1alpha1.RegressionUnknown, "0 earlier runs to compare with"},
		"invalid before": {func() []Run { all := earlier(20); all[4].Valid = false; return all }(), last(20, asItIs, 70, 100, 100, 100), standard(), v1alpha1.RegressionRegressed, "17 earlier runs"},
		"accepted": {earlier(20), last(20, asItIs, 70, 100, 100, 100),
			&v1alpha1.RegressionPolicy{AcceptedSince: new(metav1.NewTime(began.Add(20 * 24 * time.Hour)))}, v1alpha1.RegressionUnknown, "runs before 2026-01-21T03:00:00Z do not count"},
		"wide tolerance": {earlier(20), last(20, asItIs, 70, 100, 100, 100), &v1alpha1.RegressionPolicy{TolerancePercent: new(int32(50))}, v1alpha1.RegressionNoChange, "is worse"},
	} {
		made := Judge(nil, test.stored, test.run, test.policy)
		// The Regressed condition has the reason TooFewRuns if there are figures, and NotComparable otherwise.
		if slices.Contains([]string{"not valid", "no figure", "all are gone", "nothing known"}, name) != (len(made.Result.Figures) == 0) {
			t.Errorf("%s: %d figures", name, len(made.Result.Figures))
		}
		if made.Result.Verdict != test.want || !strings.Contains(made.Result.Message, test.told) {
			t.Errorf("%s: %s: %s; want %s and %q", name, made.Result.Verdict, made.Result.Message, test.want, test.told)
		}
	}
}

// TestAcceptedAfterTheNewestRun checks that a run from before acceptedSince has figures, but is compared with no run.
func TestAcceptedAfterTheNewestRun(t *testing.T) {
	all := nights(rand.New(rand.NewPCG(3, 3)), 21, 21)
	policy := standard()
	policy.AcceptedSince = new(metav1.NewTime(all[20].Started.Add(time.Hour)))
	made := Judge(nil, all[:20], all[20], policy)
	if made.Result.Verdict != v1alpha1.RegressionUnknown || len(made.Result.Figures) != 4 || made.Result.ComparedRuns != 0 {
		t.Errorf("%+v, want 4 figures and no verdict", made.Result)
	}
}

// TestUnitsAreNotCompared checks that the burst of a drain is not compared if one run has it in bytes per second and
// the other in operations per second.
func TestUnitsAreNotCompared(t *testing.T) {
	all := nights(rand.New(rand.NewPCG(6, 6)), 9, 9)
	burst := v1alpha1.RunFigure{Figure: "burst of drain on t", Value: 170e6, Unit: v1alpha1.UnitBytesPerSecond}
	for n := range all {
		all[n].By.Figures = []v1alpha1.RunFigure{burst}
	}
	all[8].By.Figures[0].Value, all[8].By.Figures[0].Unit = 2594e3, v1alpha1.UnitIOPSMilli
	made := Judge(nil, all[:8], all[8], standard()).Result
	if made.Verdict != v1alpha1.RegressionUnknown || made.ComparedRuns != 0 || len(made.Changes) > 0 {
		t.Errorf("%s, compared with %d runs, changes %+v", made.Verdict, made.ComparedRuns, made.Changes)
	}
}

// TestChangesAreExplained checks that a change of level is reported with its first run, the date, and the facts that
// changed with it.
func TestChangesAreExplained(t *testing.T) {
	all := nights(rand.New(rand.NewPCG(4, 4)), 30, 30)
	for n := 15; n < 30; n++ {
		all[n].By.Figures[1].Value = all[n].By.Figures[1].Value * 3 / 4
		all[n].By.Facts = []v1alpha1.RunFact{{Name: "kernel", Value: "6.12.0"}, {Name: "node type", Value: "m5.large"}, {Name: changed + "the workload of read", Value: "def"}}
	}
	made := Judge(nil, all[:29], all[29], standard())
	if len(made.Result.Changes) != 1 {
		t.Fatalf("%+v", made.Result.Changes)
	}
	change := made.Result.Changes[0]
	if change.Run != "bench-0015" || !change.Time.Equal(&metav1.Time{Time: all[15].Started}) || change.Figure != "throughput of p1 on t" || change.ChangePermille > -200 || change.ChangePermille < -300 {
		t.Errorf("%+v", change)
	}
	want := "kernel: 6.1.0 before, 6.12.0 now; node type: m5.large, unknown before; specification: the workload of read has changed"
	if got := strings.Join(change.Differences, "; "); got != want {
		t.Errorf("the differences are %q, want %q", got, want)
	}
}

// TestJudgedAgain checks that a run that is judged again is not added to the history twice.
func TestJudgedAgain(t *testing.T) {
	all := nights(rand.New(rand.NewPCG(5, 5)), 12, 12)
	first := Judge(nil, all[:11], all[11], standard())
	second := Judge(first.History, all, all[11], standard())
	if len(second.History.Runs) != 12 || second.Result.Verdict != first.Result.Verdict {
		t.Errorf("%d runs; %q, then %q", len(second.History.Runs), first.Result.Message, second.Result.Message)
	}
}
