package scale

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// loadOf is the key of a sum over all clients of a run.
type loadOf struct {
	phase     string
	operation measure.Operation
}

// tally counts the samples of a run, as reported by its agents or as received by the operator.
type tally struct {
	samples uint64
	loads   map[loadOf]measure.Counter
}

// difference describes how the operator's tally differs from the agents', or returns "" if it does not.
func (t tally) difference(operator tally) string {
	var told []string
	if t.samples != operator.samples {
		told = append(told, fmt.Sprintf("%d samples of %d", operator.samples, t.samples))
	}
	keys := maps.Clone(t.loads)
	maps.Copy(keys, operator.loads)
	for key := range keys {
		if sent, got := t.loads[key], operator.loads[key]; sent != got {
			told = append(told, fmt.Sprintf("%s of %s: %+v of %+v", key.operation, key.phase, got, sent))
		}
	}
	slices.Sort(told)
	return strings.Join(told, "; ")
}

// ledger adds up the reports of a run's agents.
type ledger struct {
	namespace, benchmark, run string

	mu       sync.Mutex
	told     tally
	measured map[loadOf]measure.Counter
	// latest is the longest delay of a sample.
	latest time.Duration
	// holding is the number of agents that have received the request to finish and wait for released.
	holding  int
	released chan struct{}
}

func newLedger(namespace, benchmark, run string) *ledger {
	return &ledger{namespace: namespace, benchmark: benchmark, run: run, released: make(chan struct{}),
		told: tally{loads: map[loadOf]measure.Counter{}}, measured: map[loadOf]measure.Counter{}}
}

// sampled adds a sample that has the same counter for each of the operations.
func (l *ledger) sampled(phase string, operations []measure.Operation, each measure.Counter, warmUp bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told.samples++
	for _, operation := range operations {
		add(l.told.loads, loadOf{phase, operation}, each)
		if !warmUp {
			add(l.measured, loadOf{phase, operation}, each)
		}
	}
}

func add(sums map[loadOf]measure.Counter, key loadOf, each measure.Counter) {
	sum := sums[key]
	sum.Bytes += each.Bytes
	sum.Operations += each.Operations
	sums[key] = sum
}

func (l *ledger) late(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = max(l.latest, by)
}

// hold waits until the run's counts have been compared, or until the context ends.
func (l *ledger) hold(ctx context.Context) {
	l.mu.Lock()
	l.holding++
	l.mu.Unlock()
	select {
	case <-l.released:
	case <-ctx.Done():
	}
}

// held reports whether all clients wait in hold, and returns what they have reported.
func (l *ledger) held(clients int) (tally, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holding < clients {
		return tally{}, false
	}
	return tally{samples: l.told.samples, loads: maps.Clone(l.told.loads)}, true
}
