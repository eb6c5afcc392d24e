package measure

import "iter"

// maxLateIntervals bounds the length of a chain of late samples, in sampling intervals.
const maxLateIntervals = 30

// MergeLate repairs the samples of a tool whose dumps can be delayed. With --status-interval, fio delays a dump while a
// job is blocked on an I/O. Before fio 3.42, such a dump counts the bytes up to the instant at which it was requested
// but is stamped with the time at which it was written. All bytes of the delay are then in the next, short sample
// (measured: 32.6 and then 2,805 MB/s instead of 150 MB/s). The fio engine moves these bytes to the right sample if it
// can identify that sample. MergeLate repairs the other samples:
//
//   - A late sample, over 1.5 intervals long, is merged with its successor. If the successor is late too, the next
//     sample is added, and so on. Such a chain ends at 30 intervals. Without that limit, a run in which every dump is
//     late would become one sample. In a chain of 30 intervals, the last delay displaces only a small share of the
//     bytes.
//   - A last sample shorter than half an interval is merged with its predecessor.
//
// Only adjoining samples are merged, and only if both or neither belong to the warm-up. A merged sample has the exact
// sums of the counters, the start of its first sample and the end of its last one. The given samples must be in order.
func MergeLate(samples iter.Seq[Sample], intervalNanoseconds int64) iter.Seq[Sample] {
	if intervalNanoseconds <= 0 {
		return samples
	}
	return func(yield func(Sample) bool) {
		var merged []Sample // the last two samples, not yielded yet because they may still change
		open := false       // whether the last sample in `merged` is late and must be merged with its successor
		for sample := range samples {
			late := lengthOf(sample)-intervalNanoseconds > intervalNanoseconds/2
			if last := len(merged) - 1; open && mergeable(merged[last], sample) {
				merged[last] = join(merged[last], sample)
				open = late && lengthOf(merged[last])/intervalNanoseconds < maxLateIntervals
				continue
			}
			if len(merged) == 2 {
				if !yield(merged[0]) {
					return
				}
				merged[0] = merged[1]
				merged = merged[:1]
			}
			merged = append(merged, sample)
			open = late
		}
		if len(merged) == 2 && mergeable(merged[0], merged[1]) && lengthOf(merged[1]) < intervalNanoseconds/2 {
			merged = []Sample{join(merged[0], merged[1])}
		}
		for _, sample := range merged {
			if !yield(sample) {
				return
			}
		}
	}
}

func lengthOf(sample Sample) int64 { return sample.EndNanoseconds - sample.StartNanoseconds }

func mergeable(earlier, later Sample) bool {
	return earlier.EndNanoseconds == later.StartNanoseconds && earlier.WarmUp == later.WarmUp
}

func join(earlier, later Sample) Sample {
	earlier.EndNanoseconds = later.EndNanoseconds
	for i, c := range later.Counters {
		earlier.Counters[i].Bytes = Sum(earlier.Counters[i].Bytes, c.Bytes)
		earlier.Counters[i].Operations = Sum(earlier.Counters[i].Operations, c.Operations)
	}
	return earlier
}
