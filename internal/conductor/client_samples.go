package conductor

import (
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// SamplesFrom returns a client's samples in an attempt, from an index on, including the warm-up. Times are converted
// to the reference clock with the current estimate of the offset. over is true if no more samples will come, because
// the attempt has ended on the client or the client is gone.
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

// samplesFrom returns the attempt's samples from an index on, in the reference clock.
func (p *clientAttempt) samplesFrom(index int, clock measure.RemoteClock) []measure.Sample {
	if index >= p.samples.count {
		return nil
	}
	all := make([]measure.Sample, 0, p.samples.count-index)
	for sample := range p.samples.from(index) {
		sample.StartNanoseconds = clock.ToLocal(sample.StartNanoseconds)
		sample.EndNanoseconds = clock.ToLocal(sample.EndNanoseconds)
		all = append(all, sample)
	}
	return all
}
