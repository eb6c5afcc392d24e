package queue_test

import (
	"testing"

	"github.com/storagebench/storagebench/internal/queue"
)

func clients(count int) func(*queue.Run) { return func(r *queue.Run) { r.Clients = count } }

// TestCapacity checks that a run begins when its clients fit in addition to those of live runs. A run that does not fit
// must not delay runs of other namespaces.
func TestCapacity(t *testing.T) {
	const waiting, live = queue.Waiting, queue.Live
	limits := queue.Limits{Clients: 100, PerNamespace: 60}
	for _, test := range []struct {
		name    string
		run     queue.Run
		others  []queue.Run
		limits  queue.Limits
		message string
		never   bool
	}{
		{"alone", run("x", 5, waiting, clients(60)), nil, limits, "", false},
		{"itself in the list", run("x", 5, waiting, clients(60)), []queue.Run{run("x", 5, live, clients(60))}, limits, "", false},
		{"beside others of its namespace", run("x", 5, waiting, clients(20)), []queue.Run{run("y", 9, live, clients(40))}, limits, "", false},
		{"one too many in its namespace", run("x", 5, waiting, clients(21)), []queue.Run{run("y", 9, live, clients(40))}, limits,
			"waits for capacity for 21 clients: the operator allows at most 60 at a time in a namespace (--max-clients-per-namespace), of which 20 are available", false},
		{"beside others of another namespace", run("x", 5, waiting, clients(60)), []queue.Run{run("y", 0, live, clients(40), elsewhere)}, limits, "", false},
		{"one too many in all", run("x", 5, waiting, clients(41)), []queue.Run{run("y", 0, live, clients(60), elsewhere)}, limits,
			"waits for capacity for 41 clients: the operator allows at most 100 at a time in all namespaces (--max-clients)", false},
		{"an older one waits here", run("x", 5, waiting, clients(1)), []queue.Run{run("z", 4, waiting, clients(60)), run("y", 3, waiting, clients(60))}, limits,
			"waits for run y, which is first in line for capacity", false},
		{"a younger one waits here", run("x", 5, waiting, clients(1)), []queue.Run{run("y", 6, waiting, clients(60))}, limits, "", false},
		{"an older one waits elsewhere", run("x", 5, waiting, clients(1)), []queue.Run{run("y", 0, waiting, clients(60), elsewhere)}, limits, "", false},
		{"more than a namespace may have", run("x", 5, waiting, clients(61)), nil, limits,
			"the run has 61 clients, but the operator allows at most 60 at a time in a namespace (--max-clients-per-namespace): use fewer clients or targets, or raise the limit", true},
		{"more than there may be", run("x", 5, waiting, clients(61)), nil, queue.Limits{Clients: 60},
			"the run has 61 clients, but the operator allows at most 60 at a time in all namespaces (--max-clients): use fewer clients or targets, or raise the limit", true},
		{"no limits", run("x", 5, waiting, clients(1<<20)), []queue.Run{run("y", 0, live, clients(1<<20))}, queue.Limits{}, "", false},
	} {
		capacity := test.limits.CapacityFor(test.run, test.others)
		if capacity.Message() != test.message || capacity.Fits() != (test.message == "") || capacity.NeverFits() != test.never {
			t.Errorf("%s: %q, fits %t, never %t; want %q, never %t", test.name, capacity.Message(), capacity.Fits(), capacity.NeverFits(), test.message, test.never)
		}
	}
}
