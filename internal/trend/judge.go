package trend

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
)

// Judgement is the result of comparing a run with earlier ones.
type Judgement struct {
	Result v1alpha1.RegressionResult
	// History is the history with the run added. It is unchanged if the run cannot be compared.
	History *v1alpha1.ComparedHistory
}

// Judge compares a run with earlier ones: the runs in the history, and stored runs that are newer than the history.
// A run may be evaluated again with a different policy.
func Judge(history *v1alpha1.ComparedHistory, stored []Run, run Run, policy *v1alpha1.RegressionPolicy) Judgement {
	rules := rulesOf(policy)
	if !run.Valid || run.By == nil || len(run.By.Figures) == 0 {
		why := clip(notComparable(history, stored, &run, rules.AcceptedSince))
		return Judgement{History: history, Result: v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionUnknown, Message: why}}
	}
	all := mergeHistory(history, stored, &run)
	runs := make([]detect.HistoryRun, len(all))
	for i := range all {
		runs[i] = all[i].historyRun()
	}
	report, err := detect.Regression(runs, rules)
	if err != nil {
		return Judgement{History: history, Result: v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionUnknown, Message: clip(err.Error())}}
	}
	for i := range all {
		// Keep what an earlier evaluation recorded for the runs that the current policy excludes.
		if use := report.Uses[all[i].name]; use != "" && !all[i].started.Before(rules.AcceptedSince) {
			all[i].use, all[i].accepted = string(use), rules.AcceptedSince
		}
	}
	made := Judgement{Result: resultOfReport(&report, &run)}
	made.Result.Changes = changes(runs, &run, rules)
	without := lost(all, rules.AcceptedSince)
	made.Result.Message = clip(message(&report, &made.Result, all, &run, history, rules.AcceptedSince) + without)
	if without != "" && report.Verdict == detect.RegressionNoChange {
		made.Result.Verdict = v1alpha1.RegressionUnknown
	}
	judged := &all[len(all)-1]
	judged.verdict, judged.accepted = made.Result.Verdict, rules.AcceptedSince
	made.History = pack(run.Hash, run.By.Store, runsToKeep(all, rules))
	return made
}

// notComparable explains why a run without valid figures is not compared.
func notComparable(history *v1alpha1.ComparedHistory, stored []Run, run *Run, accepted time.Time) string {
	if !run.Valid {
		return fmt.Sprintf("run %s is not valid, so it is not compared", run.Name)
	}
	without := ""
	if run.By != nil {
		without = lost(mergeHistory(history, stored, run), accepted)
	}
	return fmt.Sprintf("run %s has no figure to compare", run.Name) +
		cmp.Or(without, ": add a phase that measures, such as steady")
}

// lost names the figures that most earlier runs have but the newest run does not, such as the rate of a search that
// found none. It returns "" if there are none.
func lost(all []entry, accepted time.Time) string {
	newest, earlier := &all[len(all)-1], 0
	count := map[string]int{}
	for i := range all[:len(all)-1] {
		if all[i].started.Before(accepted) {
			continue
		}
		earlier++
		for _, figure := range all[i].figures {
			count[figure.Figure]++
		}
	}
	for _, figure := range newest.figures {
		delete(count, figure.Figure)
	}
	// A run has at most mostFigures figures, so a figure that only a few runs have may have taken the place of another
	// one.
	maps.DeleteFunc(count, func(_ string, runs int) bool { return runs < detect.LeastBaselineRuns || 2*runs <= earlier })
	if len(count) == 0 {
		return ""
	}
	return "; the run has no " + strings.Join(slices.Sorted(maps.Keys(count)), ", ") + ", which most earlier runs have"
}

func rulesOf(policy *v1alpha1.RegressionPolicy) detect.RegressionPolicy {
	var rules detect.RegressionPolicy
	if policy.Against != nil {
		rules.Against = int(*policy.Against)
	}
	if policy.TolerancePercent != nil {
		rules.Tolerance = float64(*policy.TolerancePercent) / 100
	}
	if policy.AcceptedSince != nil {
		rules.AcceptedSince = policy.AcceptedSince.UTC()
	}
	return rules
}

func (e *entry) historyRun() detect.HistoryRun {
	made := detect.HistoryRun{ID: e.name, Started: e.started, Valid: true, Judged: detect.RegressionVerdict(e.verdict), JudgedSince: e.accepted, Use: detect.RunUse(e.use), Facts: e.facts}
	for i := range e.figures {
		one := &e.figures[i]
		// Include the unit in the condition: the burst of a drain is in bytes or in operations, depending on which credits
		// ran out.
		condition := string(one.Unit) + " " + one.Condition
		made.Metrics = append(made.Metrics, detect.RunMetric{Name: one.Figure, Value: float64(one.Value),
			LowerIsBetter: one.LowerIsBetter, Condition: condition})
	}
	return made
}

