package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is how far a run is.
type State string

// The states of a run. One that is over is not in any list.
const (
	// Waiting runs have not begun.
	Waiting State = "Waiting"
	// Raised runs are about to begin.
	Raised State = "Raised"
	// Live runs have begun.
	Live State = "Live"
)

// Run is what is known of a run that is not over.
type Run struct {
	Namespace, Name, UID string
	// Created has whole seconds, as the API server gives it.
	Created time.Time
	State   State
	// Queue is the name of its queue, with what makes it unique in the cluster; empty where it has none.
	Queue Named
	// Claims and Volumes that it uses. A volume has several identities where there are several ways to tell
	// that two are one storage.
	Claims, Volumes []Named
}

// Named is something that runs share: what makes it the same, and how people call it.
type Named struct{ ID, Text string }

// Verdict is what a run does now.
type Verdict string

// The verdicts.
const (
	// Wait: it stays, or becomes again, Waiting.
	Wait Verdict = "Wait"
	// Raise: it becomes Raised, and asks again with a list that was made after that.
	Raise Verdict = "Raise"
	// Stay: it stays Raised and asks again, for another one that is about to lower itself.
	Stay Verdict = "Stay"
	// Begin: it becomes Live.
	Begin Verdict = "Begin"
)

// Turn is a verdict with its reason.
type Turn struct {
	Verdict Verdict
	// For is whom it waits for, the first of them; nil where it waits for nobody.
	For *Run
	// Shares is what they share, and Volume says that it is storage and no queue.
	Shares Named
	Volume bool
	// More is how many others it waits for.
	More int
}

// Of reports whether it is a run's turn. others are all other runs that are not over, or those that may
// matter.
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

// Shared is what two runs must not use at the same time.
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

// Matters reports whether an other run can keep a run from beginning, by its state and age alone.
func Matters(run, other Run) bool { return other.State != Waiting || before(other, run) }

// before is the order in which runs are served.
func before(a, b Run) bool { return order(a, b) < 0 }

func order(a, b Run) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
}

// inTurn puts those first that will be over first.
func inTurn(a, b Run) int {
	rank := map[State]int{Live: 0, Raised: 1, Waiting: 2}
	return cmp.Or(rank[a.State]-rank[b.State], order(a, b))
}

// Message says whom a run waits for. Who may see its namespace may not see others.
func (t Turn) Message(namespace string) string {
	if t.For == nil {
		return ""
	}
	who := "run " + t.For.Name
	if t.For.Namespace != namespace {
		who = "a run of another namespace"
	}
	does := "is before it in the queue for"
	if t.For.State == Live {
		does = "is live and uses"
	}
	if !t.Volume {
		does = "is before it in"
		if t.For.State == Live {
			does = "is live in"
		}
	}
	text := fmt.Sprintf("waits for %s, which %s %s", who, does, t.Shares.Text)
	switch {
	case t.More == 1:
		text += ", and for one more"
	case t.More > 1:
		text += fmt.Sprintf(", and for %d more", t.More)
	}
	return text
}
