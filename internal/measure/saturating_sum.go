package measure

import "math"

// Sum adds two counts; a sum that does not fit is the greatest uint64.
func Sum(a, b uint64) uint64 {
	if total := a + b; total >= a {
		return total
	}
	return math.MaxUint64
}

// Clamp fits a count into the API's integers.
func Clamp(value uint64) int64 { return int64(min(value, math.MaxInt64)) }

// Round fits a figure into the API's integers.
func Round(value float64) int64 {
	value = math.Round(value)
	if !(value < math.MaxInt64) {
		return math.MaxInt64
	}
	return int64(value)
}

// Charged returns the sum over all operations as stores count and limit it: a sync spends no credits of
// operations, unlike all others.
func Charged(counters [NumOperations]Counter) (sum Counter) {
	for operation, counter := range counters {
		sum.Bytes = Sum(sum.Bytes, counter.Bytes)
		if Operation(operation) != Sync {
			sum.Operations = Sum(sum.Operations, counter.Operations)
		}
	}
	return sum
}
