package compare

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Block holds a figure that was measured under two conditions, one after the other. Reversed is true if Other was
// measured first.
type Block struct {
	Baseline, Other float64
	Reversed        bool
}

// leastBlocks is the minimum number of blocks needed to compute an interval.
const leastBlocks = 3

// Paired returns the ratio of Other to Baseline over independent blocks: the geometric mean of the blocks' ratios, with
// the 95 % interval by Student's t distribution.
//
// A drift of the storage adds the same amount to the logarithms of all ratios measured in one order, and subtracts it
// from those measured in the reverse order. With blocks in both orders, the ratio is therefore the mean of the two
// orders' means, and the interval is computed from the deviations within each order. The drift cancels out of the ratio
// and the interval, at the cost of one degree of freedom.
//
// ok is false if no block has two positive figures.
func Paired(blocks []Block) (ratio Value, ok bool) {
	var orders [2][]float64
	for _, block := range blocks {
		if !positive(block.Baseline) || !positive(block.Other) {
			continue
		}
		order := 0
		if block.Reversed {
			order = 1
		}
		orders[order] = append(orders[order], math.Log(block.Other/block.Baseline))
	}
	count, groups, mean, squares, inverse := 0, 0, 0.0, 0.0, 0.0
	for _, logs := range orders {
		if len(logs) == 0 {
			continue
		}
		own := 0.0
		for _, log := range logs {
			own += log / float64(len(logs))
		}
		for _, log := range logs {
			squares += (log - own) * (log - own)
		}
		count += len(logs)
		groups++
		mean += own
		inverse += 1 / float64(len(logs))
	}
	if count == 0 {
		return Value{}, false
	}
	mean /= float64(groups)
	freedom := count - groups
	if count < leastBlocks || freedom < 1 {
		return WithoutInterval(math.Exp(mean)), true
	}
	student := distuv.StudentsT{Sigma: 1, Nu: float64(freedom)}
	half := student.Quantile(0.975) * math.Sqrt(squares/float64(freedom)*inverse) / float64(groups)
	return Between(math.Exp(mean), math.Exp(mean-half), math.Exp(mean+half)), true
}

// RatioVerdict decides whether a ratio from Paired shows a difference. Like Of, it ignores a difference that the
// measurement method is too coarse to resolve. percentile is true if the compared figures are percentiles, which have a
// coarser resolution than rates.
func RatioVerdict(ratio Value, better Direction, percentile bool) Verdict {
	resolution := rateResolution
	if percentile {
		resolution = percentileResolution
	}
	switch {
	case !ratio.Known:
		return NotJudged
	case ratio.Lower <= 1 && 1 <= ratio.Upper, math.Abs(math.Log(ratio.Value)) <= math.Log1p(resolution):
		return NoDifference
	case (ratio.Value > 1) == (better == HigherIsBetter):
		return OtherBetter
	}
	return BaselineBetter
}
