package measure

// maxLateIntervals bounds a chain of late samples, in intervals.
const maxLateIntervals = 30

// MergeLate repairs the samples of a tool whose dumps can wait, as those of fio's
// --status-interval do for a job that is inside an I/O. Before fio 3.42 the bytes of such a
// dump are those of the instant when it was asked for, its time is that when it was at last
// written, and the bytes of the wait are all in the next, short sample (measured: 32.6 and
// then 2,805 MB/s, where 150 is true). The fio engine puts bytes where they belong as far
// as it can tell; this is for what it can not. So
//
//   - a late sample, over 1.5 intervals long, is merged with its successor, and as long as
//     that is late too, with the one after it. Such a chain ends at 30 intervals: where
//     every dump is late there would be one sample left, of the whole run; what the
//     chain's last wait displaces is then small against its length;
//   - a last sample under half an interval is merged with its predecessor.
//
// Only samples that adjoin, and are both warm-up or both not, are merged. Counters and the
// instants of the first start and of the last end are kept exactly. The given samples,
// which must be in order, are not changed.
func MergeLate(samples []Sample, intervalNanoseconds int64) []Sample {
	if intervalNanoseconds <= 0 {
		return append([]Sample(nil), samples...)
	}
	merged := make([]Sample, 0, len(samples))
	open := false // the last of merged waits for its successor
	for _, sample := range samples {
		late := lengthOf(sample)-intervalNanoseconds > intervalNanoseconds/2
		if last := len(merged) - 1; open && mergeable(merged[last], sample) {
			merged[last] = join(merged[last], sample)
			open = late && lengthOf(merged[last])/intervalNanoseconds < maxLateIntervals
			continue
		}
		merged = append(merged, sample)
		open = late
	}
	last := len(merged) - 1
	if last >= 1 && mergeable(merged[last-1], merged[last]) &&
		lengthOf(merged[last]) < intervalNanoseconds/2 {
		merged[last-1] = join(merged[last-1], merged[last])
		merged = merged[:last]
	}
	return merged
}

func lengthOf(sample Sample) int64 { return sample.EndNanoseconds - sample.StartNanoseconds }

func mergeable(earlier, later Sample) bool {
	return earlier.EndNanoseconds == later.StartNanoseconds && earlier.WarmUp == later.WarmUp
}

func join(earlier, later Sample) Sample {
	earlier.EndNanoseconds = later.EndNanoseconds
	for i, c := range later.Counters {
		earlier.Counters[i].Bytes = saturatingAdd(earlier.Counters[i].Bytes, c.Bytes)
		earlier.Counters[i].Operations = saturatingAdd(earlier.Counters[i].Operations, c.Operations)
	}
	return earlier
}
