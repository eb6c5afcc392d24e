package conductor

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/series"
)

// maxMinutes of an attempt: a run lasts 7 days at most.
const maxMinutes = 8 * 24 * 60

// latencies are those of all clients over time. Clients of a target are added up as their records come, so that memory
// grows with the time and not with the clients. The clients' minutes begin within a start skew of each other; a record
// counts for the minute of the step in which its middle lies.
type latencies struct {
	mu sync.Mutex
	of map[latencyKey]map[minuteKey]*minuteSum
}

type latencyKey struct {
	attempt decide.Attempt
	target  string
}

type minuteKey struct {
	index     int
	operation measure.Operation
}

// minuteSum is kept encoded: a histogram that is open takes ten times as much.
type minuteSum struct {
	start, end int64
	histogram  []byte
}

// addLatency adds a record of a client, whose tool was released at an instant of its agent's clock.
func (l *latencies) add(key latencyKey, clock measure.ClockOffset, released int64, from *agentapi.LatencyMinute) error {
	start, end := from.GetStartNanoseconds(), from.GetEndNanoseconds()
	if released == 0 {
		return nil // when it began is not known, so that there is no minute for it
	}
	if start < -maxInstant || end > maxInstant || end < start || released < -maxInstant || released > maxInstant {
		return fmt.Errorf("latencies from %d to %d ns", start, end)
	}
	index := (start + (end-start)/2 - released) / int64(time.Minute)
	if index < 0 || index >= maxMinutes || len(from.GetHistograms()) > measure.NumOperations {
		return fmt.Errorf("latencies of minute %d, with %d operations", index, len(from.GetHistograms()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[latencyKey]map[minuteKey]*minuteSum{}
	}
	if l.of[key] == nil {
		l.of[key] = map[minuteKey]*minuteSum{}
	}
	for _, one := range from.GetHistograms() {
		if one.GetOperation() >= measure.NumOperations {
			return fmt.Errorf("latencies of operation %d, and there are %d", one.GetOperation(), measure.NumOperations)
		}
		var histogram measure.Histogram
		if err := histogram.UnmarshalBinary(one.GetHistogram()); err != nil {
			return fmt.Errorf("latencies of a minute: %w", err)
		}
		minute := minuteKey{index: int(index), operation: measure.Operation(one.GetOperation())}
		if err := l.sum(key, minute, clock.ToLocal(start), clock.ToLocal(end), &histogram); err != nil {
			return err
		}
	}
	return nil
}

// sum adds a histogram to its minute. Callers hold mu.
func (l *latencies) sum(key latencyKey, minute minuteKey, start, end int64, histogram *measure.Histogram) error {
	known := l.of[key][minute]
	if known == nil {
		known = &minuteSum{start: start, end: end}
		l.of[key][minute] = known
	} else {
		var before measure.Histogram
		if err := before.UnmarshalBinary(known.histogram); err != nil {
			return fmt.Errorf("latencies of a minute: %w", err)
		}
		histogram.Merge(&before)
		known.start, known.end = min(known.start, start), max(known.end, end)
	}
	encoded, err := histogram.MarshalBinary()
	if err != nil {
		delete(l.of[key], minute)
		return fmt.Errorf("latencies of a minute: %w", err)
	}
	known.histogram = encoded
	return nil
}

func (l *latencies) forget(attempt decide.Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.of, func(key latencyKey, _ map[minuteKey]*minuteSum) bool { return key.attempt == attempt })
}

// Latencies are those of an attempt over time, by target, in order of time and then of operations: what all clients of
// a target have reported so far.
func (c *Conductor) Latencies(attempt decide.Attempt) map[string][]series.Minute {
	c.latencies.mu.Lock()
	defer c.latencies.mu.Unlock()
	all := map[string][]series.Minute{}
	for key, minutes := range c.latencies.of {
		if key.attempt != attempt {
			continue
		}
		keys := slices.SortedFunc(maps.Keys(minutes), func(a, b minuteKey) int {
			if a.index != b.index {
				return a.index - b.index
			}
			return int(a.operation) - int(b.operation)
		})
		for _, minute := range keys {
			var histogram measure.Histogram
			if histogram.UnmarshalBinary(minutes[minute].histogram) != nil {
				continue // cannot be: it was encoded here
			}
			all[key.target] = append(all[key.target], series.MinuteOf(minutes[minute].start, minutes[minute].end, minute.operation, &histogram))
		}
	}
	return all
}
