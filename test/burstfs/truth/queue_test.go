package truth_test

import (
	"math"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// TestWaitsAtMost compares the formula with two known properties of an M/D/1 queue: the share of requests that do not
// wait, and the mean wait r*D / (2*(1 - r)) of Pollaczek and Khinchin. The mean wait is the integral over t of the
// share that waits longer than t.
func TestWaitsAtMost(t *testing.T) {
	for _, load := range []float64{0.1, 0.5, 0.7} {
		if got := truth.WaitsAtMost(load, 1, 0); math.Abs(got-(1-load)) > 1e-12 {
			t.Errorf("load %g: a share of %g does not wait, want %g", load, got, 1-load)
		}
		mean, step := 0.0, 0.001
		for wait := step / 2; wait < 18; wait += step {
			mean += (1 - truth.WaitsAtMost(load, 1, wait)) * step
		}
		if want := load / (2 * (1 - load)); math.Abs(mean/want-1) > 0.001 {
			t.Errorf("load %g: the mean wait is %g, want %g", load, mean, want)
		}
	}
	if got := truth.WaitsAtMost(1, 1, 5); got != 0 {
		t.Errorf("at full load, a share of %g waits at most 5 s, want 0", got)
	}
}

// TestHighestRate checks a case that is easy to compute: if the allowed latency equals the service time, no request may
// wait, and half of the requests do not wait at half the load.
func TestHighestRate(t *testing.T) {
	if got := truth.HighestRate(1000, time.Millisecond, 0.5); math.Abs(got-500) > 1e-6 {
		t.Errorf("%g", got)
	}
	if got := truth.HighestRate(1000, 500*time.Microsecond, 0.5); got > 1e-6 {
		t.Errorf("%g/s although the service time exceeds the latency, want 0", got)
	}
}
