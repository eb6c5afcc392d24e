package conductor

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"
)

// Budget limits the memory of what agents report. Budgets form a tree: those of the clients are below that of their
// run, and those of the runs below that of the process. What counts against a budget counts against all above it too.
// A budget that is exceeded loses its largest client, so that a client with little is not lost because of one with
// much.
type Budget struct {
	// scope is what shares the budget, for messages.
	scope string
	limit int64
	above *Budget
	locks *budgetLocks
	// shed drops what a client has reported, and loses it; nil for a budget of several clients.
	shed func(reason string)

	// The fields below are guarded by locks.counting.
	used  int64
	below map[*Budget]bool
	// closed is true for a client that is shed or replaced.
	closed bool
}

// budgetLocks are shared by a tree of budgets. Do not wait for anything else while holding counting.
type budgetLocks struct {
	counting sync.Mutex
	// settling is held while clients are lost, so that no two are lost where one is enough.
	settling sync.Mutex
}

const (
	// defaultMemory is the memory of a process without a limit.
	defaultMemory = 1 << 30
	// mostOfClient is the largest budget of one client: seven days of one sample per second need half of it.
	mostOfClient = 128 << 20
	// resent is how many times the budget of a client its agent may send, dropped reports included.
	resent = 8
)

// NewBudget returns the budget of all runs of a process, in bytes.
func NewBudget(bytes int64) *Budget {
	return &Budget{scope: "all runs", limit: bytes, locks: &budgetLocks{}, below: map[*Budget]bool{}}
}

// ProcessBudget returns the budget of all runs for this process: five eighths of Go's memory limit (GOMEMLIMIT).
func ProcessBudget() *Budget {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = defaultMemory
	}
	return NewBudget(limit / 8 * 5)
}

// ofRun returns the budget of a run: three quarters, because no run may take all.
func (b *Budget) ofRun() *Budget { return b.split("the clients of a run", b.limit/4*3, nil) }

// ofClient returns the budget of a client of a run.
func (b *Budget) ofClient(shed func(reason string)) *Budget {
	return b.split("one client", min(b.limit/2, mostOfClient), shed)
}

func (b *Budget) split(scope string, limit int64, shed func(string)) *Budget {
	made := &Budget{scope: scope, limit: limit, above: b, locks: b.locks, shed: shed, below: map[*Budget]bool{}}
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	b.below[made] = true
	return made
}

// Used returns the bytes that count against the budget.
func (b *Budget) Used() int64 {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	return b.used
}

// Limit returns the bytes that may count against the budget.
func (b *Budget) Limit() int64 { return b.limit }

// add counts bytes; negative ones are free again. It loses no client, so it may be called under any lock.
func (b *Budget) add(bytes int) {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	for one := b; one != nil; one = one.above {
		one.used += int64(bytes)
	}
	b.prune()
}

// close removes the budget of a client once nothing counts against it any more. The client cannot be lost again.
func (b *Budget) close() {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	b.closed = true
	b.prune()
}

// prune removes a closed and empty budget from the tree. Callers hold counting.
func (b *Budget) prune() {
	if b.closed && b.used == 0 && b.above != nil {
		delete(b.above.below, b)
	}
}

// detach removes the budget of a run from the tree: what counts against it is free, and what is added or freed later
// does not concern the budgets above.
func (b *Budget) detach() {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	for one := b.above; one != nil; one = one.above {
		one.used -= b.used
	}
	if b.above != nil {
		delete(b.above.below, b)
		b.above = nil
	}
}

// enforce loses clients until no budget from this one up is exceeded. Callers hold no lock of a client.
func (b *Budget) enforce() {
	if b.exceeded() == nil {
		return
	}
	b.locks.settling.Lock()
	defer b.locks.settling.Unlock()
	for over := b.exceeded(); over != nil; over = b.exceeded() {
		largest := over.largest()
		if largest == nil {
			return
		}
		largest.shed(over.reason())
		largest.close()
	}
}

// lose loses a client.
func (b *Budget) lose(reason string) {
	b.locks.settling.Lock()
	defer b.locks.settling.Unlock()
	b.shed(reason)
	b.close()
}

// exceeded returns the first exceeded budget from this one up; nil if there is none.
func (b *Budget) exceeded() *Budget {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	for one := b; one != nil; one = one.above {
		if one.used > one.limit && !one.closed {
			return one
		}
	}
	return nil
}

// largest returns the largest client of the largest run below a budget; nil if none is left that can be lost.
func (b *Budget) largest() *Budget {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	return b.largestOpen()
}

// largestOpen is largest for callers that hold counting.
func (b *Budget) largestOpen() *Budget {
	if b.closed {
		return nil
	}
	if b.shed != nil {
		return b
	}
	bySize := slices.SortedFunc(maps.Keys(b.below), func(x, y *Budget) int { return cmp.Compare(y.used, x.used) })
	for _, one := range bySize {
		if found := one.largestOpen(); found != nil {
			return found
		}
	}
	return nil
}

// reason returns why a client is lost when the budget is exceeded.
func (b *Budget) reason() string {
	if b.shed != nil {
		return fmt.Sprintf("its agent sent more than %s, the most that is kept of %s", mebibytes(b.limit), b.scope)
	}
	return fmt.Sprintf("%s sent more than %s together, and of these its agent the most: "+
		"use fewer clients or shorter steps, or give the operator more memory, and with it GOMEMLIMIT",
		b.scope, mebibytes(b.limit))
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.4g MiB", float64(bytes)/(1<<20)) }
