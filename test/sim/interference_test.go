package sim_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/sim"
)

// neighbours returns a world whose targets share one store, or each have a store of the same kind.
func neighbours(t *testing.T, b *builders.BenchmarkBuilder, config model.Config, shared bool, targets ...string) *sim.World {
	t.Helper()
	stores := map[string]*sim.Store{}
	var last *sim.Store
	for i, name := range targets {
		b.Target(name)
		if last == nil || !shared {
			own := config
			own.Seed += uint64(i)
			made, err := sim.NewStore(own, 1)
			must(t, err)
			last = made
		}
		stores[name] = last
	}
	w, err := sim.NewWorld(b, stores)
	must(t, err)
	t.Cleanup(w.Close)
	return w
}

// beside returns a benchmark that measures a victim with 8 outstanding requests beside aggressors.
func beside(each v1alpha1.Duration, counts ...int32) *builders.BenchmarkBuilder {
	var aggressors []string
	for i := range counts[len(counts)-1] {
		aggressors = append(aggressors, fmt.Sprintf("noisy-%d", i))
	}
	return builders.Benchmark("b").Workload(load(random, 0, "64Ki", 8).Dataset("16Mi")).Prepare("layout").
		Interference("neighbours", []string{"victim"}, aggressors, each, counts...)
}

func resultOf(t *testing.T, w *sim.World, target string) *v1alpha1.TargetResult {
	t.Helper()
	run := conduct(t, w)
	complete(t, run)
	found := run.Status.Result("neighbours", target)
	if found == nil || found.Interference == nil {
		t.Fatalf("no result of %s: %+v", target, run.Status.Phases)
	}
	t.Log(found.Interference.Message)
	return found
}

// hits reports whether a ratio is within 0.5 % of the true value, or its interval contains the true value.
func hits(ratio *v1alpha1.Estimate, truth float64) bool {
	if ratio == nil || ratio.Lower == nil || ratio.Upper == nil {
		return false
	}
	return math.Abs(float64(ratio.Value)/1e6/truth-1) <= 0.005 || float64(*ratio.Lower)/1e6 <= truth && truth <= float64(*ratio.Upper)/1e6
}

// TestInterferenceShare checks the figures on a store with one limit, which answers requests in turn: a victim with 8
// of 32 outstanding requests gets a quarter of the rate, and each of its requests takes four times as long.
func TestInterferenceShare(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := beside("30s", 1).For("noisy-0", load(random, 0, "64Ki", 24).Dataset("16Mi")).Mutate(func(r *v1alpha1.RunSpec) {
			r.Phases[0].TargetWorkloads = r.Phases[1].TargetWorkloads
		})
		found := resultOf(t, neighbours(t, b, plain(10e6), true, "victim", "noisy-0"), "victim")
		level := found.Interference.Levels[1]
		if level.Neighbours != 1 || level.Blocks != 6 || !hits(level.RateRatioPPM, 0.25) {
			t.Errorf("%+v, and the share is a quarter", level.RateRatioPPM)
		}
		for name, ratio := range map[string]*v1alpha1.Estimate{"p50": level.Operations[0].P50RatioPPM, "p99": level.Operations[0].P99RatioPPM} {
			// The tolerance is the width of two histogram buckets.
			if ratio == nil || math.Abs(float64(ratio.Value)/4e6-1) > 0.016 {
				t.Errorf("%s: %+v, and it is four times as long", name, ratio)
			}
		}
		if !strings.HasPrefix(found.Interference.Message, "1 neighbour cost 7") || !strings.Contains(found.Interference.Message, "Burst credits were not drained before") {
			t.Error(found.Interference.Message)
		}
		if beside := *found.Operations[0].BytesPerSecond; math.Abs(float64(beside)/2.5e6-1) > 0.005 {
			t.Errorf("the phase has %d B/s, and the share of 10 MB/s is a quarter", beside)
		}
	})
}

// TestInterferenceRamp checks that beside n aggressors with the same load, a victim keeps 1/(n+1) of its rate.
func TestInterferenceRamp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := neighbours(t, beside("30s", 1, 2, 4), plain(10e6), true, "victim", "noisy-0", "noisy-1", "noisy-2", "noisy-3")
		found := resultOf(t, w, "victim")
		if levels := found.Interference.Levels; len(levels) != 4 {
			t.Fatalf("%+v", levels)
		}
		for _, level := range found.Interference.Levels[1:] {
			if truth := 1 / float64(level.Neighbours+1); !hits(level.RateRatioPPM, truth) {
				t.Errorf("%d neighbours: %+v, and the share is %g", level.Neighbours, level.RateRatioPPM, truth)
			}
		}
	})
}

