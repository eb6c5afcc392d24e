package earlystop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/earlystop"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// source returns the samples that the test has added for each client.
type source struct {
	samples map[decide.ClientKey][]measure.Sample
	over    map[decide.ClientKey]bool
	asked   int
}

func (s *source) SamplesFrom(_ decide.Attempt, key decide.ClientKey, index int) ([]measure.Sample, bool) {
	s.asked++
	return s.samples[key][index:], s.over[key]
}

// tell adds a sample of writes at the given rate, from one second to another.
func (s *source) tell(key decide.ClientKey, from, to, bytesPerSecond float64) {
	s.tellOf(measure.Write, key, from, to, bytesPerSecond)
}

func (s *source) tellOf(operation measure.Operation, key decide.ClientKey, from, to, bytesPerSecond float64) {
	sample := measure.Sample{StartNanoseconds: 1e18 + int64(from*1e9), EndNanoseconds: 1e18 + int64(to*1e9)}
	sample.Counters[operation] = measure.Counter{Bytes: uint64(bytesPerSecond * (to - from)), Operations: 1}
	s.samples[key] = append(s.samples[key], sample)
}

type world struct {
	source   *source
	watcher  *earlystop.Watcher
	plan     plan.Plan
	snapshot decide.Snapshot
	keys     []decide.ClientKey
	// baselines are the rates measured by earlier drains.
	baselines map[string]limits.Rates
	// documented are the documented limits of the target.
	documented map[string]limits.Computed
}

func newWorld(step plan.Step, clients int, declared *v1alpha1.Limits) *world {
	step.ID, step.Targets, step.Clients = "00-burst", []string{"a"}, clients
	w := &world{source: &source{samples: map[decide.ClientKey][]measure.Sample{}, over: map[decide.ClientKey]bool{}}}
	w.watcher = earlystop.New(w.source)
	w.documented = map[string]limits.Computed{"a": limits.Declared(declared)}
	w.plan.Steps = []plan.Step{step}
	w.snapshot.Records = map[string]decide.Record{step.ID: {Attempt: 1, Start: time.Unix(1e9, 0)}}
	for index := range clients {
		key := decide.ClientKey{Target: "a", Index: index}
		w.keys = append(w.keys, key)
		w.snapshot.Clients = append(w.snapshot.Clients, decide.Client{Key: key, Connection: decide.Ready})
	}
	return w
}

func (w *world) look() string {
	return w.watcher.Look(w.plan, w.snapshot, w.baselines, w.documented)[decide.Attempt{Step: "00-burst", Number: 1}]
}

func drainStep(least time.Duration) plan.Step {
	return plan.Step{Purpose: plan.Drain, Duration: time.Hour, MinDuration: least}
}

// endOf simulates a drain of two clients whose rate falls in the given second. It returns the second in which enough
// was measured and the reason, or 0 if the drain did not end.
func endOf(w *world, fall, seconds int, high, low float64) (int, string) {
	noise := rand.New(rand.NewPCG(1, 2))
	for second := range seconds {
		for _, key := range w.keys {
			rate := high
			if second >= fall {
				rate = low
			}
			w.source.tell(key, float64(second), float64(second+1), rate*(1+0.03*noise.NormFloat64()))
		}
		if why := w.look(); why != "" {
			return second + 1, why
		}
	}
	return 0, ""
}

func TestDrainEndsSoonAfterTheDrop(t *testing.T) {
	w := newWorld(drainStep(2*time.Minute), 2, nil)
	at, why := endOf(w, 300, 1000, 50e6, 8e6)
	if at < 300+85 || at > 300+180 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
	if !strings.Contains(why, "a: rate dropped after 300 s, from 100") || !strings.Contains(why, "MB/s to 16") {
		t.Errorf("why: %s", why)
	}
}

// TestDrainOfAShortBurst checks that a drain also ends after a burst of only a few seconds, and that the drop is
// reported at the right time.
func TestDrainOfAShortBurst(t *testing.T) {
	for _, burst := range []int{3, 8, 17, 40} {
		w := newWorld(drainStep(2*time.Minute), 2, nil)
		at, why := endOf(w, burst, 1000, 30e6, 4e6)
		if at < burst+84 || at > 2*burst+120 || !strings.Contains(why, fmt.Sprintf("rate dropped after %d s, from ", burst)) {
			t.Errorf("a burst of %d s: it ended at %d s: %s", burst, at, why)
		}
	}
}

func TestDrainInSmallEndsSooner(t *testing.T) {
	w := newWorld(drainStep(15*time.Second), 2, nil)
	if at, why := endOf(w, 25, 300, 50e6, 8e6); at < 25+10 || at > 25+40 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
}

// TestDrainGoesOnAboveTheBaseline checks that a drop to a rate above the documented baseline does not end a drain,
// because the store may have a second kind of credits.
func TestDrainGoesOnAboveTheBaseline(t *testing.T) {
	declared := &v1alpha1.Limits{Throughput: &v1alpha1.RateLimits{
		Baseline: ptr.To(resource.MustParse("16M")), Burst: ptr.To(resource.MustParse("100M"))}}
	if at, why := endOf(newWorld(drainStep(2*time.Minute), 2, declared), 300, 1000, 50e6, 20e6); at != 0 {
		t.Errorf("at 40 MB/s it ended at %d s: %s", at, why)
	}
	if at, _ := endOf(newWorld(drainStep(2*time.Minute), 2, declared), 300, 1000, 50e6, 8e6); at == 0 {
		t.Error("at the baseline it did not end")
	}
}

