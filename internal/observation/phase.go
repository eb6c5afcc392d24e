package observation

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// PhaseSeries holds the values of one series of an observation over all steps of a phase. A value is NaN if the
// recorded text is not a number.
type PhaseSeries struct {
	Labels      string
	First, Last float64
	Min, Max    float64
	// Mean is the mean over all steps, weighted by time. seconds is the total time.
	Mean    float64
	seconds float64
}

// InPhase returns the values of an observation in a phase, with one entry per series, in the order in which the series
// first appear in the status.
func InPhase(
	spec *v1alpha1.BenchmarkRunSpec, status *v1alpha1.BenchmarkRunStatus, observation, phase string,
) []PhaseSeries {
	if status.Observations == nil {
		return nil
	}
	var all []PhaseSeries
	for i := range status.Observations.Series {
		s := &status.Observations.Series[i]
		step := slices.IndexFunc(spec.Steps, func(step v1alpha1.ResolvedStep) bool {
			return step.ID == s.Step && step.Phase == phase
		})
		if s.Observation != observation || s.Points < 1 || step < 0 {
			continue
		}
		at := slices.IndexFunc(all, func(p PhaseSeries) bool { return p.Labels == s.Labels })
		if at < 0 {
			at = len(all)
			all = append(all, PhaseSeries{Labels: s.Labels, First: parse(s.First), Min: math.Inf(1), Max: math.Inf(-1)})
		}
		w, _ := windowOf(status.Attempt(s.Step), &spec.Steps[step])
		all[at].add(s, w.End.Sub(w.Measured))
	}
	return all
}

// add adds the values of the series in another step. length is the measured time of that step.
func (p *PhaseSeries) add(s *v1alpha1.ObservedSeries, length time.Duration) {
	p.Last = parse(s.Last)
	p.Min, p.Max = min(p.Min, parse(s.Min)), max(p.Max, parse(s.Max))
	// Weight by time, not by the number of values, because even the shortest step has two values.
	seconds := max(length.Seconds()-float64(s.MissingSeconds), 0.001)
	p.seconds += seconds
	p.Mean += (parse(s.Mean) - p.Mean) * (seconds / p.seconds)
}

func parse(text string) float64 {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return number
}
