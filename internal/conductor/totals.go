package conductor

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// TotalOf says what a total is of: one operation of one step on one target, over all its attempts.
type TotalOf struct {
	Step, Target string
	Operation    measure.Operation
}

// SampleCount is how many samples the clients of a target have told of, and how many seconds of their load are in none.
type SampleCount struct {
	Taken, Lost uint64
}

// totals are what all clients have told since the conductor was made. Unlike parts they are never forgotten, so that
// they only grow, as counters have to: a step that is written down, or a client that is lost, takes nothing away.
type totals struct {
	mu       sync.Mutex
	counters map[TotalOf]measure.Counter
	samples  map[string]SampleCount
	// latency by target: of the newest attempt that told of one.
	latency map[string]*Distribution
}

// Distribution is the latency of a target in one attempt, by operation, over all clients.
type Distribution struct {
	Attempt decide.Attempt
	// Whole is all that was told of, Newest what came in the newest minute of the step that anybody told of.
	Whole, Newest [measure.NumOperations]measure.Histogram
	minute        int64
	end           int64
}

// maxTotals bounds what agents that invent steps can make of the totals: a run has 1,024 steps and 16 targets at most, and
// few have both.
const maxTotals = 1 << 14

// longestSampleGap is by how much one sample may begin after the one before and nothing be missing.
const longestSampleGap = int64(500 * time.Millisecond)

// add takes in a sample of a client, whose sample before ended at an instant of the same clock; 0 where it is the
// first, or the one before was of the warm-up: tools forget what they did at the end of that.
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
		sum, known := t.counters[key]
		if !known && len(t.counters) >= maxTotals {
			continue
		}
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

// addLatency takes in latencies that a client told of, with instants of its own clock.
func (t *totals) addLatency(attempt decide.Attempt, target string, clock measure.ClockOffset, released int64, from *agentapi.LatencyMinute) error {
	if released == 0 || from.GetStartNanoseconds() < -maxInstant || from.GetEndNanoseconds() > maxInstant ||
		from.GetEndNanoseconds() < from.GetStartNanoseconds() {
		return nil // It belongs to no minute; whoever keeps the series complains.
	}
	var told [measure.NumOperations]measure.Histogram
	for _, one := range from.GetHistograms() {
		if one.GetOperation() >= measure.NumOperations {
			return fmt.Errorf("latencies of operation %d, and there are %d", one.GetOperation(), measure.NumOperations)
		}
		if err := told[one.GetOperation()].UnmarshalBinary(one.GetHistogram()); err != nil {
			return fmt.Errorf("latencies of %v: %w", measure.Operation(one.GetOperation()), err)
		}
	}
	middle := from.GetStartNanoseconds()/2 + from.GetEndNanoseconds()/2
	minute, end := (middle-released)/int64(time.Minute), clock.ToLocal(from.GetEndNanoseconds())
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latency == nil {
		t.latency = map[string]*Distribution{}
	}
	known := t.latency[target]
	switch {
	case known == nil || known.Attempt != attempt && end > known.end:
		known = &Distribution{Attempt: attempt, minute: minute}
		t.latency[target] = known
	case known.Attempt != attempt:
		// An agent's log is read again, from the beginning; what others do now is newer.
		return nil
	}
	if minute > known.minute {
		known.minute, known.Newest = minute, [measure.NumOperations]measure.Histogram{}
	}
	known.end = max(known.end, end)
	for operation := range told {
		known.Whole[operation].Merge(&told[operation])
		if minute == known.minute {
			known.Newest[operation].Merge(&told[operation])
		}
	}
	return nil
}

// Totals are the bytes and operations that the clients have told of since this conductor was made: those of what
// agents remember of the time before included, warm-up, layouts and attempts that failed too. They never go down.
func (c *Conductor) Totals() map[TotalOf]measure.Counter {
	c.totals.mu.Lock()
	defer c.totals.mu.Unlock()
	return maps.Clone(c.totals.counters)
}

// Samples are the counts of samples by target.
func (c *Conductor) Samples() map[string]SampleCount {
	c.totals.mu.Lock()
	defer c.totals.mu.Unlock()
	return maps.Clone(c.totals.samples)
}

// Distributions are the latencies by target, each of the newest attempt in which the target told of any.
func (c *Conductor) Distributions() map[string]Distribution {
	c.totals.mu.Lock()
	defer c.totals.mu.Unlock()
	all := map[string]Distribution{}
	for target, one := range c.totals.latency {
		all[target] = *one
	}
	return all
}

// Connections counts the clients of each target by how they are reached.
func (c *Conductor) Connections() map[string]map[decide.Connection]int {
	counts := map[string]map[decide.Connection]int{}
	for _, client := range c.all() {
		target := client.endpoint.Key.Target
		if counts[target] == nil {
			counts[target] = map[decide.Connection]int{}
		}
		client.mu.Lock()
		counts[target][client.connection]++
		client.mu.Unlock()
	}
	return counts
}
