package local_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/bare"
	"github.com/storagebench/storagebench/test/burstfs/trial"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/local"
)

// transitions writes a benchmark with eight clients and the given steady phases, and returns its path.
func transitions(t *testing.T, length time.Duration, phases ...string) string {
	t.Helper()
	text := strings.NewReplacer(
		"count: 2", "count: 8", "readPercent: 50, blockSize: 4Ki, jobs: 1, queueDepth: 4, datasetSize: 8Mi",
		"readPercent: 0, blockSize: 32Ki, jobs: 1, queueDepth: 32, datasetSize: 8Mi").Replace(local.Usual)
	text, _, _ = strings.Cut(text, "    - {name: mixed")
	for _, name := range phases {
		text += fmt.Sprintf("    - {name: %s, steady: {duration: %s}}\n", name, length)
	}
	return local.Write(t, local.Usual, text)
}

// TestDeadTime checks that the median of the idle times of the store between two phases is at most the median time that
// bare fio needs to start, plus 200 ms. The start of fio is measured both before and after the run, because it depends
// on the other load of the machine.
func TestDeadTime(t *testing.T) {
	store := local.Mount(t, trial.Spent)
	var starts []time.Duration
	measure := func() {
		for range 3 {
			starts = append(starts, bare.Start(t, store.Path(), trial.Eight, func() truth.Record { return truth.Of(store.FS) }))
		}
	}
	measure()
	document := local.OnStore(t, store, "data", transitions(t, 4*time.Second, "a", "b", "c", "d"))
	record := truth.Of(store.FS)
	measure()
	var dead []time.Duration
	for _, one := range truth.Transitions(record, document.BenchmarkRunStatus) {
		t.Log(one)
		if !strings.Contains(one.Before, "layout") {
			dead = append(dead, one.Dead)
		}
	}
	if len(dead) != 3 {
		t.Fatalf("%d transitions, want 3", len(dead))
	}
	t.Logf("8 bare fio take %v to their first request", starts)
	if got, want := middle(dead), middle(starts)+200*time.Millisecond; got > want {
		t.Errorf("the median of the dead times is %s, over %s", got, want)
	}
}

func middle(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// TestSlowTransition checks that figures exclude the operations in flight at the end of a phase, no matter how long
// they take. The test slows the store down after two of its phases.
func TestSlowTransition(t *testing.T) {
	store := local.Mount(t, trial.Spent)
	run := local.Start(t, "run", "--local", "-f", transitions(t, trial.Phase, "a", "b", "c"), "--target", "data="+store.Path(), "-o", "json")
	run.Until(t, "[1/4] layout: Write")
	for range 2 {
		hang.Until(t, "all clients load", func() bool { _, inFlight := store.Load(); return inFlight > 200 })
		endOfLoad(t, store)
		store.Set(trial.Slow())
		hang.Until(t, "the end of what was in flight", func() bool { _, inFlight := store.Load(); return inFlight == 0 })
		store.Set(trial.Spent)
	}
	document := local.Ended(t, run)
	for _, one := range truth.Transitions(truth.Of(store.FS), document.BenchmarkRunStatus) {
		t.Log(one)
	}
	for _, problem := range trial.Untouched(truth.Of(store.FS), document.BenchmarkRunStatus, 2) {
		t.Error(problem)
	}
}

// endOfLoad waits until the store has received no request in 150 looks, one per millisecond; in this time, it answers
// dozens. It counts looks and not time, so that a stall of the whole machine counts as a single look.
func endOfLoad(t *testing.T, store *burstfs.Mounted) {
	t.Helper()
	last, looks := uint64(0), 0
	for end := time.Now().Add(hang.Guard); looks <= 150; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("hung: the phase does not end")
		}
		if asked, _ := store.Load(); asked != last {
			last, looks = asked, 0
		}
		looks++
	}
}