func TestDrainWithoutDropNeverEnds(t *testing.T) {
	if at, why := endOf(newWorld(drainStep(2*time.Minute), 2, nil), 5000, 3000, 50e6, 8e6); at != 0 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
}

// TestLateClientIsWaitedFor checks that missing samples of a client that is stuck in an I/O are not taken for a drop.
func TestLateClientIsWaitedFor(t *testing.T) {
	w := newWorld(drainStep(15*time.Second), 2, nil)
	silent, other := w.keys[0], w.keys[1]
	for second := range 600 {
		at := float64(second)
		w.source.tell(other, at, at+1, 50e6)
		switch {
		case second < 100 || second >= 160:
			w.source.tell(silent, at, at+1, 50e6)
		case second == 159:
			w.source.tell(silent, 100, 160, 50e6)
		}
		if why := w.look(); why != "" {
			t.Fatalf("at %d s: %s", second, why)
		}
	}
}

// TestGoneClientHoldsNothingUp checks that the watcher does not wait for samples of a client that has ended.
func TestGoneClientHoldsNothingUp(t *testing.T) {
	w := newWorld(drainStep(15*time.Second), 2, nil)
	for second := range 60 {
		w.source.tell(w.keys[0], float64(second), float64(second+1), 50e6)
	}
	w.source.over[w.keys[1]] = true
	for second := 60; second < 120; second++ {
		w.source.tell(w.keys[0], float64(second), float64(second+1), 8e6)
	}
	if w.look() == "" {
		t.Error("the drop of the remaining client was not detected")
	}
}

func TestSteadyEndsAfterFiveSteadyRounds(t *testing.T) {
	step := plan.Step{Purpose: plan.Measure, EndWhenSteady: true, Duration: time.Hour, MinDuration: 5 * time.Minute}
	w := newWorld(step, 2, nil)
	if at, why := endOf(w, 120, 3000, 100e6, 30e6); at < 120+300-60 || at > 120+300+61 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
}

// TestSteadyTogether checks that a step does not end unless its targets are steady at the same time. Here, one target
// starts to decline before the other one becomes steady.
func TestSteadyTogether(t *testing.T) {
	step := plan.Step{Purpose: plan.Measure, EndWhenSteady: true, Duration: time.Hour, MinDuration: 5 * time.Minute}
	w := newWorld(step, 1, nil)
	other := decide.ClientKey{Target: "b"}
	w.plan.Steps[0].Targets = []string{"a", "b"}
	w.snapshot.Clients = append(w.snapshot.Clients, decide.Client{Key: other, Connection: decide.Ready})
	for second := range 1500 {
		at := float64(second)
		w.source.tell(w.keys[0], at, at+1, 100e6-0.06e6*max(0, at-300))
		rate := 100e6
		if second < 600 && second/60%2 == 0 {
			rate = 50e6
		}
		w.source.tell(other, at, at+1, rate)
		if why := w.look(); why != "" {
			t.Fatalf("at %d s: %s", second+1, why)
		}
	}
}

func TestOnlyLiveAdaptiveStepsAreFollowed(t *testing.T) {
	for name, change := range map[string]func(*world){
		"not started": func(w *world) { w.snapshot.Records["00-burst"] = decide.Record{Attempt: 1} },
		"done": func(w *world) {
			w.snapshot.Records["00-burst"] = decide.Record{Attempt: 1, Start: time.Unix(1, 0), Done: true}
		},
		"concluded": func(w *world) {
			w.snapshot.Records["00-burst"] = decide.Record{Attempt: 1, Start: time.Unix(1, 0), Concluded: time.Unix(2, 0)}
		},
		"by time": func(w *world) { w.plan.Steps[0].Purpose = plan.Measure },
	} {
		w := newWorld(drainStep(time.Minute), 1, nil)
		change(w)
		if w.look(); w.source.asked > 0 {
			t.Errorf("%s: it was followed", name)
		}
	}
}

// TestAnotherWatcherSaysTheSame checks that the watcher of a restarted operator, which reads all samples again from the
// logs, comes to the same conclusion.
func TestAnotherWatcherSaysTheSame(t *testing.T) {
	w := newWorld(drainStep(2*time.Minute), 2, nil)
	_, why := endOf(w, 300, 1000, 50e6, 8e6)
	w.watcher = earlystop.New(w.source)
	if again := w.look(); again != why {
		t.Errorf("first %q, then %q", why, again)
	}
}

