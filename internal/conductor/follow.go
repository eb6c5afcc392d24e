package conductor

import (
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// SamplesFrom returns the samples of a client's part in an attempt from an index on, warm-up included, in the reference
// clock by the current estimate. over is true if no more samples will come: the part has ended, or the client is gone.
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

// samplesFrom returns the part's samples from an index on, in the reference clock.
func (p *part) samplesFrom(index int, clock measure.RemoteClock) (samples []measure.Sample) {
	for _, sample := range p.samples[min(index, len(p.samples)):] {
		sample.StartNanoseconds = clock.ToLocal(sample.StartNanoseconds)
		sample.EndNanoseconds = clock.ToLocal(sample.EndNanoseconds)
		samples = append(samples, sample)
	}
	return samples
}