// runsToKeep returns the runs to keep in the history: the newest runs, the baseline runs with which the next run may be
// compared, and the newest of the runs recorded as regressed.
func runsToKeep(all []entry, rules detect.RegressionPolicy) []entry {
	against := rules.Against
	if against == 0 {
		against = newestKept
	}
	var some []entry
	baseline, worse := 0, 0
	for i := len(all) - 1; i >= 0; i-- {
		wanted := i >= len(all)-newestKept
		switch detect.RunUse(all[i].use) {
		case detect.UseBaseline:
			baseline++
			wanted = wanted || baseline <= against
		case detect.UseRegressed:
			worse++
			wanted = wanted || worse == 1
		case detect.UsePending, detect.UseSuspected, detect.UseNone:
		}
		if wanted && len(some) < mostRuns {
			some = append(some, all[i])
		}
	}
	slices.Reverse(some)
	return some
}

func resultOfReport(report *detect.RegressionReport, run *Run) v1alpha1.RegressionResult {
	made := v1alpha1.RegressionResult{Verdict: v1alpha1.RegressionVerdict(report.Verdict), PooledRuns: report.Pooled[len(report.Pooled)-pooledRuns(report):], Suspicion: report.Open}
	for i := range report.Metrics {
		from := &report.Metrics[i]
		made.ComparedRuns = max(made.ComparedRuns, int32(from.BaselineRuns)) //nolint:gosec // The API allows far fewer.
		one := v1alpha1.FigureChange{
			Figure: from.Name, Verdict: v1alpha1.RegressionVerdict(from.Verdict), Baseline: whole(from.Baseline), Newest: whole(from.Newest), Unit: unitOf(run, from.Name),
		}
		if from.Verdict != detect.RegressionUnknown {
			one.ChangePermille, one.LowerPermille, one.UpperPermille = permille(from.Change.Value), permille(from.Change.Low), permille(from.Change.High)
			one.SpreadPermille, one.ConfidencePermille = permille(from.Spread), int64(from.Confidence*1000)
		}
		made.Figures = append(made.Figures, one)
	}
	return made
}

// pooledRuns returns the number of newest runs whose figures were pooled for the verdict.
func pooledRuns(report *detect.RegressionReport) int {
	most := 0
	for i := range report.Metrics {
		if report.Metrics[i].Verdict == report.Verdict {
			most = max(most, report.Metrics[i].PooledRuns)
		}
	}
	return min(max(most, 1), len(report.Pooled))
}

func unitOf(run *Run, figure string) v1alpha1.FigureUnit {
	for i := range run.By.Figures {
		if run.By.Figures[i].Figure == figure {
			return run.By.Figures[i].Unit
		}
	}
	return ""
}

// conditionOf returns the condition of a figure in parentheses, or "" if it has none.
func conditionOf(run *Run, figure string) string {
	for i := range run.By.Figures {
		if one := &run.By.Figures[i]; one.Figure == figure && one.Condition != "" {
			return " (" + one.Condition + ")"
		}
	}
	return ""
}

func whole(value float64) int64 {
	if !(value > 0) || value > math.MaxInt64/2 {
		return 0
	}
	return int64(math.Round(value))
}

// mostPermille is the largest change that is reported, in thousandths: a thousandfold increase.
const mostPermille = 1_000_000

func permille(share float64) int64 {
	if math.IsNaN(share) {
		return 0
	}
	return int64(math.Round(min(max(share*1000, -1000), mostPermille)))
}

// mostChanges is the API's limit on the number of level changes.
const mostChanges = 8

