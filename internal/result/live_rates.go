package result

import (
	"github.com/storagebench/storagebench/internal/measure"
)

// Doing is the current activity of the clients of one target in a step, from their reports so far. It is for live
// views; results come from the reports at the end.
type Doing struct {
	Target string
	// Clients is the number of clients that currently generate load.
	Clients int
	// Rates are the sums over those clients, from the newest sample of each.
	Rates [measure.NumOperations]DoingRate
	// Done is what all clients completed since the step began, warm-up included, syncs not (see measure.Charged).
	// SinceNanoseconds and UntilNanoseconds bound it: the means over the clients of the starts and the ends of their
	// samples, in the reference clock; 0 before the first sample.
	Done                               measure.Counter
	SinceNanoseconds, UntilNanoseconds int64
}

// DoingRate is the current rate of one operation.
type DoingRate struct {
	BytesPerSecond, OperationsPerSecond float64
	// LatencySumNanoseconds is the sum over the LatencyOperations whose latency is known. Summed over clients, their
	// quotient is the mean.
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
