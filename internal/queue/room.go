package queue

import "fmt"

// Limits bounds the clients of live runs, for the sake of the memory of the operator that conducts them.
type Limits struct {
	// Clients is the most in all namespaces, PerNamespace the most in each; 0 means no bound.
	Clients, PerNamespace int
}

// Room is what a run finds of the clients that the limits allow.
type Room struct {
	// Needs is the number of clients of the run.
	Needs int
	// Limit is the bound that the run does not keep at present, and Free what is left of it; Limit is 0 if there is
	// room. All is true if it bounds the clients of all namespaces.
	Limit, Free int
	All         bool
	// Before is the run of the same namespace that waits for room and comes first; nil if there is none.
	Before *Run
}

// RoomFor returns whether there is room for a run beside others: those that are Live, and those that wait for room.
//
// Among the runs of a namespace that wait for room it is first come, first served, or large runs would wait for ever.
// Between namespaces it is not: a run that does not fit would keep all others from using the room that there is.
func (l Limits) RoomFor(run Run, others []Run) Room {
	room := Room{Needs: run.Clients}
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
		case other.Namespace == run.Namespace && before(*other, run) && (room.Before == nil || before(*other, *room.Before)):
			room.Before = other
		}
	}
	switch {
	case l.PerNamespace > 0 && here+run.Clients > l.PerNamespace:
		room.Limit, room.Free = l.PerNamespace, max(0, l.PerNamespace-here)
	case l.Clients > 0 && all+run.Clients > l.Clients:
		room.Limit, room.Free, room.All = l.Clients, max(0, l.Clients-all), true
	}
	return room
}

// Fits reports whether the run may begin.
func (r Room) Fits() bool { return r.Limit == 0 && r.Before == nil }

// Never reports whether there is no room even if no other run is live.
func (r Room) Never() bool { return r.Limit > 0 && r.Needs > r.Limit }

// Message says what the run waits for. It tells nothing of other namespaces.
func (r Room) Message() string {
	where, flag := "in a namespace", "--max-clients-per-namespace"
	if r.All {
		where, flag = "in all namespaces", "--max-clients"
	}
	switch {
	case r.Limit == 0 && r.Before == nil:
		return ""
	case r.Limit == 0:
		return fmt.Sprintf("waits for run %s, which is ahead of it and waits for free clients", r.Before.Name)
	case r.Never():
		return fmt.Sprintf("the run has %d clients, and the operator conducts at most %d at a time %s (%s): use fewer clients or targets, or raise that limit",
			r.Needs, r.Limit, where, flag)
	case r.All:
		// How many others use is not for readers of this namespace.
		return fmt.Sprintf("waits for %d free clients: the operator conducts at most %d at a time %s (%s)", r.Needs, r.Limit, where, flag)
	}
	return fmt.Sprintf("waits for %d free clients: the operator conducts at most %d at a time %s (%s), and %d are free",
		r.Needs, r.Limit, where, flag, r.Free)
}
