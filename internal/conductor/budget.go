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

// Budget limits the memory for the reports of agents. Budgets form a tree: process, run, client. Bytes count against a
// budget and all budgets above it. When a budget is exceeded, its largest client is dropped: the client counts as lost
// and its reports are discarded. Clients with many reports therefore do not displace clients with few.
type Budget struct {
	// scope and sent are fragments of the message about dropped clients. scope says which clients share the budget, for
	// example "all runs". sent says what their agents did to exceed it, for example "sent" in "sent more than 640 MiB".
	scope, sent string
	limit       int64
	above       *Budget
	locks       *budgetLocks
	// shed discards the reports of a client and marks it as lost. shed is nil unless the budget covers a single client.
	shed func(reason string)

	// The fields below are guarded by locks.counting.
	used  int64
	below map[*Budget]bool
	// closed is true once the client has been dropped or replaced.
	closed bool
}

// budgetLocks holds the locks that all budgets of a tree share. Do not block on anything else while holding counting.
type budgetLocks struct {
	counting sync.Mutex
	// settling is held while clients are dropped. It prevents goroutines from dropping two clients if dropping one is
	// enough.
	settling sync.Mutex
}

const (
	// defaultMemory is the assumed memory of a process without a memory limit.
	defaultMemory = 1 << 30
	// mostOfClient is the largest budget of one client. Seven days of samples, at one per second, need half of it.
	mostOfClient = 128 << 20
	// resent limits the bytes that an agent sends in total, including dropped reports, as a multiple of its client's
	// budget.
	resent = 8
)

// NewBudget returns a budget of the given number of bytes for all runs of a process.
func NewBudget(bytes int64) *Budget {
	return &Budget{scope: "all runs", sent: "sent", limit: bytes, locks: &budgetLocks{}, below: map[*Budget]bool{}}
}

// ProcessBudget returns the budget of all runs for this process: five eighths of Go's memory limit (GOMEMLIMIT).
func ProcessBudget() *Budget {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = defaultMemory
	}
	return NewBudget(limit / 8 * 5)
}

// forResults returns a separate budget for computing a result of a run. Its limit is the three eighths of Go's memory
// limit that the budget of all runs leaves free. Only one result is computed at a time.
func (b *Budget) forResults() *Budget {
	made := NewBudget(b.limit / 5 * 3)
	made.scope, made.sent = "the clients of a run", "sent samples whose result needs"
	return made
}

// ofRun returns the budget of a run: three quarters of the process's budget, so that no run can take all of it.
func (b *Budget) ofRun() *Budget { return b.split("the clients of a run", b.limit/4*3, nil) }

// ofClient returns the budget of one client: half of the run's budget, but at most mostOfClient.
func (b *Budget) ofClient(shed func(reason string)) *Budget {
	return b.split("one client", min(b.limit/2, mostOfClient), shed)
}

func (b *Budget) split(scope string, limit int64, shed func(string)) *Budget {
	made := &Budget{scope: scope, sent: b.sent, limit: limit, above: b, locks: b.locks, shed: shed, below: map[*Budget]bool{}}
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	b.below[made] = true
	return made
}

// Limit returns the budget's limit in bytes.
func (b *Budget) Limit() int64 { return b.limit }

// add counts a number of bytes against the budget and all budgets above it. The number is negative if memory is freed.
// add never drops a client, so callers may hold the lock of a client.
func (b *Budget) add(bytes int) {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	for one := b; one != nil; one = one.above {
		one.used += int64(bytes)
	}
	b.prune()
}

// close marks a client's budget as closed, so that the client is not dropped again, and removes the budget from the
// tree once no bytes count against it.
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

// detach removes a run's budget from the tree and subtracts its bytes from the budgets above it. Later changes to the
// run's budget do not affect those budgets.
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

// enforce drops clients, the largest first, until this budget and all budgets above it are within their limits. Callers
// must not hold the lock of any client.
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

// lose marks the client that this budget belongs to as lost, discards its reports, and closes the budget, so that the
// client is not dropped again.
func (b *Budget) lose(reason string) {
	b.locks.settling.Lock()
	defer b.locks.settling.Unlock()
	b.shed(reason)
	b.close()
}

// exceeded returns the lowest exceeded budget among this budget and the budgets above it, or nil if none is exceeded.
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

// largest returns the budget of the largest client in the largest run below this budget, or nil if all clients have
// been dropped or replaced.
func (b *Budget) largest() *Budget {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	return b.largestOpen()
}

// largestOpen implements largest. Callers hold counting.
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

// reason returns the message for clients that are dropped because this budget is exceeded.
func (b *Budget) reason() string {
	if b.shed != nil {
		return fmt.Sprintf("the agent %s more than %s, the memory limit of %s", b.sent, mebibytes(b.limit), b.scope)
	}
	return fmt.Sprintf("%s together %s more than %s, of which this client's agent sent the most: "+
		"use fewer clients or shorter steps, or raise the operator's memory limit and GOMEMLIMIT",
		b.scope, b.sent, mebibytes(b.limit))
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.4g MiB", float64(bytes)/(1<<20)) }
