package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/bare"
	"github.com/storagebench/storagebench/test/burstfs/trial"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/soak"
)

// TestDeadTime checks that the store is idle between two phases for at most the time that bare fio takes to start, plus
// 100 ms.
func TestDeadTime(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	s := newSpace(t)
	store := s.burstClaim("data", trial.Spent)
	var starts, dead []time.Duration
	// Measure before and after the run, because the other load of the machine drifts.
	bareStarts := func() {
		for range 3 {
			starts = append(starts, bare.Start(t, store.Outside(), trial.Eight, store.Truth))
		}
	}
	bareStarts()
	s.apply(transitions("dead", 4*time.Second, "a", "b", "c", "d"))
	run := s.ended(5 * time.Minute)
	time.Sleep(time.Second)
	record := store.Truth()
	bareStarts()
	var lines []string
	for _, one := range truth.Transitions(record, begunOnce(run.Status)) {
		lines = append(lines, one.String())
		if !strings.Contains(one.Before, "layout") {
			dead = append(dead, one.Dead)
		}
	}
	soak.Report(t, "Between two phases of eight pods, an exhausted store, queue depth 32", "%s\n8 bare fio take %v to their first request",
		strings.Join(lines, "\n"), rounded(starts))
	want := 3 - startsAgain(run, "02-b", "03-c", "04-d")
	if len(dead) != want {
		t.Fatalf("%d transitions, want %d", len(dead), want)
	}
	if want == 0 {
		soak.Inconclusive(t, "the clients of each phase were told too late, so that it was begun again")
	}
	s.clean()
	const more = 100 * time.Millisecond
	soak.Compare(t, "idle store between two phases of eight pods", soak.Row{Ours: median(dead).Round(time.Millisecond).String(),
		Versus: "the start of eight bare fio", Control: median(starts).Round(time.Millisecond).String(),
		Bound: fmt.Sprintf("at most %s later", more), Met: median(dead) <= median(starts)+more})
	switch got, want := median(dead), median(starts)+more; {
	case got <= want:
	case spread(starts) > more:
		soak.Inconclusive(t, "the median of the dead times is %s, over %s, and the starts of bare fio are %s apart", got, want, spread(starts))
	default:
		t.Errorf("the median of the dead times is %s, over %s", got, want)
	}
}
