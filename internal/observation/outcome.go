package observation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/series"
)

const (
	// maxSeries is the maximum number of series that are kept per observation and step.
	maxSeries = 8
	// maxKeptPoints is the maximum number of points that are kept per series for charts.
	maxKeptPoints = 240
	maxLabels     = 256
	// MaxOver is the maximum number of series for which a run keeps values over time, summed over all steps.
	MaxOver = 1024
)

// Outcome holds the observations that a run keeps.
type Outcome struct {
	Series  []v1alpha1.ObservedSeries
	Omitted int
	// Over holds the values of the observations over time.
	Over     []series.Observed
	Warnings []v1alpha1.Warning
	// Credits holds the burst credit levels at the starts of drains.
	Credits []Credit
	// Complete is false if repeating the queries later may return more data.
	Complete bool
}

// Credit is the level of a target's burst credits at the start of a step, in percent.
type Credit struct {
	Step, Target, Observation string
	Percent                   int32
}

// Evaluate returns the outcome of a run's observations. interval is the scrape interval.
func Evaluate(run *v1alpha1.BenchmarkRun, answers []Answer, interval time.Duration) Outcome {
	e := evaluator{run: run, interval: interval, made: Outcome{Complete: true}}
	for i := range run.Spec.Run.Observations {
		e.observation = &run.Spec.Run.Observations[i]
		e.remarks = nil
		found := false
		for j := range answers {
			if answers[j].Observation == i && answers[j].Step != "" {
				found = e.answer(&answers[j]) || found
			}
		}
		e.warn(found)
	}
	e.order()
	return e.made
}

// Refused returns a warning for each observation that the server cannot evaluate. answers holds the answers to the
// queries from Checks.
func Refused(run *v1alpha1.RunSpec, answers []Answer) []v1alpha1.Warning {
	var all []v1alpha1.Warning
	for i := range answers {
		if a := &answers[i]; a.Problem != "" {
			all = append(all, v1alpha1.NewWarning(v1alpha1.WarningObservationFailed, "",
				"observation "+run.Observations[a.Observation].Name+": "+a.Problem))
		}
	}
	return all
}

// Unasked returns the warning that the observations of a run are not evaluated, for the reason given in `why`.
func Unasked(why string) v1alpha1.Warning {
	return v1alpha1.NewWarning(v1alpha1.WarningObservationFailed, "", "observations are not evaluated: "+why)
}

type evaluator struct {
	run         *v1alpha1.BenchmarkRun
	interval    time.Duration
	observation *v1alpha1.Observation
	remarks     []remark
	made        Outcome
}

// remark is a problem with an observation in one or more steps. Its text describes the problem in the first affected
// step.
type remark struct {
	kind  remarkKind
	text  string
	steps []string
}

type remarkKind int

const (
	failed remarkKind = iota
	noSeries
	lateSample
	gap
	reset
	cut
)

// note adds a remark, or adds the step to the existing remark of the same kind.
func (e *evaluator) note(kind remarkKind, step, format string, arguments ...any) {
	at := slices.IndexFunc(e.remarks, func(r remark) bool { return r.kind == kind })
	if at < 0 {
		at = len(e.remarks)
		e.remarks = append(e.remarks, remark{kind: kind, text: fmt.Sprintf(format, arguments...)})
	}
	if !slices.Contains(e.remarks[at].steps, step) {
		e.remarks[at].steps = append(e.remarks[at].steps, step)
	}
}

// answer adds the answer for one step, and reports whether the answer contains a value.
func (e *evaluator) answer(a *Answer) bool {
	if a.Problem != "" {
		e.made.Complete = e.made.Complete && a.Refused
		e.note(failed, a.Step, "%s", a.Problem)
		return false
	}
	slices.SortFunc(a.Series, func(x, y Series) int { return cmp.Compare(x.Labels, y.Labels) })
	kept := Answer{Query: a.Query, More: a.More, leastStart: a.leastStart}
	for i := range a.Series {
		kept.Add(a.Series[i])
	}
	for i := range kept.Series {
		e.keep(&kept, &kept.Series[i])
	}
	if e.observation.CreditsOf != "" {
		e.credit(&kept)
	}
	if len(kept.Series) == 0 {
		e.note(noSeries, a.Step, "no value in step %s", a.Step)
	}
	if kept.More > 0 {
		e.note(cut, a.Step, "only %d of %d series of step %s are kept: aggregate with sum or topk", len(kept.Series), len(kept.Series)+kept.More, a.Step)
	}
	return len(kept.Series) > 0
}

