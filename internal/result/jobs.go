package result

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// minMeasuredShare is the smallest share of the requested time that a result must cover to be representative.
const minMeasuredShare = 0.8

// hostedBy reports whether another client runs the MPI ranks of this client. Clients on one machine can share an
// address. One of them then starts the ranks of all these clients, and the others have no I/O to sample.
func (b *builder) hostedBy(client *Client) bool {
	if !b.load.SpansClients || client.Machine == "" || client.Samples != nil || client.total() > 0 {
		return false
	}
	return slices.ContainsFunc(b.clients, func(other Client) bool {
		return other.Index != client.Index && other.Machine == client.Machine && other.Samples != nil
	})
}

// total returns the number of operations that the client's tool reported.
func (c *Client) total() uint64 {
	var total uint64
	for _, operation := range c.Operations {
		total = measure.Sum(total, operation.Operations)
	}
	return total
}

// judgeShort warns if an MPI job completed its work so early that less than minMeasuredShare of the requested time was
// measured.
func (b *builder) judgeShort() {
	if b.load.SpansClients && !b.step.WorkBound() && b.step.Purpose == v1alpha1.StepMeasure && len(b.usable) > 0 && !b.stopped() &&
		float64(b.result.WindowNanoseconds) < minMeasuredShare*float64(b.step.Duration) {
		remedy := "raise " + b.load.SizeField + " to make the work last longer"
		if b.described.Reads && b.described.Writes {
			remedy = "each read covers only the bytes that were written, so use one phase per operation"
		}
		b.warnings.add(v1alpha1.WarningCommonWindowTooShort, nil, "measured for only %s of the requested %s: %s",
			time.Duration(b.result.WindowNanoseconds).Round(time.Millisecond), b.step.Duration, remedy)
	}
}

// lasted reports whether a step was ended because it reached its maximum duration, not because it had measured enough.
// Only steps with an MPI job on one of their targets are ended at that duration.
func (b *builder) lasted() bool {
	if !b.step.SpansAnyClients() || b.step.Duration <= 0 {
		return false
	}
	return slices.ContainsFunc(b.clients, func(c Client) bool {
		return !c.Released.IsZero() && b.history.Concluded.Sub(c.Released) >= b.step.Duration-time.Second
	})
}

// stopped reports whether any of the clients with a result was stopped early.
func (b *builder) stopped() bool {
	return slices.ContainsFunc(b.usable, func(c Client) bool { return c.Stopped })
}

// sampledUntil returns the number of bytes that an operation had moved by the given instant, including the warm-up,
// according to the samples of all clients.
func (b *builder) sampledUntil(at time.Time, operation measure.Operation) uint64 {
	var bytes uint64
	for _, series := range b.series {
		bytes = measure.Sum(bytes, series.CountersAt(at.UnixNano())[operation].Bytes)
	}
	return bytes
}

// repetitionRates replaces the rates computed from samples with rates that follow IOR's own definition: the bytes of
// all repetitions of an operation divided by the total time of these repetitions. The time of a repetition is the time
// from its first start to its last end.
func (b *builder) repetitionRates() {
	if b.job == nil || len(b.job.Repetitions) == 0 {
		return
	}
	var bytes [measure.NumOperations]uint64
	var length [measure.NumOperations]time.Duration
	var start, end time.Time
	for i := range b.job.Repetitions {
		repetition := &b.job.Repetitions[i]
		bytes[repetition.Operation] = measure.Sum(bytes[repetition.Operation], repetition.Bytes)
		length[repetition.Operation] += repetition.Total
		if began := repetition.Ended.Add(-repetition.Total); start.IsZero() || began.Before(start) {
			start = began
		}
		if repetition.Ended.After(end) {
			end = repetition.Ended
		}
	}
	for operation := range bytes {
		if length[operation] <= 0 {
			continue
		}
		rate := &b.rates[operation]
		rate.Bytes = bytes[operation]
		rate.BytesPerSecond = float64(bytes[operation]) / length[operation].Seconds()
		if transfer := b.described.BlockBytes; transfer > 0 {
			// The samples also count communication between ranks as operations, so compute the operations from the
			// bytes.
			rate.Operations = bytes[operation] / transfer
		}
		rate.OperationsPerSecond = float64(rate.Operations) / length[operation].Seconds()
	}
	b.result.WindowNanoseconds = int64(end.Sub(start))
}

// ratesAlone reports whether the rates that the job's tool reported are sufficient as a result, even if no operation
// was counted. For example, mdtest moves no bytes if its files are empty.
func (b *builder) ratesAlone() bool { return b.job != nil && len(b.job.Rates) > 0 }
