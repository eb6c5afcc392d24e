package result

import (
	"github.com/storagebench/storagebench/internal/measure"
)

// Doing is the current activity of one target's clients in a step, based on their reports so far. It is for live
// views; results come from the reports at the end.
type Doing struct {
	Target string
	// Clients is the number of clients that currently generate load.
	Clients int
	// Rates are the sums over those clients, from the newest sample of each.
	Rates [measure.NumOperations]DoingRate
	// Done counts the I/O of all clients since the step started, including the warm-up but not syncs (see
	// measure.Charged). SinceNanoseconds and UntilNanoseconds are the bounds of that time: the means, over the
	// clients, of the starts and of the ends of their samples, in the reference clock; 0 before the first sample.
	Done                               measure.Counter
	SinceNanoseconds, UntilNanoseconds int64
}

// DoingRate is the current rate of one operation.
type DoingRate struct {
	BytesPerSecond, OperationsPerSecond float64
	// LatencySumNanoseconds is the sum of the latencies of LatencyOperations operations, those whose latency is
	// known. After both are summed over clients, their quotient is the mean.
	LatencySumNanoseconds, LatencyOperations float64
}

// Add adds the rates of another client.
func (r *DoingRate) Add(other DoingRate) {
	r.BytesPerSecond += other.BytesPerSecond
	r.OperationsPerSecond += other.OperationsPerSecond
	r.LatencySumNanoseconds += other.LatencySumNanoseconds
	r.LatencyOperations += other.LatencyOperations
}

// MeanNanoseconds returns the mean latency, or 0 if it is unknown.
func (r *DoingRate) MeanNanoseconds() float64 {
	if r.LatencyOperations <= 0 {
		return 0
	}
	return r.LatencySumNanoseconds / r.LatencyOperations
}
