package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/bare"
	"github.com/storagebench/storagebench/test/burstfs/trial"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// transitions is a benchmark of eight clients.
func transitions(name string, length time.Duration, phases ...string) *v1alpha1.StorageBenchmark {
	depth := int32(trial.Eight.QueueDepth)
	benchmark := builders.Benchmark(name).Target("data").Clients(int32(trial.Eight.Clients)).Prepare("layout").
		Workload(builders.Fio().Dataset("8Mi").BlockSize("32Ki").Mutate(func(fio *v1alpha1.FioProfile) { fio.QueueDepth = &depth }))
	for _, phase := range phases {
		benchmark.Steady(phase, v1alpha1.DurationOf(length))
	}
	return benchmark.Obj()
}

// Between two phases the store has nothing to do for no longer than bare fio takes to start, and 200 ms.
func TestDeadTime(t *testing.T) {
	requireNode(t)
	s := newSpace(t)
	store := s.burstClaim("data", trial.Spent)
	var starts, dead []time.Duration
	// Before the run and after it: what the machine's others do drifts.
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
	for _, one := range truth.Transitions(record, run.Status) {
		lines = append(lines, one.String())
		if !strings.Contains(one.Before, "layout") {
			dead = append(dead, one.Dead)
		}
	}
	report(t, "Between two phases of eight pods, an exhausted store, queue depth 32", "%s\n8 bare fio take %v to their first request",
		strings.Join(lines, "\n"), rounded(starts))
	if len(dead) != 3 {
		t.Fatalf("%d transitions, want 3", len(dead))
	}
	// What else the machine does comes and goes.
	if got, want := median(dead), median(starts)+200*time.Millisecond; got > want {
		t.Errorf("the median of the dead times is %s, over %s", got, want)
	}
	s.clean()
}

// What is in flight when a phase ends is in no figure, however long it takes.
func TestSlowTransition(t *testing.T) {
	requireNode(t)
	s := newSpace(t)
	store := s.burstClaim("data", trial.Spent)
	s.apply(transitions("slow", trial.Phase, "a", "b", "c"))
	for i, phase := range []string{"a", "b"} {
		var step *v1alpha1.StepStatus
		s.until("phase "+phase+" has begun", 2*time.Minute, func() bool {
			step = stepOf(s.run(), fmt.Sprintf("%02d-%s", i+1, phase))
			return step != nil
		})
		// Agents may begin a little later than they should. What is answered until then belongs to the phase.
		time.Sleep(time.Until(step.PlannedEndTime.Add(trial.LateBy)))
		store.Set(trial.Slow())
		time.Sleep(4 * time.Second)
		store.Set(trial.Spent)
	}
	run := s.ended(2 * time.Minute)
	time.Sleep(time.Second)
	for _, one := range truth.Transitions(store.Truth(), run.Status) {
		t.Log(one)
	}
	for _, problem := range trial.Untouched(store.Truth(), run.Status, 2) {
		t.Error(problem)
	}
	s.clean()
}