// changes returns the level changes of the run's figures, the newest first.
func changes(runs []detect.HistoryRun, run *Run, rules detect.RegressionPolicy) []v1alpha1.LevelChange {
	var all []v1alpha1.LevelChange
	for i := range run.By.Figures {
		points, err := detect.ChangePoints(runs, run.By.Figures[i].Figure, rules)
		if err != nil {
			continue // cannot happen, because detect.Regression has made the same checks
		}
		for _, point := range points {
			one := v1alpha1.LevelChange{Figure: run.By.Figures[i].Figure, Run: point.Run, Time: metav1.NewTime(point.Started),
				Before: whole(point.Before), After: whole(point.After), ChangePermille: permille(point.Change)}
			for _, fact := range point.Differences[:min(len(point.Differences), 8)] {
				one.Differences = append(one.Differences, difference(fact))
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.LevelChange) int { return b.Time.Compare(a.Time.Time) })
	return all[:min(len(all), mostChanges)]
}

func difference(fact detect.FactChange) string {
	name, digests := strings.CutPrefix(fact.Name, changed)
	switch {
	case digests:
		return v1alpha1.Truncate("specification: "+name+" has changed", 256)
	case fact.Before == "":
		return v1alpha1.Truncate(fmt.Sprintf("%s: %s, unknown before", fact.Name, fact.After), 256)
	case fact.After == "":
		return v1alpha1.Truncate(fmt.Sprintf("%s: %s before, unknown now", fact.Name, fact.Before), 256)
	}
	return v1alpha1.Truncate(fmt.Sprintf("%s: %s before, %s now", fact.Name, fact.Before, fact.After), 256)
}

// message describes the verdict in a sentence.
func message(report *detect.RegressionReport, result *v1alpha1.RegressionResult, all []entry, run *Run, history *v1alpha1.ComparedHistory, accepted time.Time) string {
	var reported, unknown []string
	for i := range result.Figures {
		one := &result.Figures[i]
		if one.Verdict == v1alpha1.RegressionUnknown {
			unknown = append(unknown, one.Figure+conditionOf(run, one.Figure))
		}
		if one.Verdict == result.Verdict && (one.Verdict == v1alpha1.RegressionRegressed || one.Verdict == v1alpha1.RegressionImproved) {
			reported = append(reported, fmt.Sprintf("%s is %s, %s (95 %%: %s to %s), compared with the usual %s (spread %s); confidence %.1f %%",
				one.Figure, Written(one.Unit, one.Newest), signed(one.ChangePermille), signed(one.LowerPermille), signed(one.UpperPermille),
				Written(one.Unit, one.Baseline), share(one.SpreadPermille), float64(one.ConfidencePermille)/10))
		}
	}
	switch report.Verdict {
	case detect.RegressionRegressed, detect.RegressionImproved:
		text := strings.Join(reported, "; ") + fmt.Sprintf("; based on %s and %d earlier runs", named(result.PooledRuns), result.ComparedRuns)
		if report.Verdict == detect.RegressionRegressed {
			first := slices.IndexFunc(all, func(e entry) bool { return e.name == result.PooledRuns[0] })
			text += "; to accept it as the new normal, set spec.regression.acceptedSince to " + all[first].started.Format(time.RFC3339)
		}
		return text
	case detect.RegressionNoChange:
		text := fmt.Sprintf("no figure of run %s is worse than in %d earlier runs", run.Name, result.ComparedRuns)
		if report.Open {
			text += "; a regression is suspected, but only further runs can confirm it"
		}
		if len(unknown) > 0 {
			text += fmt.Sprintf("; not compared, because fewer than %d earlier runs have these figures: %s",
				detect.LeastBaselineRuns, strings.Join(unknown, ", "))
		}
		return text
	case detect.RegressionUnknown:
	}
	text := fmt.Sprintf("%s to compare with, but %d are needed",
		measure.FormatCount(int(result.ComparedRuns), "earlier run"), detect.LeastBaselineRuns)
	switch {
	case history != nil && history.Hash != run.Hash:
		text += "; spec.run has changed since earlier runs"
	case history != nil && history.Store != run.By.Store:
		text += "; earlier runs were on different storage"
	case !accepted.IsZero():
		text += "; runs before " + accepted.Format(time.RFC3339) + " do not count (acceptedSince)"
	case len(all) > detect.LeastBaselineRuns:
		text += "; other runs lack these figures or measured them under other conditions: " + strings.Join(unknown, ", ")
	}
	return text
}

func named(runs []string) string {
	if len(runs) == 1 {
		return "run " + runs[0]
	}
	return "runs " + strings.Join(runs, ", ")
}

// Written formats a figure with its unit.
func Written(unit v1alpha1.FigureUnit, value int64) string {
	switch unit {
	case v1alpha1.UnitBytesPerSecond:
		return measure.FormatBytesPerSecond(float64(value))
	case v1alpha1.UnitIOPSMilli:
		return measure.FormatOperationsPerSecond(float64(value) / 1000)
	case v1alpha1.UnitNanoseconds:
		return measure.FormatLatency(uint64(max(value, 0))) // #nosec G115 -- not negative
	case v1alpha1.UnitBytes:
		return measure.FormatBytes(uint64(max(value, 0))) // #nosec G115 -- not negative
	case v1alpha1.UnitOperations:
	}
	return fmt.Sprintf("%d operations", value)
}

func signed(permille int64) string { return fmt.Sprintf("%+.1f %%", float64(permille)/10) }

func share(permille int64) string { return fmt.Sprintf("%.1f %%", float64(permille)/10) }

func clip(text string) string { return v1alpha1.Truncate(text, 1024) }
