package conductor

import (
	"maps"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// TotalOf is the key of a total: the sum over all attempts for one operation of one step on one target.
type TotalOf struct {
	Step, Target string
	Operation    measure.Operation
}

// SampleCount describes the completeness of a target's samples. Taken is the number of samples that the clients have
// reported. Lost is the number of seconds of load for which samples are missing.
type SampleCount struct {
	Taken, Lost uint64
}

// totals sums everything that the clients have reported since the conductor was created. Unlike attempts, totals are
// never forgotten. They only grow, as counters must: neither recording a step nor losing a client subtracts anything.
// The plan bounds their memory, because they contain only requested steps: one counter per step, target and operation,
// and a Distribution per target.
type totals struct {
	mu       sync.Mutex
	counters map[TotalOf]measure.Counter
	samples  map[string]SampleCount
	// latency holds the distribution of each target in its newest attempt with latencies.
	latency map[string]*Distribution
}

// Distribution is the latency of a target in one attempt, by operation, over all clients.
type Distribution struct {
	Attempt decide.Attempt
	// Whole is the sum of all reports. Newest is the sum of the reports about one minute of the step: the latest minute
	// that any client has reported.
	Whole, Newest [measure.NumOperations]measure.Histogram
	minute        int
	end           int64
}

// longestSampleGap is the longest gap between two samples that does not count as missing data.
const longestSampleGap = int64(500 * time.Millisecond)

// add adds a client's sample. The parameter before is the end of the client's previous sample on the same clock. It is
// 0 for the client's first sample, and for its first sample after the warm-up, because tools reset their counters when
// the warm-up ends.
func (t *totals) add(step, target string, sample *measure.Sample, before int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counters == nil {
		t.counters, t.samples = map[TotalOf]measure.Counter{}, map[string]SampleCount{}
	}
	for _, operation := range measure.Operations {
		counter := sample.Counters[operation]
		if counter == (measure.Counter{}) {
			continue
		}
		key := TotalOf{Step: step, Target: target, Operation: operation}
		sum := t.counters[key]
		sum.Bytes += counter.Bytes
		sum.Operations += counter.Operations
		t.counters[key] = sum
	}
	count := t.samples[target]
	count.Taken++
	if gap := sample.StartNanoseconds - before; before != 0 && gap > longestSampleGap {
		count.Lost += uint64((gap + int64(time.Second)/2) / int64(time.Second))
	}
	t.samples[target] = count
}

// addLatency adds the latencies that a client reported for a minute of the step.
func (t *totals) addLatency(attempt decide.Attempt, target string, record *latencyRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latency == nil {
		t.latency = map[string]*Distribution{}
	}
	known := t.latency[target]
	switch {
	case known == nil || known.Attempt != attempt && record.endNanoseconds > known.end:
		known = &Distribution{Attempt: attempt, minute: record.minute}
		t.latency[target] = known
	case known.Attempt != attempt:
		// Ignore the record: an agent's log is being read again from the start, and the stored latencies belong to a
		// newer attempt.
		return
	}
	if record.minute > known.minute {
		known.minute, known.Newest = record.minute, [measure.NumOperations]measure.Histogram{}
	}
	known.end = max(known.end, record.endNanoseconds)
	for operation := range record.histograms {
		known.Whole[operation].Merge(&record.histograms[operation])
		if record.minute == known.minute {
			known.Newest[operation].Merge(&record.histograms[operation])
		}
	}
}

// Totals returns the bytes and operations that the clients have reported to this conductor. They include warm-ups,
// layouts, failed attempts, and earlier I/O that is still in the agents' logs (see Options.CountSince). They never
// decrease.
func (c *Conductor) Totals() map[TotalOf]measure.Counter {
	c.totals.mu.Lock()
	defer c.totals.mu.Unlock()
	return maps.Clone(c.totals.counters)
}

// Samples returns the sample counts by target.
func (c *Conductor) Samples() map[string]SampleCount {
	c.totals.mu.Lock()
	defer c.totals.mu.Unlock()
	return maps.Clone(c.totals.samples)
}

// Distributions returns the latencies by target, each from the newest attempt with reported latencies.
func (c *Conductor) Distributions() map[string]Distribution {
	c.totals.mu.Lock()
	defer c.totals.mu.Unlock()
	all := map[string]Distribution{}
	for target, one := range c.totals.latency {
		all[target] = *one
	}
	return all
}

// Connections counts the clients of each target by the state of their connection.
func (c *Conductor) Connections() map[string]map[decide.Connection]int {
	counts := map[string]map[decide.Connection]int{}
	for _, client := range c.all() {
		target := client.key.Target
		if counts[target] == nil {
			counts[target] = map[decide.Connection]int{}
		}
		client.mu.Lock()
		counts[target][client.connection]++
		client.mu.Unlock()
	}
	return counts
}
