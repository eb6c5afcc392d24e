package queue

import "fmt"

// Limits bounds the number of clients of live runs, because the operator, which conducts these runs, could run out of
// memory.
type Limits struct {
	// Clients is the maximum for all namespaces together, PerNamespace the maximum for each namespace; 0 means no
	// limit.
	Clients, PerNamespace int
}

// Capacity is the result of checking a run against the limits on clients.
type Capacity struct {
	// Needs is the number of clients of the run.
	Needs int
	// Limit is the limit that the run would exceed if it began now, or 0 if there is no such limit. Free is the number
	// of further clients that the limit allows. All is true if the limit applies to all namespaces together.
	Limit, Free int
	All         bool
	// Before is the run that is first in line for capacity in the same namespace. It is nil if this run is the first in
	// line.
	Before *Run
}

// CapacityFor checks whether the limits leave enough capacity for a run beside the Live runs, and which run of the same
// namespace is first in line.
//
// Runs of one namespace that wait for capacity are served first come, first served; otherwise large runs would wait
// forever. Waiting runs of other namespaces do not count: if they did, a run that does not fit would keep all others
// from using the free capacity.
func (l Limits) CapacityFor(run Run, others []Run) Capacity {
	capacity := Capacity{Needs: run.Clients}
	all, here := 0, 0
	for i := range others {
		other := &others[i]
		switch {
		case other.UID == run.UID:
		case other.State == Live:
			all += other.Clients
			if other.Namespace == run.Namespace {
				here += other.Clients
			}
		case other.Namespace == run.Namespace && before(*other, run) && (capacity.Before == nil || before(*other, *capacity.Before)):
			capacity.Before = other
		}
	}
	switch {
	case l.PerNamespace > 0 && here+run.Clients > l.PerNamespace:
		capacity.Limit, capacity.Free = l.PerNamespace, max(0, l.PerNamespace-here)
	case l.Clients > 0 && all+run.Clients > l.Clients:
		capacity.Limit, capacity.Free, capacity.All = l.Clients, max(0, l.Clients-all), true
	}
	return capacity
}

// Fits reports whether there is capacity for the run now.
func (r Capacity) Fits() bool { return r.Limit == 0 && r.Before == nil }

// NeverFits reports whether the run exceeds the limit even if no other run is live.
func (r Capacity) NeverFits() bool { return r.Limit > 0 && r.Needs > r.Limit }

// Message describes what the run waits for. It reveals nothing about other namespaces.
func (r Capacity) Message() string {
	where, flag := "in a namespace", "--max-clients-per-namespace"
	if r.All {
		where, flag = "in all namespaces", "--max-clients"
	}
	switch {
	case r.Limit == 0 && r.Before == nil:
		return ""
	case r.Limit == 0:
		return fmt.Sprintf("waits for run %s, which is first in line for capacity", r.Before.Name)
	case r.NeverFits():
		return fmt.Sprintf("the run has %d clients, but the operator allows at most %d at a time %s (%s): use fewer clients or targets, or raise the limit",
			r.Needs, r.Limit, where, flag)
	case r.All:
		// Users who can read only the run's namespace must not learn how many clients other namespaces use.
		return fmt.Sprintf("waits for capacity for %d clients: the operator allows at most %d at a time %s (%s)", r.Needs, r.Limit, where, flag)
	}
	return fmt.Sprintf("waits for capacity for %d clients: the operator allows at most %d at a time %s (%s), of which %d are available",
		r.Needs, r.Limit, where, flag, r.Free)
}
