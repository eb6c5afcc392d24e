package fio

import (
	"math"
	"math/bits"

	"github.com/storagebench/storagebench/internal/measure"
)

// At the end of the load a job begins nothing more and waits until all that it has in flight is
// complete, which can take seconds. Only then it counts that, all at once:
//
//	 bytes                            .---- final
//	   |                              |
//	   |            .-----------------'     a dump that is asked for here has the bytes of the end of the load
//	   |       .--'
//	   |  .--'
//	   '------------|-----------------|---> time
//	             load end      in flight is through
//
// So a straight line over that time would be wrong on both sides of the load's end. What tells is what was
// issued: nothing after the end of the load. A job that keeps its queue filled has at the end as much in
// flight as at the last dump before it, and so has completed as much in between as it has issued.

// Stopped tells that the load was ended before its time, at an instant of the wall clock of fio's machine.
// It may be called while Add is.
func (s *Sampler) Stopped(wallNanoseconds int64) { s.stopped.Store(wallNanoseconds / 1e6) }

// loadEnd is when jobs were to begin nothing more; 0 where that is not known, and in the ramp.
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

// atLoadEnd are the totals at the end of the load, of a dump that was counted after it. It is not known
// where no dump before it was of the same epoch.
func (s *Sampler) atLoadEnd(held *point, counters [measure.NumOperations]measure.Counter) (totals [measure.NumOperations]measure.Counter, known bool) {
	before := s.loaded
	if before == nil || before.epoch != held.epoch || before == held {
		return counters, false
	}
	totals = counters
	for i := range totals {
		if measure.Operation(i) == measure.Sync || held.issued[i] < before.issued[i] {
			continue
		}
		inFlight, sizes := before.issued[i]-before.counters[i].Operations, []measure.Counter{before.counters[i], counters[i]}
		if most := s.mostInFlight(); inFlight > most {
			inFlight, sizes = most, sizes[1:]
		}
		done := held.issued[i] - min(inFlight, held.issued[i])
		totals[i].Operations = min(max(done, s.ended[i].Operations), counters[i].Operations)
		totals[i].Bytes = min(max(bytesOf(done, sizes), s.ended[i].Bytes), counters[i].Bytes)
	}
	return totals, true
}

// mostInFlight is by how many operations a dump's issued can be above its completed. What was in flight at the end of a ramp
// is never timed, and so adds to it for good. More tells of a dump that was torn: fio reads the two one after the other, and
// on a machine without time to spare may stand still in between, with jobs that go on.
func (s *Sampler) mostInFlight() uint64 {
	switch {
	case s.options.Outstanding == 0:
		return math.MaxUint64
	case s.options.WarmUp > 0:
		return 2 * s.options.Outstanding
	}
	return s.options.Outstanding
}

// bytesOf is how many bytes so many operations are, by the one of some totals in which operations are larger:
// in a late dump bytes are counted earlier than operations.
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
