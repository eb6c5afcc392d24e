package conductor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
)

// Used returns the number of bytes that count against the budget.
func (b *Budget) Used() int64 {
	b.locks.counting.Lock()
	defer b.locks.counting.Unlock()
	return b.used
}

// clientsOf returns a client's budget. When the client is dropped, it is added to lost and its bytes are freed.
func clientsOf(run *Budget, name string, lost *[]string) *Budget {
	var made *Budget
	made = run.ofClient(func(reason string) {
		*lost = append(*lost, name+": "+reason)
		made.add(-int(made.Used()))
	})
	return made
}

// TestBudgetLosesTheLargest checks that only the client with the most bytes is dropped when a budget is exceeded.
func TestBudgetLosesTheLargest(t *testing.T) {
	const mebibyte = 1 << 20
	all := NewBudget(64 * mebibyte) // 48 MiB for each run, 24 MiB for each client
	first, second := all.ofRun(), all.ofRun()
	var lost []string
	a, b, c := clientsOf(first, "a", &lost), clientsOf(first, "b", &lost), clientsOf(first, "c", &lost)
	d := clientsOf(second, "d", &lost)
	step := func(what string, budget *Budget, mebibytes int, want ...string) {
		t.Helper()
		lost = nil
		budget.add(mebibytes * mebibyte)
		budget.enforce()
		if !slices.EqualFunc(lost, want, strings.HasPrefix) {
			t.Errorf("%s: lost %q, want %q", what, lost, want)
		}
	}
	step("within all", a, 10)
	step("one client", b, 25, "b: the agent sent more than 24 MiB, the memory limit of one client")
	step("it cannot be lost twice", b, 25)
	b.add(-25 * mebibyte)
	step("of another run", d, 20)
	step("of the first run", c, 24)
	step("all runs: the largest client of the largest run", d, 11, "d: the agent sent more than 24 MiB")
	step("again", d, 0)
	if used := all.Used(); used != 34*mebibyte {
		t.Errorf("%d bytes are in use, want those of a and c", used)
	}
	e, f := clientsOf(second, "e", &lost), clientsOf(first, "f", &lost)
	step("a small one of another run", e, 15)
	step("the run's sum", f, 15, "c: the clients of a run together sent more than 48 MiB, of which this client's agent sent the most")
	step("all, by the one that is not to blame", e, 8)
	step("all", f, 8)
	step("and more", e, 1)
	first.detach()
	second.detach()
	if used := all.Used(); used != 0 {
		t.Errorf("%d bytes are in use without a run", used)
	}
}

// TestDescriptionCounts checks that only the newest description of an agent counts against the budget, until the client
// is replaced.
func TestDescriptionCounts(t *testing.T) {
	c := New(Options{RunUID: "run", Epoch: 1, LossTimeout: time.Hour, Memory: NewBudget(64 << 20)})
	defer c.Close()
	one := &reader{client: newClient(c, decide.ClientKey{Target: "data"}, 0)}
	long := plausibleDescription()
	long.Volumes[0].Source = strings.Repeat("x", 4000)
	for range 2 {
		one.describes(encode(t, long))
		if used, kept := one.budget.Used(), keptBytes(one.description); kept < 3000 || used != int64(kept) {
			t.Errorf("a description of %d bytes counts as %d bytes", kept, used)
		}
	}
	one.replace()
	if used := one.budget.Used(); used != 0 {
		t.Errorf("%d bytes count after the client was replaced", used)
	}
}

// TestBudgetOfAllRuns checks that the run with the most bytes loses a client, even if the client with the most bytes is
// in another run.
func TestBudgetOfAllRuns(t *testing.T) {
	const mebibyte = 1 << 20
	all := NewBudget(64 * mebibyte)
	greedy, modest := all.ofRun(), all.ofRun()
	var lost []string
	var crowd []*Budget
	for range 4 {
		crowd = append(crowd, clientsOf(greedy, "greedy", &lost))
	}
	quiet := clientsOf(modest, "modest", &lost)
	for _, one := range crowd {
		one.add(11 * mebibyte)
	}
	quiet.add(21 * mebibyte) // more than each client of the crowd, less than their sum
	quiet.enforce()
	if len(lost) != 1 || !strings.HasPrefix(lost[0], "greedy: all runs together sent more than 64 MiB") {
		t.Errorf("lost %q", lost)
	}
}
