package detect

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// RunMetric is one figure of a run.
type RunMetric struct {
	// Name identifies the figure, for example by its phase, target, operation and kind.
	Name string
	// Value is greater than 0. Its unit does not matter, because changes are relative.
	Value float64
	// LowerIsBetter is true for latencies and times.
	LowerIsBetter bool
	// Condition identifies the conditions of the measurement; only figures with the same Condition are compared. For
	// credits and the time to the baseline, it is the fill level of the bucket at the start.
	Condition string
}

// HistoryRun is one of the runs that Regression and ChangePoints compare.
type HistoryRun struct {
	ID      string
	Started time.Time
	// Valid is false if the run's figures must not be compared with other runs.
	Valid bool
	// Metrics are sorted by importance. Regression evaluates only the first four.
	Metrics []RunMetric
	// Facts maps names to circumstances of the run that may explain a change, such as the kernel version.
	Facts map[string]string
	// Judged is the recorded verdict on the run, and JudgedSince is the AcceptedSince of the policy that led to it. The
	// verdict is computed again if AcceptedSince has changed or if Judged is "".
	Judged      RegressionVerdict
	JudgedSince time.Time
	// Use is the role of the run in later evaluations, as recorded after the last evaluation. Like the verdict, it is
	// computed again if AcceptedSince has changed or if Use is "". If uses are recorded, a history may omit runs that
	// no evaluation needs.
	Use RunUse
}

// RunUse is the role of a run in the evaluation of later runs.
type RunUse string

// Roles of a run in the evaluation of later runs.
const (
	// UseBaseline: later runs are compared with this run.
	UseBaseline RunUse = "Baseline"
	// UsePending: the run is one of the newest and not part of the baseline yet. UseSuspected: the run seems worse, but
	// that is not certain. UseRegressed: the run is worse.
	UsePending   RunUse = "Pending"
	UseSuspected RunUse = "Suspected"
	UseRegressed RunUse = "Regressed"
	// UseNone: the run is excluded permanently.
	UseNone RunUse = "None"
)

// RegressionVerdict is the outcome of a comparison of runs.
type RegressionVerdict string

// Possible outcomes of a comparison of runs.
const (
	RegressionNoChange  RegressionVerdict = "NoChange"
	RegressionRegressed RegressionVerdict = "Regressed"
	RegressionImproved  RegressionVerdict = "Improved"
	// RegressionUnknown: there are fewer than LeastBaselineRuns earlier runs to compare with.
	RegressionUnknown RegressionVerdict = "Unknown"
)

// Limits on the runs and figures that Regression compares.
const (
	LeastBaselineRuns     = 4
	MostRegressionMetrics = 4
	defaultBaselineRuns   = 20
	mostHistoryRuns       = 2000
	mostPooledRuns        = 3
)

// falseAlarmRate is the accepted probability of a false alarm: that a run in which nothing has changed is reported as a
// regression because of any of its metrics.
const falseAlarmRate = 0.01

// RegressionPolicy defines which runs are compared and which change is tolerated. The zero value is usable.
type RegressionPolicy struct {
	// Against is the number of earlier runs to compare with; 0 means 20.
	Against int
	// Tolerance is the relative change below which a figure counts as unchanged; 0 means 0.05, which is 5 %.
	Tolerance float64
	// AcceptedSince excludes runs that started before it. Later runs count again even if they were found to be worse
	// than the excluded runs. The zero time excludes no runs.
	AcceptedSince time.Time
}

// MetricChange compares one figure of the newest runs with the same figure of earlier runs.
type MetricChange struct {
	Name    string
	Verdict RegressionVerdict
	// Baseline is the geometric mean of the figure in the earlier runs, and Newest is its geometric mean in the pooled
	// newest runs.
	Baseline, Newest float64
	// Change is the relative change of the newest runs, with its 95 % interval: -0.1 means 10 % lower.
	Change Estimate
	// Spread is the standard deviation of the figure in the earlier runs, relative to their mean. EffectSize is the
	// change divided by Spread; it is positive if the figure increased.
	Spread, EffectSize float64
	// Confidence is 1 minus the probability that chance alone causes such a change in this direction. It is corrected
	// for the number of figures and for the number of looks, which are the comparisons of the newest one, two and three
	// runs.
	Confidence float64
	// BaselineRuns is the number of earlier runs in the comparison, and PooledRuns is the number of newest runs that
	// were pooled.
	BaselineRuns, PooledRuns int
}

