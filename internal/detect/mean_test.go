package detect_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/storagebench/storagebench/internal/detect"
)

// autoregressive returns a series with a mean of 100, the given correlation between neighbours and the given standard
// deviation of single samples.
func autoregressive(random *rand.Rand, count int, correlation, deviation float64) []detect.Sample {
	samples := make([]detect.Sample, count)
	value := random.NormFloat64() * deviation
	for i := range samples {
		samples[i] = detect.Sample{StartSeconds: float64(i), EndSeconds: float64(i + 1), Rate: 100 + value}
		value = correlation*value + math.Sqrt(1-correlation*correlation)*deviation*random.NormFloat64()
	}
	return samples
}

func mean(samples []detect.Sample) (sum float64) {
	for _, s := range samples {
		sum += s.Rate
	}
	return sum / float64(len(samples))
}

// TestMeanErrorHoldsTheMean checks that the interval of a mean contains the true mean in 95 % of the series, or not
// much less often, and that it is not much wider than necessary.
func TestMeanErrorHoldsTheMean(t *testing.T) {
	const runs = 4000
	for _, c := range []struct {
		count       int
		correlation float64
		least, most float64 // least share of intervals that contain the true mean; largest width relative to an ideal interval for known noise
	}{
		{3, 0, 0.95, 5}, {3, 0.5, 0.95, 4}, {5, 0.5, 0.95, 3}, {7, 0.5, 0.95, 3}, {10, 0.5, 0.95, 3}, {10, 0.7, 0.91, 3}, {20, 0, 0.95, 1.7}, {20, 0.5, 0.93, 2.2}, {60, 0.5, 0.95, 1.5}, {300, 0.5, 0.95, 1.4}, {300, 0.9, 0.95, 1.8}, {3600, 0.9, 0.95, 1.4},
	} {
		random := rand.New(rand.NewPCG(uint64(c.count), uint64(100*c.correlation)))
		held, width := 0, 0.0
		for range runs {
			samples := autoregressive(random, c.count, c.correlation, 5)
			half, ok := detect.MeanError(samples)
			if !ok {
				t.Fatal("no interval")
			}
			if math.Abs(mean(samples)-100) <= half {
				held++
			}
			width += half / runs
		}
		r, n := c.correlation, float64(c.count)
		ideal := 1.96 * 5 * math.Sqrt(((1+r)/(1-r)-2*r*(1-math.Pow(r, n))/(n*(1-r)*(1-r)))/n)
		share := float64(held) / runs
		t.Logf("%4d samples, correlation %.1f: holds in %.1f %%, %.2f times as wide as by known noise", c.count, c.correlation, 100*share, width/ideal)
		if share < c.least || width/ideal > c.most {
			t.Errorf("%d samples, correlation %.1f: holds in %.1f %%, %.2f times as wide", c.count, c.correlation, 100*share, width/ideal)
		}
	}
}

func TestMeanErrorOfTooFew(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	if _, ok := detect.MeanError(autoregressive(random, 2, 0, 1)); ok {
		t.Error("two samples have an interval")
	}
	if half, ok := detect.MeanError(autoregressive(random, 30, 0, 0)); !ok || half > 1e-3 {
		t.Errorf("a series without noise is known to %v", half)
	}
}
