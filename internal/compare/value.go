package compare

import "math"

// Value is a figure with its 95 % interval. Figures are positive rates, times and ratios.
type Value struct {
	Value, Lower, Upper float64
	// Known says that there is an interval.
	Known bool
}

// Alone is a figure of which nobody knows how far chance takes it.
func Alone(value float64) Value { return Value{Value: value} }

// Exactly is a figure that chance does not touch, such as a count.
func Exactly(value float64) Value {
	return Value{Value: value, Lower: value, Upper: value, Known: true}
}

// Within is a figure and half of its interval, in its own unit.
func Within(value, half float64) Value {
	return Between(value, value-half, value+half)
}

// Between is a figure and the ends of its interval. Where those cannot be it is one without an interval.
func Between(value, lower, upper float64) Value {
	if !(lower <= value && value <= upper) || math.IsInf(upper, 0) {
		return Alone(value)
	}
	return Value{Value: value, Lower: max(lower, 0), Upper: upper, Known: true}
}

// FromRounds is the mean of rounds that do not resemble their neighbours, such as whole runs or repetitions, with
// their standard deviation. One round alone has no interval.
func FromRounds(mean, deviation float64, rounds int) Value {
	if rounds < 2 || !(deviation >= 0) {
		return Alone(mean)
	}
	return Within(mean, student(rounds-1)*deviation/math.Sqrt(float64(rounds)))
}

// student is the 97.5 % quantile of Student's distribution: by a table where the degrees of freedom are few, then by
// the expansion of Cornish and Fisher.
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
