package conductor

import (
	"iter"
	"slices"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// SamplesFrom returns a client's samples in an attempt, starting at the given index. They include the samples of the
// warm-up. Their times are converted to the reference clock with the current estimate of the offset. over is true if no
// further samples can arrive, because the attempt has ended on the client or the client is gone.
func (c *Conductor) SamplesFrom(attempt decide.Attempt, key decide.ClientKey, index int) (samples []measure.Sample, over bool) {
	client := c.client(key)
	if client == nil {
		return nil, true
	}
	client.mu.Lock()
	defer client.mu.Unlock()
	p := client.attempts[attempt]
	over = client.connection == decide.Lost || client.connection == decide.Finished
	if p == nil {
		return nil, over
	}
	clock := measure.CombineClocks(p.clock, client.offset)
	return slices.Collect(translated(p.samples.from(index), clock)), over || p.progress == decide.Ended
}

// translated converts the times of samples from an agent's clock to the reference clock.
func translated(samples iter.Seq[measure.Sample], clock measure.RemoteClock) iter.Seq[measure.Sample] {
	return func(yield func(measure.Sample) bool) {
		for sample := range samples {
			sample.StartNanoseconds = clock.ToLocal(sample.StartNanoseconds)
			sample.EndNanoseconds = clock.ToLocal(sample.EndNanoseconds)
			if !yield(sample) {
				return
			}
		}
	}
}