// keep adds one series of a step to the outcome.
func (e *evaluator) keep(a *Answer, s *Series) {
	name, labels, f := e.observation.Name, s.Labels, s.summary
	e.made.Series = append(e.made.Series, v1alpha1.ObservedSeries{
		Observation: name, Step: a.Step, Labels: labels, Points: int32(f.points), //nolint:gosec // at most maxEvaluations
		First: format(f.first), Last: format(f.last), Min: format(f.least), Mean: format(f.mean), Max: format(f.most),
		MissingSeconds: int64(math.Ceil(f.missing.Seconds())), Resets: int32(f.resets), //nolint:gosec // at most maxEvaluations
	})
	e.made.Over = append(e.made.Over, series.Observed{Name: name, Step: a.Step, Labels: labels, Points: s.summary.over})
	age := s.late(&a.Query, e.interval)
	if age > 0 {
		e.note(lateSample, a.Step, "the newest sample was %s old at the end of step %s", age.Round(time.Second), a.Step)
	}
	if f.missing > 0 {
		e.note(gap, a.Step, "%s has no value for %s of step %s", cmp.Or(labels, "the series"), f.missing.Round(time.Second), a.Step)
	}
	if f.resets > 0 {
		e.note(reset, a.Step, "%s was reset in step %s: use rate or increase, which account for resets", cmp.Or(labels, "the counter"), a.Step)
	}
	e.made.Complete = e.made.Complete && age == 0 && f.atEnd == 0
}

// credit records the credit level of the observation's target at the start of a drain. If there are several series,
// such as one per volume of a stripe, the lowest level counts, even if its series is not kept.
func (e *evaluator) credit(a *Answer) {
	target := e.observation.CreditsOf
	drains := slices.ContainsFunc(e.run.Spec.Steps, func(planned v1alpha1.ResolvedStep) bool {
		return planned.ID == a.Step && planned.Purpose == v1alpha1.StepDrain && slices.Contains(planned.Targets, target)
	})
	if !drains || a.leastStart == nil {
		return
	}
	level := Credit{Step: a.Step, Target: target, Observation: e.observation.Name,
		Percent: int32(math.Round(min(max(*a.leastStart, 0), 100)))}
	at := slices.IndexFunc(e.made.Credits, func(c Credit) bool { return c.Step == a.Step && c.Target == target })
	if at < 0 {
		e.made.Credits = append(e.made.Credits, level)
	} else if level.Percent < e.made.Credits[at].Percent {
		e.made.Credits[at] = level
	}
}

// warn turns the remarks about an observation into warnings. found is true if any step has a value.
func (e *evaluator) warn(found bool) {
	for _, r := range e.remarks {
		warning := v1alpha1.WarningObservationIncomplete
		switch {
		case r.kind == failed:
			warning = v1alpha1.WarningObservationFailed
		case r.kind == noSeries && !found:
			warning, r.text, r.steps = v1alpha1.WarningObservationFailed, "no value in any step", nil
			e.made.Complete = false
		}
		text := "observation " + e.observation.Name + ": " + r.text
		switch more := len(r.steps) - 1; {
		case more == 1:
			text += ", and in 1 more step"
		case more > 1:
			text += fmt.Sprintf(", and in %d more steps", more)
		}
		e.made.Warnings = append(e.made.Warnings, v1alpha1.NewWarning(warning, "", text))
	}
}

// order sorts the series by step, in the order of the plan, and truncates the lists to their maximum lengths.
func (e *evaluator) order() {
	place := map[string]int{}
	for i, planned := range e.run.Spec.Steps {
		place[planned.ID] = i
	}
	slices.SortStableFunc(e.made.Series, func(a, b v1alpha1.ObservedSeries) int { return cmp.Compare(place[a.Step], place[b.Step]) })
	slices.SortStableFunc(e.made.Over, func(a, b series.Observed) int { return cmp.Compare(place[a.Step], place[b.Step]) })
	if e.made.Omitted = max(len(e.made.Series)-v1alpha1.MaxObservedSeries, 0); e.made.Omitted > 0 {
		e.made.Series = e.made.Series[:v1alpha1.MaxObservedSeries]
	}
	e.made.Over = e.made.Over[:min(len(e.made.Over), MaxOver)]
}

// thin replaces groups of neighbouring points by their means, so that at most maxKeptPoints are left.
func thin(points []Point) []series.ObservedPoint {
	join := max((len(points)+maxKeptPoints-1)/maxKeptPoints, 1)
	var kept []series.ObservedPoint
	for part := range slices.Chunk(points, join) {
		sum, count := 0.0, 0
		for _, p := range part {
			if finite(p.Value) {
				sum, count = sum+p.Value, count+1
			}
		}
		if count > 0 {
			kept = append(kept, series.ObservedPoint{Nanoseconds: part[0].At.UnixNano(), Value: sum / float64(count)})
		}
	}
	return kept
}

// format writes a number with up to ten significant digits.
func format(value float64) string {
	short := strconv.FormatFloat(value, 'g', 10, 64)
	if size := math.Abs(value); size != 0 && (size < 1e-6 || size >= 1e15) {
		return short
	}
	if rounded, err := strconv.ParseFloat(short, 64); err == nil {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return short
}
