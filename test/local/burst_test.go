package local

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/bare"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/trial"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// mount mounts a store whose files are in memory: no disk sets its pace.
func mount(t *testing.T, config model.Config) *burstfs.Mounted {
	t.Helper()
	backing, err := os.MkdirTemp("/dev/shm", "storagebench-test-")
	if err != nil {
		t.Skip("there is no tmpfs at /dev/shm: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(backing) })
	return burstfs.Mount(t, config, backing)
}

// onStore runs a file on a store, in the directory of its target, and waits until the store's record is complete.
func onStore(t *testing.T, store *burstfs.Mounted, target, file string) report.Document {
	t.Helper()
	run := start(t, "run", "--local", "-f", file, "--target", target+"="+store.Path(), "-o", "json")
	return ended(t, run)
}

// ended waits for the end of a run that may not fail. What it says about credits and steady states may be as it is.
func ended(t *testing.T, run *running) report.Document {
	t.Helper()
	got := run.waitFor(t, 10*time.Minute)
	if got.code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	time.Sleep(time.Second)
	return got.document(t)
}

// transitions is a file of phases for eight clients.
func transitions(t *testing.T, length time.Duration, phases ...string) string {
	t.Helper()
	text := strings.NewReplacer(
		"count: 2", "count: 8", "readPercent: 50, blockSize: 4Ki, jobs: 1, queueDepth: 4, datasetSize: 8Mi",
		"readPercent: 0, blockSize: 32Ki, jobs: 1, queueDepth: 32, datasetSize: 8Mi").Replace(usual)
	text, _, _ = strings.Cut(text, "    - {name: mixed")
	for _, name := range phases {
		text += fmt.Sprintf("    - {name: %s, steady: {duration: %s}}\n", name, length)
	}
	return write(t, usual, text)
}

// Between two phases the store has nothing to do for no longer than bare fio takes to start, and 200 ms. What a start takes
// changes with what else the machine does, so it is measured before the run and after it.
func TestDeadTime(t *testing.T) {
	store := mount(t, trial.Spent)
	var starts []time.Duration
	measure := func() {
		for range 3 {
			starts = append(starts, bare.Start(t, store.Path(), trial.Eight, func() truth.Record { return truth.Of(store.FS) }))
		}
	}
	measure()
	document := onStore(t, store, "data", transitions(t, 4*time.Second, "a", "b", "c", "d"))
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
	store := mount(t, trial.Spent)
	run := start(t, "run", "--local", "-f", transitions(t, trial.Phase, "a", "b", "c"), "--target", "data="+store.Path(), "-o", "json")
	run.until(t, "[1/4] layout: Write")
	for range 2 {
		until(t, "all clients load", func() bool { _, inFlight := store.Load(); return inFlight > 200 })
		endOfLoad(t, store)
		store.Set(trial.Slow())
		until(t, "the end of what was in flight", func() bool { _, inFlight := store.Load(); return inFlight == 0 })
		store.Set(trial.Spent)
	}
	document := ended(t, run)
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
	until(t, "the end of the phase", func() bool {
		asked, _ := store.Load()
		if looks++; asked != last {
			last, looks = asked, 0
		}
		return looks > 150
	})
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute not yet: %s", what)
		}
	}
}
