package main

import (
	"fmt"
	"math"
	"slices"
)

// interval is a median with its 95 % confidence interval.
type interval struct {
	median, lower, upper float64
	n                    int
}

// halfWidth is the larger distance from the median to an end.
func (i interval) halfWidth() float64 { return max(i.median-i.lower, i.upper-i.median) }

func (i interval) String() string {
	return fmt.Sprintf("%.4f (95 %% interval %.4f to %.4f, %d pairs)", i.median, i.lower, i.upper, i.n)
}

// medianInterval takes the interval from the order statistics, which supposes nothing about how the
// noise is distributed: the ends are the k-th smallest and largest values, k the greatest with
// P(Binomial(n, 1/2) < k) <= 2.5 %.
func medianInterval(values []float64) interval {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	if n == 0 {
		return interval{median: math.NaN(), lower: math.Inf(-1), upper: math.Inf(1)}
	}
	middle := (sorted[(n-1)/2] + sorted[n/2]) / 2
	// Sum up the binomial distribution from its left end, in logarithms.
	k, cumulative := 0, 0.0
	logTerm := -float64(n) * math.Ln2
	for i := 0; i < n/2; i++ {
		cumulative += math.Exp(logTerm)
		if cumulative > 0.025 {
			break
		}
		k = i + 1
		logTerm += math.Log(float64(n-i)) - math.Log(float64(i+1))
	}
	if k == 0 {
		return interval{median: middle, lower: math.Inf(-1), upper: math.Inf(1), n: n}
	}
	return interval{median: middle, lower: sorted[k-1], upper: sorted[n-k], n: n}
}
