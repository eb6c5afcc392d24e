package series

import (
	"math/bits"

	"github.com/storagebench/storagebench/internal/measure"
)

// binsInOctave is how finely a distribution is kept. fio's grid has 64 buckets in an octave; eight of them make one here,
// so that each lies in one bin as a whole.
const binsInOctave = 8

// DistributionOf puts the buckets of a histogram together.
func DistributionOf(operation measure.Operation, histogram *measure.Histogram) Distribution {
	made := Distribution{Operation: operation}
	for key, count := range histogram.Bins() {
		low, high := binOf(key)
		if last := len(made.Bins) - 1; last >= 0 && made.Bins[last].LowNanoseconds == low {
			made.Bins[last].Count += count
			continue
		}
		made.Bins = append(made.Bins, Bin{LowNanoseconds: low, HighNanoseconds: high, Count: count})
	}
	return made
}

// binOf gives the bin that a latency is in. Below 8 ns each nanosecond is one.
func binOf(nanoseconds uint64) (low, high uint64) {
	if nanoseconds < binsInOctave {
		return nanoseconds, nanoseconds + 1
	}
	octave := uint64(1) << (bits.Len64(nanoseconds) - 1)
	width := octave / binsInOctave
	low = octave + (nanoseconds-octave)/width*width
	if low+width > measure.LastBucketNanoseconds {
		return low, 0
	}
	return low, low + width
}
