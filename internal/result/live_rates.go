package result

import (
	"github.com/storagebench/storagebench/internal/measure"
)

// Doing is what the clients of one target do at present in a step, by what they have told so far. It is for who looks
// on: results come from what they report at their end.
type Doing struct {
	Target string
	// Clients that load at present.
	Clients int
	// Rates of those clients, by the newest sample of each.
	Rates [measure.NumOperations]DoingRate
	// Done since the step began, over all clients, warm-up included, and SinceNanoseconds to UntilNanoseconds when: the
	// means over the clients of when their samples begin and end, in the reference clock. 0 before the first sample.
	Done                               measure.Counter
	SinceNanoseconds, UntilNanoseconds int64
}

// DoingRate is one operation at present.
type DoingRate struct {
	BytesPerSecond, OperationsPerSecond float64
	// LatencySumNanoseconds over the LatencyOperations whose latency is known: added up over clients they give the mean.
	LatencySumNanoseconds, LatencyOperations float64
}

// Add adds up rates of several clients.
func (r *DoingRate) Add(other DoingRate) {
	r.BytesPerSecond += other.BytesPerSecond
	r.OperationsPerSecond += other.OperationsPerSecond
	r.LatencySumNanoseconds += other.LatencySumNanoseconds
	r.LatencyOperations += other.LatencyOperations
}

// MeanNanoseconds is the mean latency; 0 where it is not known.
func (r *DoingRate) MeanNanoseconds() float64 {
	if r.LatencyOperations <= 0 {
		return 0
	}
	return r.LatencySumNanoseconds / r.LatencyOperations
}
