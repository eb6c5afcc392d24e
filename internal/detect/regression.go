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
	// Name of the figure, such as that of its phase, target, operation and kind.
	Name string
	// Value is above 0; in which unit does not matter, because changes are shares.
	Value float64
	// LowerIsBetter holds for latencies and times.
	LowerIsBetter bool
	// Condition under which the figure was taken: only figures of the same one are compared. For credits
	// and time to baseline it says how full the bucket was at the start.
	Condition string
}

// HistoryRun is a run in a history.
type HistoryRun struct {
	ID      string
	Started time.Time
	// Valid is false for a run whose result does not count.
	Valid bool
	// Key is the same for runs that can be compared: the hash of what was run and the kind of store.
	Key string
	// Metrics in the order of their importance. The first four are judged.
	Metrics []RunMetric
	// Facts that may explain a change, such as the kernel, by their name.
	Facts map[string]string
	// Judged is the verdict that was recorded for the run with JudgedSince as what was accepted, and
	// stands as long as that holds. "": it is worked out anew.
	Judged      RegressionVerdict
	JudgedSince time.Time
	// Use is what the run was found to be good for after the last judgement, which stands as long. "": it is worked
	// out anew. With it a history may lack runs that are of no use any more.
	Use RunUse
}

// RunUse is what a run is good for when later ones are judged.
type RunUse string

// The uses.
const (
	// UseBaseline: later runs are compared with it.
	UseBaseline RunUse = "Baseline"
	// UsePending: it is one of the newest, and not compared with yet. UseSuspected: it looks worse, without being sure.
	// UseRegressed: it is worse.
	UsePending   RunUse = "Pending"
	UseSuspected RunUse = "Suspected"
	UseRegressed RunUse = "Regressed"
	// UseNone: it is left out for good.
	UseNone RunUse = "None"
)

// RegressionVerdict is the outcome of a comparison of runs.
type RegressionVerdict string

// The verdicts.
const (
	RegressionNoChange  RegressionVerdict = "NoChange"
	RegressionRegressed RegressionVerdict = "Regressed"
	RegressionImproved  RegressionVerdict = "Improved"
	// RegressionUnknown: fewer than LeastBaselineRuns earlier runs to compare with.
	RegressionUnknown RegressionVerdict = "Unknown"
)

// Bounds of a comparison.
const (
	LeastBaselineRuns     = 4
	MostRegressionMetrics = 4
	defaultBaselineRuns   = 20
	mostHistoryRuns       = 2000
	mostPooledRuns        = 3
)

// falseAlarmRate is how often a run is judged regressed without cause at most, over all its metrics.
const falseAlarmRate = 0.01

// RegressionPolicy says what is compared with what. The zero value is usable.
type RegressionPolicy struct {
	// Against is how many earlier runs are compared with. 0: 20.
	Against int
	// Tolerance is the share by which a figure may change, such as 0.05. 0: 0.05.
	Tolerance float64
	// AcceptedSince leaves runs that started before it out, and lets those that were judged regressed
	// against them count. Zero: none.
	AcceptedSince time.Time
}

// MetricChange is the comparison of one figure.
type MetricChange struct {
	Name    string
	Verdict RegressionVerdict
	// Baseline is the geometric mean of the earlier runs, Newest that of the pooled newest ones.
	Baseline, Newest float64
	// Change is the share by which the newest differ, with its 95 % interval: -0.1 is a tenth less.
	Change Estimate
	// Spread of the earlier runs from one to the next: the standard deviation as a share. EffectSize is
	// the change in such spreads; above 0 is more of the figure.
	Spread, EffectSize float64
	// Confidence that a change of this direction is there, after the correction for all figures and looks.
	Confidence float64
	// Runs that were compared with, and newest ones that were pooled.
	BaselineRuns, PooledRuns int
}

// RegressionReport is the comparison of the newest run with earlier ones.
type RegressionReport struct {
	Verdict RegressionVerdict
	Metrics []MetricChange
	// Baseline and Pooled are the IDs of the runs on the two sides, the oldest first.
	Baseline, Pooled []string
	// Open tells that the newest runs are under suspicion: they stay out of the baseline until that is
	// decided.
	Open bool
	// Uses of all runs that count, by ID.
	Uses map[string]RunUse
}

