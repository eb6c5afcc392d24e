package result

import (
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// joinGap is the longest gap between two samples that is closed. A sample's two instants are translated from the
// tool's clock at two times, so one instant of the tool becomes two that are some microseconds apart or overlap.
const joinGap = int64(10 * time.Millisecond)

// seriesOf puts the samples of a client in order. refused is the number of impossible samples, whose counts are
// lost.
func seriesOf(samples []measure.Sample) (series *measure.Series, refused int, err error) {
	mended := make([]measure.Sample, 0, len(samples))
	for _, sample := range samples {
		if sample.EndNanoseconds < sample.StartNanoseconds || sample.StartNanoseconds < -measure.MaxInstant || sample.EndNanoseconds > measure.MaxInstant {
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
			// The sample lies in a period that is already covered, but its I/O did happen, so add it to the previous
			// sample.
			for i, counter := range sample.Counters {
				previous.Counters[i].Bytes = measure.Sum(previous.Counters[i].Bytes, counter.Bytes)
				previous.Counters[i].Operations = measure.Sum(previous.Counters[i].Operations, counter.Operations)
			}
		default:
			refused++
		}
	}
	series, err = measure.NewSeries(measure.MergeLate(mended, int64(SampleInterval)))
	return series, refused, err
}
