package result

import (
	"github.com/storagebench/storagebench/internal/measure"
)

// Doing is the current activity of one target's clients in a step, based on their reports so far. It is only for live
// views: results are computed from the reports at the end.
type Doing struct {
	Target string
	// Clients is the number of clients that currently generate load.
	Clients int
	// Rates holds the current rate of each operation: the sum of the rates in the newest samples of the clients that
	// generate load.
	Rates [measure.NumOperations]DoingRate
	// Done counts the I/O of all clients since the step started, including the warm-up but not syncs (see
	// measure.Charged). SinceNanoseconds and UntilNanoseconds bound the time that Done covers: the start of the clients'
	// first sample and the end of their last sample, on the conductor's clock. They are 0 before the first sample.
	Done                               measure.Counter
	SinceNanoseconds, UntilNanoseconds int64
}

// Extend adds I/O that was completed between two instants. Done then covers the time from the earliest start to the
// latest end. The ends are not averaged, because a client or a target that has ended has no newer samples.
func (d *Doing) Extend(since, until int64, done measure.Counter) {
	if d.UntilNanoseconds == 0 {
		d.SinceNanoseconds = since
	}
	d.SinceNanoseconds, d.UntilNanoseconds = min(d.SinceNanoseconds, since), max(d.UntilNanoseconds, until)
	d.Done.Bytes += done.Bytes
	d.Done.Operations += done.Operations
}

// DoingRate is the current rate of one operation.
type DoingRate struct {
	BytesPerSecond, OperationsPerSecond float64
	// LatencySumNanoseconds is the sum of the latencies of all operations whose latency is known, and LatencyOperations
	// is the number of these operations. To get the mean latency over all clients, add up both fields and divide the
	// sums.
	LatencySumNanoseconds, LatencyOperations float64
}

// Add adds the rates of another client to the sum.
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
