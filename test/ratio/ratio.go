// Package ratio summarizes the ratios of paired measurements.
package ratio

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// trimmedShare is the share of the values that is left out at each end. A pair that another tenant of the machine
// disturbed says nothing about the difference between the two.
const trimmedShare = 0.2

// Interval is a typical ratio with its 95 % confidence interval, computed from Pairs pairs.
type Interval struct {
	Center, Lower, Upper float64
	Pairs                int
}

// HalfWidth returns the larger distance from the center to an end.
func (i Interval) HalfWidth() float64 { return max(i.Center-i.Lower, i.Upper-i.Center) }

func (i Interval) String() string {
	return fmt.Sprintf("%.4f (%.4f to %.4f)", i.Center, i.Lower, i.Upper)
}

// Of returns the 20 % trimmed mean of the logarithms of ratios, with the interval of Tukey and McLaughlin (1963), which
// is the one-sample case of Yuen's: the standard error comes from the winsorized variance, and the degrees of freedom
// of Student's t are one less than the number of values that are kept. Logarithms give a ratio and its inverse the same
// weight.
func Of(ratios []float64) Interval {
	n := len(ratios)
	cut := int(trimmedShare * float64(n))
	kept := n - 2*cut
	if kept < 4 {
		return Interval{Center: math.NaN(), Lower: math.Inf(-1), Upper: math.Inf(1), Pairs: n}
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
	half := distuv.StudentsT{Sigma: 1, Nu: float64(kept - 1)}.Quantile(0.975) * math.Sqrt(variance/float64(n)) /
		(1 - 2*float64(cut)/float64(n))
	return Interval{Center: math.Exp(mean), Lower: math.Exp(mean - half), Upper: math.Exp(mean + half), Pairs: n}
}
