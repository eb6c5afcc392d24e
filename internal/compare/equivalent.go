package compare

import "math"

// Equivalence is the result of an equivalence test of two figures.
type Equivalence string

// Possible values of Equivalence.
const (
	// Equivalent means that two one-sided tests, at 5 % each, show that the difference is within the margin.
	Equivalent Equivalence = "Equivalent"
	// NotEquivalent means that the 95 % interval of the difference is entirely outside the margin.
	NotEquivalent Equivalence = "NotEquivalent"
	// Inconclusive means that the 95 % interval of the difference lies partly inside and partly outside the margin.
	Inconclusive Equivalence = "Inconclusive"
	// NotTested means that the figures could not be tested, because at least one of them has no interval.
	NotTested Equivalence = "NotTested"
)

// Bool returns true for Equivalent, false for NotEquivalent and nil otherwise.
func (e Equivalence) Bool() *bool {
	yes := e == Equivalent
	if yes || e == NotEquivalent {
		return &yes
	}
	return nil
}

// oneSided is the 95 % quantile of the normal distribution divided by its 97.5 % quantile. Two one-sided tests at 5 %
// show that a difference is within a margin if and only if the 90 % interval of the difference is within the margin
// (Schuirmann, 1987).
const oneSided = 1.644854 / 1.959964

// Within tests whether the ratio of the figures is between 1/(1+margin) and 1+margin; a margin of 0.05 means 5 %.
func (d *Difference) Within(margin float64) Equivalence {
	if !d.Known || d.Share <= -1 {
		return NotTested
	}
	limit, at := math.Log1p(margin), math.Log1p(d.Share)
	lower, upper := math.Log1p(max(d.Lower, -1+1e-12)), math.Log1p(d.Upper)
	switch {
	case at-(at-lower)*oneSided >= -limit && at+(upper-at)*oneSided <= limit:
		return Equivalent
	case lower > limit || upper < -limit:
		return NotEquivalent
	}
	return Inconclusive
}