// TestInterferenceOfNone checks that no loss is shown if each target has a store of its own.
func TestInterferenceOfNone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		found := resultOf(t, neighbours(t, beside("30s", 2), plain(10e6), false, "victim", "noisy-0", "noisy-1"), "victim")
		if message := found.Interference.Message; !strings.HasPrefix(message, "2 neighbours: no throughput loss shown") || !strings.Contains(message, "no change in p99 shown") {
			t.Error(message)
		}
	})
}

// TestInterferenceControl checks for false positives with targets that have stores of their own with varying latency.
// At most 5 % of runs may show a loss of throughput, and at most 5 % a change of p99. The test allows 6 of 40 runs,
// which a rate of 5 % exceeds once in 300 times.
func TestInterferenceControl(t *testing.T) {
	t.Parallel()
	const runs, most = 40, 6
	costs, changes := 0, 0
	for seed := range uint64(runs) {
		bubble(t, func(t *testing.T) {
			noisy := model.Config{Seed: 100 * (seed + 1), Latency: model.Latency{Fixed: 4 * time.Millisecond, Jitter: 40 * time.Millisecond}}
			found := resultOf(t, neighbours(t, beside("5s", 1), noisy, false, "victim", "noisy-0"), "victim")
			if message := found.Interference.Message; !strings.Contains(message, "no throughput loss shown") {
				costs++
			}
			if message := found.Interference.Message; !strings.Contains(message, "no change in p99 shown") {
				changes++
			}
		})
	}
	if costs > most || changes > most {
		t.Errorf("of %d runs without interference, %d show a cost of throughput and %d a change of p99", runs, costs, changes)
	}
}

// TestInterferenceOnTheBaseline checks that with the regime Baseline, credits are drained first, the share is that of
// the baseline, and no block begins with credits.
func TestInterferenceOnTheBaseline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		store := model.Config{Latency: model.Latency{Fixed: time.Millisecond}, Buckets: []model.Bucket{bytes("volume", 10e6, 40e6, 6e9, 0)}}
		b := beside("30s", 1).Mutate(func(r *v1alpha1.RunSpec) { r.Phases[1].Interference.Regime = v1alpha1.RegimeBaseline })
		found := resultOf(t, neighbours(t, b, store, true, "victim", "noisy-0"), "victim")
		level := found.Interference.Levels[1]
		if found.Burst == nil || !found.Burst.Exhausted || found.Interference.BlocksWithCredits != 0 || strings.Contains(found.Interference.Message, "redits") {
			t.Errorf("%+v, %+v", found.Burst, found.Interference)
		}
		if alone := found.Interference.Levels[0].Operations[0].BytesPerSecond; math.Abs(float64(alone)/10e6-1) > 0.01 || !hits(level.RateRatioPPM, 0.5) {
			t.Errorf("%d B/s alone and a ratio of %+v; the baseline is 10 MB/s and the share a half", alone, level.RateRatioPPM)
		}
	})
}

// TestFairness checks that targets that share a store get its rate in proportion to their outstanding requests. Jain's
// index of the shares 1 and 3 is 16/20.
func TestFairness(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		depth         int32
		jain, theRest float64
	}{{8, 1, 1}, {24, 0.8, 1. / 3}} {
		bubble(t, func(t *testing.T) {
			deep := load(random, 0, "64Ki", test.depth).Dataset("16Mi")
			b := builders.Benchmark("b").Workload(load(random, 0, "64Ki", 8).Dataset("16Mi")).Prepare("layout").For("b", deep).
				Interference("neighbours", []string{"a", "b"}, nil, "60s").For("b", deep)
			run := conduct(t, neighbours(t, b, plain(10e6), true, "a", "b"))
			complete(t, run)
			got := run.Status.Phases[1].Fairness
			if got == nil || !hits(got.JainPPM, test.jain) || !hits(got.LeastOfMostPPM, test.theRest) {
				t.Errorf("%+v, want %g and %g", got, test.jain, test.theRest)
			}
			for _, name := range []string{"a", "b"} {
				share := 8 / float64(8+test.depth)
				if name == "b" {
					share = 1 - share
				}
				if found := run.Status.Result("neighbours", name); !hits(found.Interference.Levels[1].RateRatioPPM, share) {
					t.Errorf("%s: %+v, want %g", name, found.Interference.Levels[1].RateRatioPPM, share)
				}
			}
		})
	}
}
