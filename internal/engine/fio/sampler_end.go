package fio

import (
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
		done := before.counters[i].Operations + held.issued[i] - before.issued[i]
		totals[i].Operations = min(max(done, s.ended[i].Operations), counters[i].Operations)
		totals[i].Bytes = min(max(bytesOf(done, before.counters[i], counters[i]), s.ended[i].Bytes), counters[i].Bytes)
	}
	return totals, true
}

// bytesOf is how many bytes so many operations are, by the one of two totals in which operations are larger:
// in a late dump bytes are counted earlier than operations.
func bytesOf(operations uint64, a, b measure.Counter) uint64 {
	largest := uint64(0)
	for _, total := range []measure.Counter{a, b} {
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
