package compare

import "math"

// Direction says which way is better.
type Direction int

// The directions.
const (
	HigherIsBetter Direction = iota
	LowerIsBetter
)

// Verdict says which of two figures is better.
type Verdict int

// The verdicts.
const (
	// NotJudged: an interval is missing.
	NotJudged Verdict = iota
	// NoDifference: the interval of the difference holds 0, or the difference is below what is told apart.
	NoDifference
	OtherBetter
	BaselineBetter
)

// Difference is by how much a figure is above that of the baseline, as a share of the latter: 0.05 is 5 %.
type Difference struct {
	Share, Lower, Upper float64
	// Known says that Lower and Upper are.
	Known   bool
	Verdict Verdict
}

// Of compares a figure with that of the baseline. Differences of up to resolution, a share, are none: below it the
// way of measuring, and not chance, decides. ok is false where a figure is no positive number, except that both
// may be 0.
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

// mostLog stands for an interval that reaches down to nothing: e to the 20th is half a billion times.
const mostLog = 20

// below and above are how far the interval reaches from the value, in the logarithm.
func below(v Value) float64 {
	if v.Lower <= 0 {
		return mostLog
	}
	return min(math.Log(v.Value/v.Lower), mostLog)
}

func above(v Value) float64 { return min(math.Log(v.Upper/v.Value), mostLog) }

func positive(value float64) bool { return value > 0 && !math.IsInf(value, 0) }
