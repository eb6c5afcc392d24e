package conductor

import (
	"slices"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// running holds the current totals of an attempt, its newest sample and the sample's mean latencies. It provides live
// figures without reading all samples each second.
type running struct {
	// done counts the bytes and the operations, without syncs; see measure.Charged.
	done measure.Counter
	// latency is the mean latency by operation, in microseconds, or 0 if it is unknown.
	latency [measure.NumOperations]uint64
	// newest is the newest sample, or the zero value if there is none.
	newest measure.Sample
}

// follow adds a sample to the totals, and makes it the newest sample.
func (r *running) follow(sample *measure.Sample, from *agentapi.Sample) {
	r.newest = *sample
	r.latency = [measure.NumOperations]uint64{}
	for _, count := range from.GetCounts() {
		if operation := count.GetOperation(); operation < measure.NumOperations {
			r.latency[operation] = count.GetMeanLatencyMicroseconds()
		}
	}
	charged := measure.Charged(sample.Counters)
	r.done.Bytes = measure.Sum(r.done.Bytes, charged.Bytes)
	r.done.Operations = measure.Sum(r.done.Operations, charged.Operations)
}

// Doing returns the live figures of each target in an attempt, in the order in which the targets were first
// connected.
func (c *Conductor) Doing(attempt decide.Attempt) []result.Doing {
	var all []result.Doing
	for _, client := range c.all() {
		target := client.key.Target
		at := slices.IndexFunc(all, func(d result.Doing) bool { return d.Target == target })
		if at < 0 {
			at = len(all)
			all = append(all, result.Doing{Target: target})
		}
		client.doing(attempt, &all[at])
	}
	return all
}

// Rate returns the combined rate of all clients in an attempt, from each client's newest sample, per second. Operations
// do not include syncs. Use it for display only.
func (c *Conductor) Rate(attempt decide.Attempt) (bytesPerSecond, iops float64) {
	for _, target := range c.Doing(attempt) {
		for operation, rate := range target.Rates {
			bytesPerSecond += rate.BytesPerSecond
			if measure.Operation(operation) != measure.Sync {
				iops += rate.OperationsPerSecond
			}
		}
	}
	return bytesPerSecond, iops
}

// doing adds a client's figures to the figures of its target.
func (c *client) doing(attempt decide.Attempt, to *result.Doing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.attempts[attempt]
	if p == nil {
		return
	}
	live := p.progress == decide.Running && c.connection == decide.Ready
	if live {
		to.Clients++
	}
	if p.samples.count == 0 {
		return
	}
	clock := measure.CombineClocks(p.clock, c.offset)
	newest := &p.running.newest
	to.Extend(clock.ToLocal(p.samples.began), clock.ToLocal(newest.EndNanoseconds), p.running.done)
	seconds := float64(newest.EndNanoseconds-newest.StartNanoseconds) / 1e9
	if !live || seconds <= 0 {
		return
	}
	for operation, count := range newest.Counters {
		rate := result.DoingRate{BytesPerSecond: float64(count.Bytes) / seconds, OperationsPerSecond: float64(count.Operations) / seconds}
		if mean := p.running.latency[operation]; mean > 0 {
			rate.LatencyOperations = float64(count.Operations)
			rate.LatencySumNanoseconds = float64(mean) * 1000 * rate.LatencyOperations
		}
		to.Rates[operation].Add(rate)
	}
}