// Regression judges the last run of a history, which is given oldest first. What was judged before
// follows from the history itself or from what was recorded. Runs with another key than the newest, or
// that are not valid, count for nothing. Errors tell of a history that no one has.
func Regression(history []HistoryRun, policy RegressionPolicy) (RegressionReport, error) {
	if err := checkHistory(history, &policy); err != nil {
		return RegressionReport{}, fmt.Errorf("compare runs: %w", err)
	}
	newest := &history[len(history)-1]
	state := regressionState{policy: policy}
	for i := range history {
		run := &history[i]
		if run.Key != newest.Key || !run.Valid || run.Started.Before(policy.AcceptedSince) {
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
	return RegressionReport{Verdict: RegressionUnknown}, nil
}

func checkHistory(history []HistoryRun, policy *RegressionPolicy) error {
	if len(history) == 0 {
		return errors.New("there is no run")
	}
	if len(history) > mostHistoryRuns {
		return fmt.Errorf("%d runs are more than %d: leave out the oldest", len(history), mostHistoryRuns)
	}
	for i := range history {
		for _, metric := range history[i].Metrics {
			if !(metric.Value > 0) || math.IsInf(metric.Value, 0) {
				return fmt.Errorf("%s of run %s is %g: figures are above 0", metric.Name, history[i].ID, metric.Value)
			}
		}
	}
	if policy.Against == 0 {
		policy.Against = defaultBaselineRuns
	}
	if policy.Tolerance == 0 {
		policy.Tolerance = 0.05
	}
	if policy.Against < LeastBaselineRuns-1 || !(policy.Tolerance > 0) || policy.Tolerance >= 10 {
		return fmt.Errorf("against %d runs with a tolerance of %g: compare with some runs, and with a share as the tolerance", policy.Against, policy.Tolerance)
	}
	return nil
}

// regressionState is what the runs so far have left.
//
//	run ----> pending: the two newest, pooled with the next one ----> baseline, the last 20
//	             |
//	             | one is judged regressed: nothing leaves pending any more
//	             v
//	          open, until a run looks well again: the worse ones are dropped, the others go to the baseline
type regressionState struct {
	policy   RegressionPolicy
	baseline []*HistoryRun
	pending  []pendingRun
}

type pendingRun struct {
	run                   *HistoryRun
	regressed, suspicious bool
}

// next judges a run and takes it in. Only the newest needs the whole report.
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
		report.Verdict = graver(report.Verdict, change.Verdict)
	}
	if !isNewest && run.Judged != "" && run.JudgedSince.Equal(s.policy.AcceptedSince) {
		report.Verdict = run.Judged
		suspicious = suspicious || run.Judged == RegressionRegressed
	}
	report.Pooled = identities(pool)
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

// place puts a run where it was found to belong; false where that has to be worked out.
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

// uses says of each run what it is good for now.
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

// pool is the run with those before it that are under suspicion, at most three, oldest first.
func (s *regressionState) pool(run *HistoryRun) []*HistoryRun {
	var pool []*HistoryRun
	for _, one := range s.pending[max(0, len(s.pending)-mostPooledRuns+1):] {
		pool = append(pool, one.run)
	}
	return append(pool, run)
}

// take puts a judged run where it belongs.
func (s *regressionState) take(run *HistoryRun, regressed, suspicious bool) {
	s.pending = append(s.pending, pendingRun{run: run, regressed: regressed, suspicious: suspicious})
	if s.confirmed() {
		if suspicious || regressed {
			return
		}
		// It is over. What was not worse itself belongs to the spread.
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

// confirmed tells that a regression was found and is not over.
func (s *regressionState) confirmed() bool {
	return slices.ContainsFunc(s.pending, func(one pendingRun) bool { return one.regressed })
}

var verdictGravity = map[RegressionVerdict]int{RegressionUnknown: 0, RegressionNoChange: 1, RegressionImproved: 2, RegressionRegressed: 3}

func graver(a, b RegressionVerdict) RegressionVerdict {
	if verdictGravity[b] > verdictGravity[a] {
		return b
	}
	return a
}
