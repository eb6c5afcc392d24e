package compare

import "math"

// Direction states whether higher or lower figures are better.
type Direction int

// Possible values of Direction.
const (
	HigherIsBetter Direction = iota
	LowerIsBetter
)

// Verdict states which of two figures is better.
type Verdict int

// Possible values of Verdict.
const (
	// NotJudged means that there is no verdict, because a figure has no confidence interval.
	NotJudged Verdict = iota
	// NoDifference means that the interval of the difference contains 0, or that the difference is too small to be
	// resolved by the measurement method.
	NoDifference
	OtherBetter
	BaselineBetter
)

// Difference is the relative difference between a figure and the baseline's figure: 0.05 means 5 % higher.
type Difference struct {
	Share, Lower, Upper float64
	// Known is true if Lower and Upper, the ends of the 95 % interval of Share, are set.
	Known   bool
	Verdict Verdict
}

// Of returns the relative difference between baseline and other. A difference of at most resolution counts as no
// difference, because the measurement method may have caused it. ok is true only if both figures are positive or both
// are 0.
func Of(baseline, other Value, better Direction, resolution float64) (Difference, bool) {
	if baseline.Value == 0 && other.Value == 0 {
		return Difference{Known: true, Verdict: NoDifference}, true
	}
	if !positive(baseline.Value) || !positive(other.Value) {
		return Difference{}, false
	}
	log := math.Log(other.Value / baseline.Value)
	d := Difference{Share: other.Value/baseline.Value - 1}
	if !baseline.Known || !other.Known {
		return d, true
	}
	lower := log - math.Hypot(below(other), above(baseline))
	upper := log + math.Hypot(above(other), below(baseline))
	d.Known, d.Lower, d.Upper = true, math.Exp(lower)-1, math.Exp(upper)-1
	switch {
	case lower <= 0 && 0 <= upper, math.Abs(log) <= math.Log1p(resolution):
		d.Verdict = NoDifference
	case (log > 0) == (better == HigherIsBetter):
		d.Verdict = OtherBetter
	default:
		d.Verdict = BaselineBetter
	}
	return d, true
}

// mostLog is the maximum distance between a value and either end of its interval, as a difference of natural
// logarithms. For an interval that extends down to 0, the distance would be infinite, so mostLog is used instead; e^20
// is about half a billion.
const mostLog = 20

// below and above return the distances from the value to the lower and to the upper end of its interval, as differences
// of natural logarithms.
func below(v Value) float64 {
	if v.Lower <= 0 {
		return mostLog
	}
	return min(math.Log(v.Value/v.Lower), mostLog)
}

func above(v Value) float64 { return min(math.Log(v.Upper/v.Value), mostLog) }

func positive(value float64) bool { return value > 0 && !math.IsInf(value, 0) }
