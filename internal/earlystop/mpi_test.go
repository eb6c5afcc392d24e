package earlystop_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// ranks simulates the clients of an MPI job. Between repetitions, while files are closed and opened, the load pauses
// for the given fraction of a second. It returns the second in which enough was measured, or 0.
func ranks(w *world, repetition, fall, seconds int, high, low, pause float64) int {
	noise := rand.New(rand.NewPCG(3, 4))
	for second := range seconds {
		rate := high
		if second >= fall {
			rate = low
		}
		if second%repetition == repetition-1 {
			rate *= 1 - pause
		}
		for _, key := range w.keys {
			w.source.tell(key, float64(second), float64(second+1), rate*(1+0.03*noise.NormFloat64()))
		}
		if w.look() != "" {
			return second + 1
		}
	}
	return 0
}

// TestDrainOfRepetitions checks that pauses between repetitions of IOR are not taken for drops and do not hide drops.
// Long pauses delay the decision.
func TestDrainOfRepetitions(t *testing.T) {
	for _, test := range []struct {
		repetition int
		pause      float64
		latest     int
	}{{10, 0.2, 480}, {30, 0.5, 480}, {10, 0.5, 700}, {4, 0.5, 900}} {
		if at := ranks(newWorld(drainStep(2*time.Minute), 2, nil), test.repetition, 300, 1000, 50e6, 8e6, test.pause); at < 300+85 || at > test.latest {
			t.Errorf("%+v: it ended at %d s", test, at)
		}
		if at := ranks(newWorld(drainStep(2*time.Minute), 2, nil), test.repetition, 5000, 1500, 50e6, 8e6, test.pause); at != 0 {
			t.Errorf("%+v, without a drop: it ended at %d s", test, at)
		}
	}
}

// TestDrainThatTurns checks that a drain does not end because IOR switches from writes to slower reads. It ends on a
// drop of either rate, even if IOR switches every five seconds.
func TestDrainThatTurns(t *testing.T) {
	step := drainStep(2 * time.Minute)
	step.Workloads = map[string]*v1alpha1.Engine{"a": new(builders.IOR().Engine())}
	for _, test := range []struct {
		repetition, fall int
		reads            float64
		want             bool
	}{{300, 5000, 25e6, false}, {300, 450, 25e6, true}, {5, 300, 50e6, true}} {
		w := newWorld(step, 2, nil)
		noise := rand.New(rand.NewPCG(3, 4))
		at := 0
		for second := 0; second < 600 && at == 0; second++ {
			operation, rate := measure.Write, 50e6
			if second/test.repetition%2 == 1 {
				operation, rate = measure.Read, test.reads
			}
			if second >= test.fall {
				rate /= 6
			}
			for _, key := range w.keys {
				w.source.tellOf(operation, key, float64(second), float64(second+1), rate*(1+0.03*noise.NormFloat64()))
			}
			if w.look() != "" {
				at = second + 1
			}
		}
		if (at > test.fall) != test.want || at != 0 && at < test.fall {
			t.Errorf("%+v: it ended at %d s", test, at)
		}
	}
}

// TestSteadyRepetitions checks that one-minute rounds with several repetitions each can be steady.
func TestSteadyRepetitions(t *testing.T) {
	step := plan.Step{Purpose: plan.Measure, EndWhenSteady: true, Duration: time.Hour, MinDuration: 5 * time.Minute}
	if at := ranks(newWorld(step, 2, nil), 10, 120, 3000, 100e6, 30e6, 0.5); at < 120+300-60 || at > 120+300+61 {
		t.Errorf("it ended at %d s", at)
	}
}
