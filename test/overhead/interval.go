package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// trim is the share of the values that is left out at each end: a run that another tenant of the
// machine disturbed says nothing about the agent.
const trim = 0.2

// interval is a typical ratio with its 95 % confidence interval.
type interval struct {
	center, lower, upper float64
	n                    int
}

// halfWidth is the larger distance from the center to an end.
func (i interval) halfWidth() float64 { return max(i.center-i.lower, i.upper-i.center) }

func (i interval) String() string {
	return fmt.Sprintf("%.4f (95 %% interval %.4f to %.4f, %d pairs)", i.center, i.lower, i.upper, i.n)
}

// ratioInterval is the 20 % trimmed mean of the logarithms of ratios, with the interval of Tukey and
// McLaughlin (1963), which is the one-sample case of Yuen's: the standard error from the winsorized
// variance, Student's t with as many degrees of freedom as values are kept, less one. Logarithms
// make a ratio and its inverse weigh the same.
func ratioInterval(ratios []float64) interval {
	n := len(ratios)
	cut := int(trim * float64(n))
	kept := n - 2*cut
	if kept < 4 {
		return interval{center: math.NaN(), lower: math.Inf(-1), upper: math.Inf(1), n: n}
	}
	logs := make([]float64, n)
	for i, ratio := range ratios {
		logs[i] = math.Log(ratio)
	}
	slices.Sort(logs)
	mean := 0.0
	for _, value := range logs[cut : n-cut] {
		mean += value / float64(kept)
	}
	winsorizedMean := mean*float64(kept)/float64(n) + (logs[cut]+logs[n-1-cut])*float64(cut)/float64(n)
	variance := 0.0
	for _, value := range logs {
		value = min(max(value, logs[cut]), logs[n-1-cut])
		variance += (value - winsorizedMean) * (value - winsorizedMean) / float64(n-1)
	}
	half := distuv.StudentsT{Sigma: 1, Nu: float64(kept - 1)}.Quantile(0.975) * math.Sqrt(variance/float64(n)) / (1 - 2*float64(cut)/float64(n))
	return interval{center: math.Exp(mean), lower: math.Exp(mean - half), upper: math.Exp(mean + half), n: n}
}