// RegressionReport is the comparison of the newest run with earlier runs.
type RegressionReport struct {
	Verdict RegressionVerdict
	Metrics []MetricChange
	// Baseline lists the IDs of the earlier runs in the comparison, and Pooled lists the IDs of the newest runs, oldest
	// first.
	Baseline, Pooled []string
	// Open is true if the newest runs are under suspicion. They stay out of the baseline until the suspicion is
	// resolved.
	Open bool
	// Uses maps the ID of each run to its role in the evaluation of later runs.
	Uses map[string]RunUse
}

// Regression compares the newest run of a history with earlier runs. The history must be oldest first. Regression uses
// the recorded verdicts on earlier runs, and computes those that are not recorded. It ignores runs that are not valid
// or started before AcceptedSince; if it ignores the newest run, the verdict is Unknown. It returns an error if the
// history is empty or has more than 2,000 runs, if a figure is not positive and finite, or if the policy is out of
// range.
func Regression(history []HistoryRun, policy RegressionPolicy) (RegressionReport, error) {
	if err := checkHistory(history, &policy); err != nil {
		return RegressionReport{}, fmt.Errorf("compare runs: %w", err)
	}
	newest := &history[len(history)-1]
	state := regressionState{policy: policy}
	for i := range history {
		run := &history[i]
		if !run.Valid || run.Started.Before(policy.AcceptedSince) {
			continue
		}
		if run == newest {
			report := state.next(run, true)
			report.Uses = state.uses(history[:i+1])
			return report, nil
		}
		if !state.place(run) {
			state.next(run, false)
		}
	}
	if !newest.Valid {
		return RegressionReport{Verdict: RegressionUnknown}, nil
	}
	// The newest run started before AcceptedSince, so report its figures without a comparison.
	none := regressionState{policy: policy}
	return none.next(newest, true), nil
}

func checkHistory(history []HistoryRun, policy *RegressionPolicy) error {
	if len(history) == 0 {
		return errors.New("no runs")
	}
	if len(history) > mostHistoryRuns {
		return fmt.Errorf("too many runs (%d, the limit is %d): omit the oldest", len(history), mostHistoryRuns)
	}
	for i := range history {
		for _, metric := range history[i].Metrics {
			if !(metric.Value > 0) || math.IsInf(metric.Value, 0) {
				return fmt.Errorf("%s of run %s is %g: must be above 0", metric.Name, history[i].ID, metric.Value)
			}
		}
	}
	if policy.Against == 0 {
		policy.Against = defaultBaselineRuns
	}
	if policy.Tolerance == 0 {
		policy.Tolerance = 0.05
	}
	if policy.Against < LeastBaselineRuns || !(policy.Tolerance > 0) || policy.Tolerance >= 10 {
		return fmt.Errorf("against must be at least 4 runs (got %d), and tolerance must be above 0 and below 10 (got %g)", policy.Against, policy.Tolerance)
	}
	return nil
}

// regressionState is the state of the evaluation after the runs so far.
//
//	run ----> pending: the two newest, pooled with the next one ----> baseline, the last 20
//	             |
//	             | one is judged regressed: nothing leaves pending
//	             v
//	          open, until a run is good again: then worse runs are dropped, and the others join the baseline
type regressionState struct {
	policy   RegressionPolicy
	baseline []*HistoryRun
	pending  []pendingRun
}

type pendingRun struct {
	run                   *HistoryRun
	regressed, suspicious bool
}

