package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The ranks are those of the tables of the sign test (n = 10: 2nd, 20: 6th, 100: 40th).
func TestMedianIntervalRanks(t *testing.T) {
	for n, rank := range map[int]int{6: 1, 10: 2, 20: 6, 50: 18, 100: 40} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i + 1)
		}
		got := medianInterval(values)
		if got.lower != float64(rank) || got.upper != float64(n+1-rank) {
			t.Errorf("n=%d: from %v to %v, want from %d to %d", n, got.lower, got.upper, rank, n+1-rank)
		}
	}
	if got := medianInterval([]float64{1, 2, 3}); !math.IsInf(got.lower, -1) {
		t.Errorf("three values gave %v: they allow no such interval", got)
	}
}

// TestMedianIntervalCovers draws from a skewed distribution with outliers.
func TestMedianIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	const trials = 4000
	for range trials {
		values := make([]float64, 61)
		for i := range values {
			values[i] = random.ExpFloat64()
			if random.IntN(10) == 0 {
				values[i] *= 20
			}
		}
		// P(X < m) = 0.9 (1-e^-m) + 0.1 (1-e^(-m/20)) = 1/2.
		if got := medianInterval(values); got.lower <= 0.80116 && 0.80116 <= got.upper {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.94 || share > 0.985 {
		t.Errorf("the interval covered the median in %.3f of the trials", share)
	}
}
