package fio

import (
	"math"
	"math/bits"

	"github.com/storagebench/storagebench/internal/measure"
)

// At the end of the load a job issues no more operations and waits until its operations in flight are complete, which
// can take seconds. It counts these operations only then, all at once:
//
//	 bytes                            .---- final
//	   |                              |
//	   |            .-----------------'     dumps requested here show the bytes as of the end of the load
//	   |       .--'
//	   |  .--'
//	   '------------|-----------------|---> time
//	             load end      all operations complete
//
// Linear interpolation across the end of the load would be wrong both before and after the end. But the number of
// operations that were completed by the end of the load follows from the number of issued operations, because no
// operation is issued after the end. A job that keeps its queue full has as many operations in flight at the end of the
// load as at the last dump before the end. Between these two instants, it therefore completed as many operations as it
// issued.

// Stopped records that the load was stopped early, at the given time on the wall clock of fio's machine. It may be
// called concurrently with Add.
func (s *Sampler) Stopped(wallNanoseconds int64) { s.stopped.Store(wallNanoseconds / 1e6) }

// loadEnd returns the time at which the jobs stop issuing operations, in milliseconds on the wall clock. It returns 0
// during the warm-up, or if the time is unknown.
func (s *Sampler) loadEnd(of *epoch) int64 {
	if of == nil || of.warm {
		return 0
	}
	end := s.stopped.Load()
	if s.options.Duration > 0 {
		if planned := of.origin + s.options.Duration.Milliseconds(); end == 0 || planned < end {
			end = planned
		}
	}
	return end
}

// atLoadEnd returns the totals at the end of the load, given a dump whose bytes were counted after that end. known is
// false if no earlier dump belongs to the same part of the run (the warm-up or the measured part).
func (s *Sampler) atLoadEnd(held *point, counters [measure.NumOperations]measure.Counter) (totals [measure.NumOperations]measure.Counter, known bool) {
	before := s.loaded
	if before == nil || before.epoch != held.epoch || before == held {
		return counters, false
	}
	totals = counters
	for i := range totals {
		if !measure.Operation(i).MovesData() || held.issued[i] < before.issued[i] {
			continue
		}
		earlier, sizes := before.counters[i].Operations, []measure.Counter{before.counters[i], counters[i]}
		if most := s.mostInFlight(); before.issued[i] > measure.Sum(earlier, most) {
			earlier, sizes = before.issued[i]-most, sizes[1:]
		}
		done := measure.Sum(earlier, held.issued[i]-before.issued[i])
		totals[i].Operations = min(max(done, s.ended[i].Operations), counters[i].Operations)
		totals[i].Bytes = min(max(bytesOf(done, sizes), s.ended[i].Bytes), counters[i].Bytes)
	}
	return totals, true
}

// mostInFlight returns the maximum difference between issued and completed operations in a consistent dump. This is the
// maximum number of operations in flight, or MaxUint64 if that number is unknown. With a warm-up, the difference can be
// twice as large: operations in flight at the end of a warm-up are never timed, so they are never counted as completed
// and remain in the difference. A still larger difference means that the dump is inconsistent: fio reads the two
// counters one after the other, and on a machine without spare CPU time it may stall in between while the jobs
// continue.
func (s *Sampler) mostInFlight() uint64 {
	switch {
	case s.options.Outstanding == 0:
		return math.MaxUint64
	case s.options.WarmUp > 0:
		return 2 * s.options.Outstanding
	}
	return s.options.Outstanding
}

// bytesOf converts a number of operations to bytes. It uses the largest mean operation size among the totals, because
// the mean of a late dump is too small, as its bytes were counted earlier than its operations.
func bytesOf(operations uint64, totals []measure.Counter) uint64 {
	largest := uint64(0)
	for _, total := range totals {
		if total.Operations == 0 {
			continue
		}
		high, low := bits.Mul64(total.Bytes, operations)
		if high < total.Operations {
			bytes, _ := bits.Div64(high, low, total.Operations)
			largest = max(largest, bytes)
		}
	}
	return largest
}