// next evaluates a run and adds it to the state. For an earlier run, a recorded verdict replaces the computed one. For
// the newest run, it never does.
func (s *regressionState) next(run *HistoryRun, isNewest bool) RegressionReport {
	report := RegressionReport{Verdict: RegressionUnknown}
	report.Baseline = identities(s.baseline[max(0, len(s.baseline)-s.policy.Against):])
	pool := s.pool(run)
	suspicious := false
	metrics := run.Metrics[:min(len(run.Metrics), MostRegressionMetrics)]
	for i := range metrics {
		change, doubtful := s.judge(&metrics[i], pool, len(metrics))
		suspicious = suspicious || doubtful
		report.Metrics = append(report.Metrics, change)
		report.Verdict = moreSevere(report.Verdict, change.Verdict)
	}
	if !isNewest && run.Judged != "" && run.JudgedSince.Equal(s.policy.AcceptedSince) {
		report.Verdict = run.Judged
		suspicious = suspicious || run.Judged == RegressionRegressed
	}
	report.Pooled = identities(pool)
	// A run without a comparable figure does not end a regression.
	suspicious = suspicious || report.Verdict == RegressionUnknown && s.confirmed()
	s.take(run, report.Verdict == RegressionRegressed, suspicious)
	report.Open = suspicious || s.confirmed()
	return report
}

func identities(runs []*HistoryRun) []string {
	names := make([]string, len(runs))
	for i, run := range runs {
		names[i] = run.ID
	}
	return names
}

// place adds a run to the state according to its recorded use. It returns false if the use must be computed.
func (s *regressionState) place(run *HistoryRun) bool {
	if run.Use == "" || !run.JudgedSince.Equal(s.policy.AcceptedSince) {
		return false
	}
	switch run.Use {
	case UseBaseline:
		s.baseline = append(s.baseline, run)
	case UsePending, UseSuspected, UseRegressed:
		s.pending = append(s.pending, pendingRun{run: run, regressed: run.Use == UseRegressed, suspicious: run.Use == UseSuspected})
	case UseNone:
	}
	return true
}

// uses maps the ID of each run to its current use.
func (s *regressionState) uses(history []HistoryRun) map[string]RunUse {
	all := map[string]RunUse{}
	for i := range history {
		all[history[i].ID] = UseNone
	}
	for _, run := range s.baseline {
		all[run.ID] = UseBaseline
	}
	for _, one := range s.pending {
		switch {
		case one.regressed:
			all[one.run.ID] = UseRegressed
		case one.suspicious:
			all[one.run.ID] = UseSuspected
		default:
			all[one.run.ID] = UsePending
		}
	}
	return all
}

// pool returns up to two pending runs, followed by the given run, oldest first.
func (s *regressionState) pool(run *HistoryRun) []*HistoryRun {
	var pool []*HistoryRun
	for _, one := range s.pending[max(0, len(s.pending)-mostPooledRuns+1):] {
		pool = append(pool, one.run)
	}
	return append(pool, run)
}

// take adds an evaluated run to the pending runs. Runs that are no longer pending join the baseline; when a regression
// ends, the pending runs that were worse are dropped instead.
func (s *regressionState) take(run *HistoryRun, regressed, suspicious bool) {
	s.pending = append(s.pending, pendingRun{run: run, regressed: regressed, suspicious: suspicious})
	if s.confirmed() {
		if suspicious || regressed {
			return
		}
		// The regression has ended. Runs that were not worse themselves belong to the baseline.
		for _, one := range s.pending {
			if !one.regressed && !one.suspicious {
				s.baseline = append(s.baseline, one.run)
			}
		}
		s.pending = nil
		return
	}
	for len(s.pending) > mostPooledRuns-1 || len(s.pending) > 0 && len(s.baseline) < LeastBaselineRuns {
		s.baseline = append(s.baseline, s.pending[0].run)
		s.pending = s.pending[1:]
	}
}

// confirmed reports whether a regression was found and has not ended.
func (s *regressionState) confirmed() bool {
	return slices.ContainsFunc(s.pending, func(one pendingRun) bool { return one.regressed })
}

var verdictGravity = map[RegressionVerdict]int{RegressionUnknown: 0, RegressionNoChange: 1, RegressionImproved: 2, RegressionRegressed: 3}

func moreSevere(a, b RegressionVerdict) RegressionVerdict {
	if verdictGravity[b] > verdictGravity[a] {
		return b
	}
	return a
}