// TestShortRedrainEndsOnTheKnownBaseline checks that a redrain with a burst of three seconds, which is too short to be
// detected as a level, ends when the rate is back at the known baseline.
func TestShortRedrainEndsOnTheKnownBaseline(t *testing.T) {
	step := drainStep(15 * time.Second)
	step.Redrain = true
	w := newWorld(step, 2, nil)
	w.baselines = map[string]limits.Rates{"a": {Baseline: 16e6}}
	at, why := endOf(w, 3, 300, 50e6, 8e6)
	if at < 3+10 || at > 3+13 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
	if !strings.Contains(why, "back at the baseline after 3 s") {
		t.Errorf("why: %s", why)
	}
	again := newWorld(step, 2, nil)
	again.baselines = map[string]limits.Rates{"a": {Baseline: 16e6}}
	if at, _ := endOf(again, 300, 310, 50e6, 8e6); at != 0 {
		t.Errorf("in the burst it ended at %d s", at)
	}
}

// TestStallIsNoBaseline checks that a store that stalls in a redrain is not taken to be back at its baseline.
func TestStallIsNoBaseline(t *testing.T) {
	step := drainStep(15 * time.Second)
	step.Redrain = true
	w := newWorld(step, 2, nil)
	w.baselines = map[string]limits.Rates{"a": {Baseline: 16e6}}
	if at, why := endOf(w, 5, 60, 50e6, 0); at != 0 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
}

// TestDrainBeforeStepsEndsOnAnEmptyBucket checks that the drain before a sweep or a search ends at the documented
// baseline even if the bucket is empty from the start, so that there is no drop.
func TestDrainBeforeStepsEndsOnAnEmptyBucket(t *testing.T) {
	for _, kind := range []v1alpha1.PhaseKind{v1alpha1.PhaseSweep, v1alpha1.PhaseSearch} {
		t.Run(string(kind), func(t *testing.T) { drainsBefore(t, kind) })
	}
}

func drainsBefore(t *testing.T, kind v1alpha1.PhaseKind) {
	t.Helper()
	step := drainStep(2 * time.Minute)
	step.Kind = kind
	declared := &v1alpha1.Limits{Throughput: &v1alpha1.RateLimits{
		Baseline: ptr.To(resource.MustParse("16M")), Burst: ptr.To(resource.MustParse("100M"))}}
	if at, why := endOf(newWorld(step, 2, declared), 0, 1000, 50e6, 8e6); at < 84 || at > 90 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
	if at, why := endOf(newWorld(step, 2, declared), 200, 1000, 50e6, 8e6); at < 284 || at > 290 {
		t.Errorf("with credits it ended at %d s: %s", at, why)
	}
}

// TestDrainBeforeStepsOfALowBurst checks that a burst rate slightly above the documented baseline is not taken for the
// baseline.
func TestDrainBeforeStepsOfALowBurst(t *testing.T) {
	declared := &v1alpha1.Limits{Throughput: &v1alpha1.RateLimits{
		Baseline: ptr.To(resource.MustParse("150M")), Burst: ptr.To(resource.MustParse("170M"))}}
	step := drainStep(2 * time.Minute)
	step.Kind = v1alpha1.PhaseSweep
	if at, why := endOf(newWorld(step, 2, declared), 600, 1200, 85e6, 75e6); at < 684 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
}

// TestRedrainOfALowBurst checks that a burst rate slightly above the baseline is not taken for it if an earlier drain
// has measured both.
func TestRedrainOfALowBurst(t *testing.T) {
	step := drainStep(2 * time.Minute)
	step.Redrain = true
	w := newWorld(step, 2, nil)
	w.baselines = map[string]limits.Rates{"a": {Baseline: 150e6, Burst: 170e6}}
	if at, why := endOf(w, 600, 1200, 85e6, 75e6); at < 684 {
		t.Errorf("it ended at %d s: %s", at, why)
	}
}

// TestBaselineOfAnotherLoad checks that the baseline measured with large blocks is not compared with the burst rate of
// small blocks.
func TestBaselineOfAnotherLoad(t *testing.T) {
	spec := builders.Benchmark("b").Target("a").Workload(builders.Fio().BlockSize("1Mi")).BurstDrain("burst", "2m", "2h").
		Cooldown("pause", "1h").Sweep("cells", v1alpha1.RegimeBaseline, "1m", v1alpha1.SweepAxes{QueueDepth: []int32{1, 8}}).
		With(builders.Fio().BlockSize("4Ki")).Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	w := newWorld(plan.Step{}, 1, nil)
	w.plan, w.baselines = planned, map[string]limits.Rates{"a": {Baseline: 150e6}}
	live := slices.IndexFunc(planned.Steps, func(step plan.Step) bool {
		return step.Phase == "cells" && step.Purpose == plan.Drain
	})
	for _, step := range planned.Steps[:live] {
		w.snapshot.Records[step.ID] = decide.Record{Attempt: 1, Done: true}
	}
	w.snapshot.Records[planned.Steps[live].ID] = decide.Record{Attempt: 1, Start: time.Unix(1e9, 0)}
	for second := range 600 {
		w.source.tell(w.keys[0], float64(second), float64(second+1), 14e6)
		if why := w.watcher.Look(w.plan, w.snapshot, w.baselines, w.documented); why != nil {
			t.Fatalf("after %d s of the burst: %v", second+1, why)
		}
	}
}
