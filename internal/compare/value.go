package compare

import "math"

// Value is a figure with its 95 % interval. Figures are positive rates, times and ratios.
type Value struct {
	Value, Lower, Upper float64
	// Known is true if there is an interval.
	Known bool
}

// Alone returns a figure without an interval.
func Alone(value float64) Value { return Value{Value: value} }

// Within returns a figure with half the width of its interval, in the figure's unit.
func Within(value, half float64) Value {
	return Between(value, value-half, value+half)
}

// Between returns a figure with the ends of its interval. If value is not between them, or upper is infinite, the
// figure has no interval.
func Between(value, lower, upper float64) Value {
	if !(lower <= value && value <= upper) || math.IsInf(upper, 0) {
		return Alone(value)
	}
	return Value{Value: value, Lower: max(lower, 0), Upper: upper, Known: true}
}

// FromRounds returns the mean of independent rounds, such as whole runs or repetitions, with the interval that follows
// from their standard deviation. A single round has no interval.
func FromRounds(mean, deviation float64, rounds int) Value {
	if rounds < 2 || !(deviation >= 0) {
		return Alone(mean)
	}
	return Within(mean, student(rounds-1)*deviation/math.Sqrt(float64(rounds)))
}

// student returns the 97.5 % quantile of Student's t distribution: from a table up to 5 degrees of freedom, beyond that
// by the Cornish-Fisher expansion.
func student(freedom int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571}
	if freedom <= len(table) {
		return table[max(freedom, 1)-1]
	}
	const z = 1.959964
	const z3, z5 = z * z * z, z * z * z * z * z
	f := float64(freedom)
	return z + (z3+z)/(4*f) + (5*z5+16*z3+3*z)/(96*f*f)
}
