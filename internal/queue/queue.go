package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is the progress of a run.
type State string

// The states of a run that has not ended.
const (
	// Waiting is the state of a run that waits for its turn.
	Waiting State = "Waiting"
	// Raised is the state of a run that is about to begin.
	Raised State = "Raised"
	// Live is the state of a run that has begun.
	Live State = "Live"
)

// Run describes a run that has not ended.
type Run struct {
	Namespace, Name, UID string
	// Created has a resolution of one second, as set by the API server.
	Created time.Time
	State   State
	// Queue is the run's queue, with an ID that is unique in the cluster, or empty if it has none.
	Queue Named
	// Claims and Volumes identify the storage that the run uses. A volume has several identities if there are several
	// ways to detect that two volumes are the same storage.
	Claims, Volumes []Named
	// Clients is the number of clients of the run, for Limits.
	Clients int
}

// Named is a queue, claim or volume that runs can share. ID identifies it; Text is its name in messages.
type Named struct{ ID, Text string }

// Verdict states whether a run keeps its state or changes to another state.
type Verdict string

const (
	// Wait means that the run stays Waiting, or becomes Waiting again.
	Wait Verdict = "Wait"
	// Raise means that the run becomes Raised. Once that state is written, the caller lists all runs again and calls Of
	// with the new list.
	Raise Verdict = "Raise"
	// Stay means that the run stays Raised for now, because a run that comes after it in the queue is Raised too and
	// must first return to Waiting. The caller must call Of again later.
	Stay Verdict = "Stay"
	// Begin means that the run becomes Live.
	Begin Verdict = "Begin"
)

// Turn is the result of Of: the verdict on a run, and what the run waits for.
type Turn struct {
	Verdict Verdict
	// For is the first run that this run waits for, or nil if there is none.
	For *Run
	// Shares is the queue, claim or volume that this run shares with For. Volume is true if it is a claim or a volume.
	Shares Named
	Volume bool
	// More is the number of further runs that this run waits for.
	More int
}

// Of decides whether a run may begin. others holds all other runs that have not ended, or at least the runs for which
// Matters is true.
func Of(run Run, others []Run) Turn {
	var blocking []Run
	later := false
	for _, other := range others {
		if other.UID == run.UID {
			continue
		}
		if _, _, shared := Shared(run, other); !shared {
			continue
		}
		switch {
		case other.State == Live, before(other, run) && (other.State == Raised || run.State != Raised):
			blocking = append(blocking, other)
		case other.State == Raised && run.State == Raised:
			later = true
		case other.State == Raised:
			blocking = append(blocking, other)
		}
	}
	if len(blocking) > 0 {
		first := slices.MinFunc(blocking, inTurn)
		turn := Turn{Verdict: Wait, For: &first, More: len(blocking) - 1}
		turn.Shares, turn.Volume, _ = Shared(run, first)
		return turn
	}
	switch {
	case run.State != Raised:
		return Turn{Verdict: Raise}
	case later:
		return Turn{Verdict: Stay}
	}
	return Turn{Verdict: Begin}
}

// Shared returns the queue, claim or volume that two runs must not use at the same time. volume is true for a claim or
// a volume.
func Shared(a, b Run) (what Named, volume, shared bool) {
	if a.Queue.ID != "" && a.Queue.ID == b.Queue.ID {
		return a.Queue, false, true
	}
	for _, own := range [][2][]Named{{a.Claims, b.Claims}, {a.Volumes, b.Volumes}} {
		for _, one := range own[0] {
			if slices.ContainsFunc(own[1], func(other Named) bool { return other.ID == one.ID }) {
				return one, true, true
			}
		}
	}
	return Named{}, false, false
}

// Matters reports whether a run may have to wait for another run, judging by the state and the age of the other run.
func Matters(run, other Run) bool { return other.State != Waiting || before(other, run) }

// before reports whether a is served before b.
func before(a, b Run) bool { return order(a, b) < 0 }

func order(a, b Run) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
}

// inTurn compares two runs by the order in which they are expected to end.
func inTurn(a, b Run) int {
	rank := map[State]int{Live: 0, Raised: 1, Waiting: 2}
	return cmp.Or(rank[a.State]-rank[b.State], order(a, b))
}

// Message names the run that this run waits for, for readers of the given namespace. It does not name runs of other
// namespaces, because these readers might not be allowed to see them.
func (t Turn) Message(namespace string) string {
	if t.For == nil {
		return ""
	}
	who := "run " + t.For.Name
	if t.For.Namespace != namespace {
		who = "a run in another namespace"
	}
	does := "is ahead of it in the queue for"
	if t.For.State == Live {
		does = "is live and uses"
	}
	if !t.Volume {
		does = "is ahead of it in"
		if t.For.State == Live {
			does = "is live in"
		}
	}
	text := fmt.Sprintf("waits for %s, which %s %s", who, does, t.Shares.Text)
	switch {
	case t.More == 1:
		text += ", and for one more run"
	case t.More > 1:
		text += fmt.Sprintf(", and for %d more runs", t.More)
	}
	return text
}
