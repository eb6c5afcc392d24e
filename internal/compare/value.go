package compare

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Value is a figure with its 95 % interval. Figures are rates, times or ratios, so they are never negative.
type Value struct {
	Value, Lower, Upper float64
	// Known is true if there is an interval.
	Known bool
}

// WithoutInterval returns a figure without an interval.
func WithoutInterval(value float64) Value { return Value{Value: value} }

// Within returns a figure whose interval extends from value - half to value + half.
func Within(value, half float64) Value {
	return Between(value, value-half, value+half)
}

// Between returns a figure with the ends of its interval. If value is not between them, or upper is infinite, the
// figure has no interval.
func Between(value, lower, upper float64) Value {
	if !(lower <= value && value <= upper) || math.IsInf(upper, 0) {
		return WithoutInterval(value)
	}
	return Value{Value: value, Lower: max(lower, 0), Upper: upper, Known: true}
}

// FromRounds returns the mean of a figure over independent rounds, such as whole runs or repetitions. Its interval is
// derived from the standard deviation of the rounds. A single round has no interval.
func FromRounds(mean, deviation float64, rounds int) Value {
	if rounds < 2 || !(deviation >= 0) {
		return WithoutInterval(mean)
	}
	student := distuv.StudentsT{Sigma: 1, Nu: float64(rounds - 1)}
	return Within(mean, student.Quantile(0.975)*deviation/math.Sqrt(float64(rounds)))
}
