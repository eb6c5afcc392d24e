package measure

import "math"

// Sum adds two counts and saturates at the largest uint64.
func Sum(a, b uint64) uint64 {
	if total := a + b; total >= a {
		return total
	}
	return math.MaxUint64
}

// Clamp converts a count to an int64, the integer type that the API uses. It returns math.MaxInt64 if the count is
// larger.
func Clamp(value uint64) int64 { return int64(min(value, math.MaxInt64)) }

// Round rounds a figure to the nearest int64, the integer type that the API uses. It returns math.MaxInt64 if the
// figure is too large or is NaN.
func Round(value float64) int64 {
	value = math.Round(value)
	if !(value < math.MaxInt64) {
		return math.MaxInt64
	}
	return int64(value)
}

// Charged returns the I/O that stores count against their credits and limits: the bytes of all operations, and the
// number of all operations except syncs.
func Charged(counters [NumOperations]Counter) (sum Counter) {
	for operation, counter := range counters {
		sum.Bytes = Sum(sum.Bytes, counter.Bytes)
		if Operation(operation) != Sync {
			sum.Operations = Sum(sum.Operations, counter.Operations)
		}
	}
	return sum
}
