package result

import (
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

const (
	// joinGap is up to which a gap between two samples is none. A sample's two instants are
	// translated from the tool's clock at two times, so what is one instant for the tool comes out
	// as two that are some microseconds apart, or overlap.
	joinGap = int64(10 * time.Millisecond)
	// farthest bounds instants to what can be subtracted without overflow.
	farthest = int64(1) << 61
)

// seriesOf puts the samples of a client in order. refused is how many cannot be: what they counted
// is lost.
func seriesOf(samples []measure.Sample) (series *measure.Series, refused int, err error) {
	mended := make([]measure.Sample, 0, len(samples))
	for _, sample := range samples {
		if sample.EndNanoseconds < sample.StartNanoseconds || sample.StartNanoseconds < -farthest || sample.EndNanoseconds > farthest {
			refused++
			continue
		}
		if len(mended) == 0 {
			mended = append(mended, sample)
			continue
		}
		previous := &mended[len(mended)-1]
		gap := sample.StartNanoseconds - previous.EndNanoseconds
		if gap < 0 || gap <= joinGap && sample.WarmUp == previous.WarmUp {
			sample.StartNanoseconds = previous.EndNanoseconds
		}
		switch {
		case sample.EndNanoseconds >= sample.StartNanoseconds:
			mended = append(mended, sample)
		case sample.WarmUp == previous.WarmUp:
			// It lies in a time that was counted already; what it counted did happen.
			for i, counter := range sample.Counters {
				previous.Counters[i].Bytes = sum(previous.Counters[i].Bytes, counter.Bytes)
				previous.Counters[i].Operations = sum(previous.Counters[i].Operations, counter.Operations)
			}
		default:
			refused++
		}
	}
	series, err = measure.NewSeries(measure.MergeLate(mended, int64(SampleInterval)))
	return series, refused, err
}

// sum is the greatest number where the sum does not fit.
func sum(a, b uint64) uint64 {
	if total := a + b; total >= a {
		return total
	}
	return 1<<64 - 1
}
