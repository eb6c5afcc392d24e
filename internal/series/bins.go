package series

import (
	"math/bits"

	"github.com/storagebench/storagebench/internal/measure"
)

// binsInOctave is the number of bins per octave in a distribution. fio's histograms have 64 buckets per octave, so
// eight buckets form one bin, and no bucket spans two bins.
const binsInOctave = 8

// DistributionOf merges the buckets of a histogram into bins.
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

// binOf returns the edges of the bin that contains a latency; high is 0 in the last bin. Below 8 ns, each bin is 1 ns
// wide.
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
