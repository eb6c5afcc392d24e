package observation

import (
	"math"
	"slices"
	"strconv"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// PhaseSeries holds the values of one series of an observation over all steps of a phase. A value is NaN if the
// recorded text is not a number.
type PhaseSeries struct {
	Labels      string
	First, Last float64
	Min, Max    float64

	// total is the sum of all values; points is their number.
	total  float64
	points int64
}

// Mean returns the mean of all values.
func (p *PhaseSeries) Mean() float64 { return p.total / float64(p.points) }

// InPhase returns the values of an observation in a phase, with one entry per series, in the order in which the series
// first appear in the status.
func InPhase(steps []v1alpha1.ResolvedStep, observed *v1alpha1.Observations, observation, phase string) []PhaseSeries {
	if observed == nil {
		return nil
	}
	var all []PhaseSeries
	for i := range observed.Series {
		s := &observed.Series[i]
		ofPhase := slices.ContainsFunc(steps, func(step v1alpha1.ResolvedStep) bool { return step.ID == s.Step && step.Phase == phase })
		if s.Observation != observation || s.Points < 1 || !ofPhase {
			continue
		}
		at := slices.IndexFunc(all, func(p PhaseSeries) bool { return p.Labels == s.Labels })
		if at < 0 {
			at = len(all)
			all = append(all, PhaseSeries{Labels: s.Labels, First: parse(s.First), Min: math.Inf(1), Max: math.Inf(-1)})
		}
		all[at].add(s)
	}
	return all
}

// add adds the values of the series in another step.
func (p *PhaseSeries) add(s *v1alpha1.ObservedSeries) {
	p.Last = parse(s.Last)
	p.Min, p.Max = min(p.Min, parse(s.Min)), max(p.Max, parse(s.Max))
	p.total += parse(s.Mean) * float64(s.Points)
	p.points += int64(s.Points)
}

func parse(text string) float64 {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return number
}
