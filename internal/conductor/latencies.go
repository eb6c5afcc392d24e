package conductor

import (
	"cmp"
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

// maxMinutes is the maximum number of minutes of an attempt for which latencies are kept.
const maxMinutes = int64(series.MaxDuration / time.Minute)

// latencies holds the latencies of all clients over time. It sums the records of a target's clients as they arrive,
// so that memory grows with time, not with the number of clients. The clients' minutes begin at slightly different
// times (the start skew); a record counts for the minute of the step that contains the record's middle.
//
// The memory of a sum counts against the clients whose records made it grow. If a client is dropped because it exceeds
// its budget, its records cannot be subtracted from the sum, so all latencies over time of its target in that attempt
// are dropped too.
type latencies struct {
	mu sync.Mutex
	of map[latencyKey]*minutes
}

type latencyKey struct {
	attempt decide.Attempt
	target  string
}

// minutes holds the latencies of one target in one attempt.
type minutes struct {
	sums map[minuteKey]*minuteSum
	// kept is the approximate memory, in bytes, charged to each budget.
	kept map[*Budget]int
	// dropped is true once a client that contributed to the sums has been dropped. No further records are added after
	// that.
	dropped bool
}

type minuteKey struct {
	index     int
	operation measure.Operation
}

// minuteBytes is the approximate memory, in bytes, of a minuteSum without its histogram.
const minuteBytes = 160

// minuteSum holds an encoded histogram, because a decoded one needs ten times the memory.
type minuteSum struct {
	start, end int64
	histogram  []byte
}

// minuteOf returns the minute of the step that contains the middle of a client's record. The first minute begins at
// released, the instant on the agent's clock at which the client's tool began its load.
func minuteOf(released int64, from *agentapi.LatencyMinute) (int, error) {
	start, end := from.GetStartNanoseconds(), from.GetEndNanoseconds()
	if start < -maxInstant || end > maxInstant || end < start || released < -maxInstant || released > maxInstant {
		return 0, fmt.Errorf("invalid latencies: from %d to %d ns: not a valid interval", start, end)
	}
	index := (start + (end-start)/2 - released) / int64(time.Minute)
	if index < 0 || index >= maxMinutes || len(from.GetHistograms()) > measure.NumOperations {
		return 0, fmt.Errorf("invalid latencies: minute %d is out of range, or %d operations are too many", index, len(from.GetHistograms()))
	}
	return int(index), nil
}

// add adds a client's record to a minute. The additional memory counts against the client's budget.
func (l *latencies) add(
	key latencyKey, budget *Budget, clock measure.ClockOffset, index int, from *agentapi.LatencyMinute,
) error {
	start, end := clock.ToLocal(from.GetStartNanoseconds()), clock.ToLocal(from.GetEndNanoseconds())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[latencyKey]*minutes{}
	}
	all := l.of[key]
	if all == nil {
		all = &minutes{sums: map[minuteKey]*minuteSum{}, kept: map[*Budget]int{}}
		l.of[key] = all
	}
	if all.dropped {
		return nil
	}
	for _, one := range from.GetHistograms() {
		if one.GetOperation() >= measure.NumOperations {
			return fmt.Errorf("invalid latencies: operation %d is out of range: must be below %d", one.GetOperation(), measure.NumOperations)
		}
		var histogram measure.Histogram
		if err := histogram.UnmarshalBinary(one.GetHistogram()); err != nil {
			return fmt.Errorf("invalid latencies: %w", err)
		}
		minute := minuteKey{index: index, operation: measure.Operation(one.GetOperation())}
		bytes, err := all.sum(minute, start, end, &histogram)
		if err != nil {
			return err
		}
		all.kept[budget] += bytes
		budget.add(bytes)
	}
	return nil
}

// sum adds a histogram to its minute and returns the growth in memory.
func (m *minutes) sum(minute minuteKey, start, end int64, histogram *measure.Histogram) (bytes int, err error) {
	known := m.sums[minute]
	first, last := start, end
	if known != nil {
		first, last = min(known.start, start), max(known.end, end)
	}
	if first < -measure.MaxInstant || last > measure.MaxInstant || last-first > int64(series.MaxDuration) {
		return 0, fmt.Errorf("invalid latencies: from %d to %d ns: outside minute %d, which would last from %d to %d ns",
			start, end, minute.index, first, last)
	}
	if known == nil {
		known, bytes = &minuteSum{start: start, end: end}, minuteBytes
	} else {
		var before measure.Histogram
		if err := before.UnmarshalBinary(known.histogram); err != nil {
			return 0, fmt.Errorf("invalid latencies: %w", err)
		}
		histogram.Merge(&before)
	}
	encoded, err := histogram.MarshalBinary()
	if err != nil {
		return 0, fmt.Errorf("invalid latencies: %w", err)
	}
	// Clone the encoded histogram, because MarshalBinary returns a slice with spare capacity.
	encoded = slices.Clone(encoded)
	bytes += len(encoded) - len(known.histogram)
	known.start, known.end, known.histogram = first, last, encoded
	m.sums[minute] = known
	return bytes, nil
}

// free drops all latencies.
func (m *minutes) free() {
	for budget, bytes := range m.kept {
		budget.add(-bytes)
	}
	m.sums, m.kept = nil, nil
}

// forget drops an attempt, and earlier attempts of the same step.
func (l *latencies) forget(attempt decide.Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.of, func(key latencyKey, all *minutes) bool {
		old := key.attempt.Step == attempt.Step && key.attempt.Number <= attempt.Number
		if old {
			all.free()
		}
		return old
	})
}

// drop drops all latencies that include a lost client's reports.
func (l *latencies) drop(of *Budget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, all := range l.of {
		if _, in := all.kept[of]; in {
			all.free()
			all.dropped = true
		}
	}
}

// Latencies returns the latencies of an attempt over time, by target, sorted by time, then operation. Each is the sum
// of all clients' reports so far.
func (c *Conductor) Latencies(attempt decide.Attempt) map[string][]series.Minute {
	c.latencies.mu.Lock()
	defer c.latencies.mu.Unlock()
	all := map[string][]series.Minute{}
	for key, known := range c.latencies.of {
		if key.attempt != attempt {
			continue
		}
		keys := slices.SortedFunc(maps.Keys(known.sums), func(a, b minuteKey) int {
			return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.operation, b.operation))
		})
		for _, minute := range keys {
			var histogram measure.Histogram
			sum := known.sums[minute]
			if histogram.UnmarshalBinary(sum.histogram) != nil {
				continue // decoding cannot fail, because this package encoded the histogram
			}
			all[key.target] = append(all[key.target], series.MinuteOf(sum.start, sum.end, minute.operation, &histogram))
		}
	}
	return all
}
