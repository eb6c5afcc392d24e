package search

import (
	"math"
	"slices"
)

// Trial is a measured step of a search.
type Trial struct {
	// Offered is the rate that the step offered. Confirms is true if the purpose of the step was to confirm a rate
	// found earlier.
	Offered  int64
	Confirms bool
	// Known is false if the step has no valid figures. Such a step counts as having missed the objective.
	Known bool
	// Achieved is the rate of completed operations, and Slower the share of them that took longer than the latency
	// bound.
	Achieved, Slower float64
	// Seconds is the measured time.
	Seconds float64
}

// Overloaded reports whether fewer operations were completed than were offered, by more than chance explains. The
// allowance for chance is three standard deviations of the number of offered operations; the standard deviation is the
// square root of that number. Another 0.5 % is allowed for the start and the end of the step.
func (t *Trial) Overloaded() bool {
	const ends, deviations = 0.005, 3
	offered := float64(t.Offered)
	return t.Achieved < offered*(1-ends-deviations/math.Sqrt(max(1, offered*t.Seconds)))
}

// Met reports whether the step met the objective.
func (q Question) Met(t *Trial) bool { return t.Known && !t.Overloaded() && t.Slower <= q.Allowed }

// Stage is the current stage of a search: exploring, confirming or done.
type Stage int

// Possible values of Stage, in the order in which a search goes through them.
const (
	Exploring Stage = iota
	Confirming
	Done
)

// Decision is the next action of a search, or its result.
type Decision struct {
	Stage Stage
	// Rate is the next rate to offer. If the search is done, it is the highest confirmed rate, or 0 if there is
	// none.
	Rate int64
	// Missed is the lowest rate that missed the objective, or 0 if none did. Steps that confirm a rate do not count.
	Missed int64
}

// Next decides how the search continues. trials are the trials so far, in the order of their steps.
func (q Question) Next(trials []Trial) Decision {
	met, missed, tried := int64(0), int64(0), 0
	for i := range trials {
		if t := &trials[i]; !t.Confirms {
			tried++
			if !q.Met(t) && (missed == 0 || t.Offered < missed) {
				missed = t.Offered
			}
		}
	}
	for i := range trials {
		if t := &trials[i]; !t.Confirms && q.Met(t) && (missed == 0 || t.Offered < missed) {
			met = max(met, t.Offered)
		}
	}
	switch {
	case tried == 0:
		return Decision{Rate: q.Min}
	case met == 0:
		return Decision{Stage: Done, Missed: missed}
	case tried >= q.Trials, met >= q.Max && missed == 0, missed > 0 && q.narrow(met, missed):
		made := q.confirm(met, trials)
		made.Missed = missed
		return made
	case missed == 0:
		return Decision{Rate: min(q.Max, q.down(raise*float64(met)))}
	}
	middle := q.down(math.Sqrt(float64(met) * float64(missed)))
	return Decision{Rate: min(max(middle, met+q.Unit), missed-q.Unit), Missed: missed}
}

// narrow reports whether the bisection can end, because the highest rate known to meet the objective is close enough to
// the lowest rate known to miss it.
func (q Question) narrow(met, missed int64) bool {
	return missed-met <= q.Unit || float64(missed) <= float64(met)*q.Ratio
}

// confirm returns the rate to confirm next. It begins with the highest rate that met the objective and continues with
// lower rates. From the third lower rate on, the differences between successive rates become larger.
func (q Question) confirm(highest int64, trials []Trial) Decision {
	candidate, distance := highest, q.Ratio
	for tried := range candidates {
		rounds := q.Rounds(candidate, trials)
		switch q.judge(rounds) {
		case open:
			return Decision{Stage: Confirming, Rate: candidate}
		case confirmed:
			return Decision{Stage: Done, Rate: candidate}
		case refuted:
		}
		next := max(q.Min, min(q.down(float64(candidate)/distance), candidate-q.Unit))
		if next >= candidate {
			break
		}
		if candidate = next; tried > 0 {
			distance *= distance
		}
	}
	return Decision{Stage: Done}
}

// Rounds returns the trials that were run to confirm the given rate.
func (q Question) Rounds(rate int64, trials []Trial) []Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return !t.Confirms || t.Offered != rate })
}

type verdict int

const (
	open verdict = iota
	confirmed
	refuted
)

// judge decides whether a rate is confirmed or refuted, or whether it needs more confirming steps. A rate is refuted
// early if its confirming steps so far miss the objective.
func (q Question) judge(rounds []Trial) verdict {
	for i := range rounds {
		if !rounds[i].Known || rounds[i].Overloaded() {
			return refuted
		}
	}
	share := Slower(rounds)
	switch {
	case len(rounds) > 0 && share.Mean > q.Allowed:
		return refuted
	case len(rounds) < Confirmations:
		return open
	case share.Mean+share.Half > q.Allowed:
		return refuted
	}
	return confirmed
}

// Share is the share of operations that are slower than the latency bound. Mean is its mean over several steps, and
// Half is half the width of the 95 % interval of the mean, or 0 if there are fewer than Confirmations steps.
type Share struct{ Mean, Half float64 }

// student is the 97.5 % quantile of Student's t-distribution with Confirmations - 1 degrees of freedom.
const student = 2.776

// Slower returns the share of operations that were slower than the latency bound, over several steps with the same
// rate.
func Slower(rounds []Trial) Share {
	if len(rounds) == 0 {
		return Share{}
	}
	var made Share
	count := float64(len(rounds))
	for i := range rounds {
		made.Mean += rounds[i].Slower / count
	}
	if len(rounds) < Confirmations {
		return made
	}
	squares := 0.0
	for i := range rounds {
		squares += (rounds[i].Slower - made.Mean) * (rounds[i].Slower - made.Mean)
	}
	made.Half = student * math.Sqrt(squares/(count-1)/count)
	return made
}
