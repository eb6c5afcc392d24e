package compare

import "math"

// Equivalence reports whether two figures are the same for a purpose.
type Equivalence string

// The answers.
const (
	// Equivalent: two one-sided tests at 5 % each find the difference within the margin.
	Equivalent Equivalence = "Equivalent"
	// NotEquivalent: the 95 % interval of the difference is outside of the margin as a whole.
	NotEquivalent Equivalence = "NotEquivalent"
	// Inconclusive: the interval reaches over an end of the margin.
	Inconclusive Equivalence = "Inconclusive"
	// NotTested: how far chance takes a figure is not known.
	NotTested Equivalence = "NotTested"
)

// Bool is true, false, or nil where it is neither.
func (e Equivalence) Bool() *bool {
	yes := e == Equivalent
	if yes || e == NotEquivalent {
		return &yes
	}
	return nil
}

// oneSided is the 95 % quantile of the normal distribution by its 97.5 % quantile: two one-sided tests at 5 % find a
// difference within a margin just when its 90 % interval is (Schuirmann, 1987).
const oneSided = 1.644854 / 1.959964

// Within tests whether the figures differ by no more than a share of each other, such as 0.05: whether their ratio is
// between 1/(1+margin) and 1+margin.
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
