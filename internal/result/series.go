package result

import (
	"iter"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// joinGap is the longest gap between two samples that is closed. On the tool's clock, each sample starts at the same
// instant at which the previous one ends. The end and the start are translated from the tool's clock separately, so the
// results can be a few microseconds apart or overlap.
const joinGap = int64(10 * time.Millisecond)

// series returns the client's samples in order. refused is the number of samples that are left out because their times
// are impossible. Their I/O is not counted.
func (c *Client) series() (series *measure.Series, refused int, err error) {
	if c.Samples == nil {
		return &measure.Series{}, 0, nil
	}
	count := 0
	for range c.Samples {
		count++
	}
	series, err = measure.NewSeries(count, measure.MergeLate(inOrder(c.Samples, &refused), int64(SampleInterval)))
	return series, refused, err
}

// inOrder yields samples in order and without overlap. It drops samples with impossible times and counts them in
// refused. A sample has impossible times if they are out of range, or if it ends before the previous sample ends and
// only one of the two belongs to the warm-up.
func inOrder(samples iter.Seq[measure.Sample], refused *int) iter.Seq[measure.Sample] {
	return func(yield func(measure.Sample) bool) {
		var previous measure.Sample
		begun := false
		for sample := range samples {
			if sample.EndNanoseconds < sample.StartNanoseconds || sample.StartNanoseconds < -measure.MaxInstant || sample.EndNanoseconds > measure.MaxInstant {
				*refused++
				continue
			}
			if begun {
				gap := sample.StartNanoseconds - previous.EndNanoseconds
				if gap < 0 || gap <= joinGap && sample.WarmUp == previous.WarmUp {
					sample.StartNanoseconds = previous.EndNanoseconds
				}
			}
			switch {
			case sample.EndNanoseconds >= sample.StartNanoseconds:
				if begun && !yield(previous) {
					return
				}
				previous, begun = sample, true
			case sample.WarmUp == previous.WarmUp:
				// The sample lies in a period that is already covered, but its I/O took place, so add it to the
				// previous sample.
				for i, counter := range sample.Counters {
					previous.Counters[i].Bytes = measure.Sum(previous.Counters[i].Bytes, counter.Bytes)
					previous.Counters[i].Operations = measure.Sum(previous.Counters[i].Operations, counter.Operations)
				}
			default:
				*refused++
			}
		}
		if begun {
			yield(previous)
		}
	}
}
