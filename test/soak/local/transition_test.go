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

// transitions is a file of phases for eight clients.
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

// Between two phases the store has nothing to do for no longer than bare fio takes to start, and 200 ms. What a start takes
// changes with what else the machine does, so it is measured before the run and after it.
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

// What is in flight when a phase ends is in no figure, however long it takes.
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

// endOfLoad waits until nobody has asked the store for anything for a time in which it has answered dozens: for so many looks,
// which are a millisecond apart. Of a time in which the whole machine stood still there is one look.
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
