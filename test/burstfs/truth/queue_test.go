package truth_test

import (
	"math"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// TestWaitsAtMost holds the formula against what is known of M/D/1 otherwise: the share that does not wait, and the mean
// wait r*D / (2*(1 - r)) of Pollaczek and Khinchin, which is the integral of the share that waits longer.
func TestWaitsAtMost(t *testing.T) {
	for _, load := range []float64{0.1, 0.5, 0.7} {
		if got := truth.WaitsAtMost(load, 1, 0); math.Abs(got-(1-load)) > 1e-12 {
			t.Errorf("load %g: %g wait not at all, want %g", load, got, 1-load)
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
		t.Errorf("a server without rest: %g", got)
	}
}

// TestHighestRate: by hand, no request may wait longer than 0 at half the load for half of them.
func TestHighestRate(t *testing.T) {
	if got := truth.HighestRate(1000, time.Millisecond, 0.5); math.Abs(got-500) > 1e-6 {
		t.Errorf("%g", got)
	}
	if got := truth.HighestRate(1000, 500*time.Microsecond, 0.5); got > 1e-6 {
		t.Errorf("%g/s where each takes longer than that", got)
	}
}
