package measure

// Latency is the distribution of the latency of one operation, with the exact extremes and
// the exact sum beside the histogram, whose buckets are up to 1.6 % wide.
//
// The zero value is empty and ready to use. It is a value: copies are independent.
type Latency struct {
	// Histogram may count fewer than Count where a tool gives no bins.
	Histogram Histogram
	// Count is the number of operations timed.
	Count uint64
	// SumNanoseconds is the sum of all their latencies.
	SumNanoseconds Uint128
	// MinNanoseconds and MaxNanoseconds are the exact extremes, 0 while Count is 0.
	MinNanoseconds uint64
	MaxNanoseconds uint64
}
