package conductor

import (
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// SamplesFrom returns a client's samples in an attempt, starting at an index, including those of the warm-up. Times
// are in the reference clock by the current estimate. over is true if no more samples will come: the part has
// ended, or the client is gone.
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
	return p.samplesFrom(index, clock), over || p.progress == decide.Ended
}

// samplesFrom returns the part's samples starting at an index, in the reference clock.
func (p *clientAttempt) samplesFrom(index int, clock measure.RemoteClock) (samples []measure.Sample) {
	for _, sample := range p.samples[min(index, len(p.samples)):] {
		sample.StartNanoseconds = clock.ToLocal(sample.StartNanoseconds)
		sample.EndNanoseconds = clock.ToLocal(sample.EndNanoseconds)
		samples = append(samples, sample)
	}
	return samples
}
