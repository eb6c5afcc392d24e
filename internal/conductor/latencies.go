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

// maxMinutes limits the minutes of an attempt for which latencies are kept.
const maxMinutes = int64(series.MaxDuration / time.Minute)

// latencies holds the latencies over time, summed over all clients of each target. It adds the clients' records as they
// arrive, so that the memory depends on the duration and not on the number of clients. The minutes of different clients
// begin at slightly different times (the start skew), so each record is added to the minute of the step that contains
// the record's middle.
//
// The memory of a sum is charged to the clients whose records made it grow. If a client is dropped because it exceeds
// its budget, its records cannot be subtracted from the sum. All latencies of the client's target in that attempt are
// then dropped too.
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
	// dropped is true if the latencies were discarded together with the reports of a client that had contributed to
	// them. Later records are then ignored.
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

// latencyRecord holds the latencies that a client has reported for a minute of a step.
type latencyRecord struct {
	// minute is the minute of the step that contains the middle of the record.
	minute int
	// startNanoseconds and endNanoseconds are instants of the reference clock.
	startNanoseconds, endNanoseconds int64
	histograms                       [measure.NumOperations]measure.Histogram
}

// decodeLatencies decodes a client's record, whose times are in the agent's clock. The first minute begins at released,
// the instant on that clock at which the client's tool began its load.
func decodeLatencies(released int64, clock measure.ClockOffset, from *agentapi.LatencyMinute) (*latencyRecord, error) {
	start, end := from.GetStartNanoseconds(), from.GetEndNanoseconds()
	if start < -maxInstant || end > maxInstant || end < start || released < -maxInstant || released > maxInstant {
		return nil, fmt.Errorf("invalid latencies: %d to %d ns is not a valid interval", start, end)
	}
	index := (start + (end-start)/2 - released) / int64(time.Minute)
	if index < 0 || index >= maxMinutes {
		return nil, fmt.Errorf("invalid latencies: minute %d is out of range", index)
	}
	record := &latencyRecord{minute: int(index), startNanoseconds: clock.ToLocal(start), endNanoseconds: clock.ToLocal(end)}
	reported := map[uint32]bool{}
	for _, one := range from.GetHistograms() {
		operation := one.GetOperation()
		if operation >= measure.NumOperations || reported[operation] {
			return nil, fmt.Errorf("invalid latencies: operation %d is unknown or reported twice", operation)
		}
		reported[operation] = true
		if err := record.histograms[operation].UnmarshalBinary(one.GetHistogram()); err != nil {
			return nil, fmt.Errorf("invalid latencies of %v: %w", measure.Operation(operation), err)
		}
	}
	return record, nil
}

// add adds a client's record to the sums of the minute that the record belongs to. The additional memory counts against
// the client's budget.
func (l *latencies) add(key latencyKey, budget *Budget, record *latencyRecord) error {
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
	for _, operation := range measure.Operations {
		if record.histograms[operation].Count() == 0 {
			continue
		}
		bytes, err := all.sum(operation, record)
		if err != nil {
			return err
		}
		all.kept[budget] += bytes
		budget.add(bytes)
	}
	return nil
}

// sum merges the histogram of one operation in a record into the histogram of the record's minute. It returns by how
// many bytes the memory use grew.
func (m *minutes) sum(operation measure.Operation, record *latencyRecord) (bytes int, err error) {
	minute := minuteKey{index: record.minute, operation: operation}
	known := m.sums[minute]
	first, last := record.startNanoseconds, record.endNanoseconds
	if known != nil {
		first, last = min(known.start, first), max(known.end, last)
	}
	if first < -measure.MaxInstant || last > measure.MaxInstant || last-first > int64(series.MaxDuration) {
		return 0, fmt.Errorf("invalid latencies: the interval from %d to %d ns is outside minute %d, which would extend from %d to %d ns",
			record.startNanoseconds, record.endNanoseconds, minute.index, first, last)
	}
	var sum measure.Histogram
	if known == nil {
		known, bytes = &minuteSum{}, minuteBytes
	} else if err := sum.UnmarshalBinary(known.histogram); err != nil {
		return 0, fmt.Errorf("invalid latencies: %w", err)
	}
	sum.Merge(&record.histograms[operation])
	encoded, err := sum.MarshalBinary()
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

// free discards the latencies, and subtracts their memory from the budgets that it was charged to.
func (m *minutes) free() {
	for budget, bytes := range m.kept {
		budget.add(-bytes)
	}
	m.sums, m.kept = nil, nil
}

// forget discards the latencies of an attempt and of earlier attempts of the same step.
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

// drop discards the latencies of each attempt and target that include reports of a lost client, because these reports
// cannot be subtracted.
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
