package measure

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// Latency is the distribution of the latencies of one kind of operation. In addition to the histogram, whose buckets
// are up to 1.6 % wide, it holds the exact minimum, maximum and sum.
//
// The zero value is empty and ready to use. A Latency is a value: copies are independent.
type Latency struct {
	// Histogram holds the latencies of the operations in Count. It is empty if the tool reported no bins. In a dump of
	// a running fio, its total can differ from Count by the operations that completed while fio was writing the dump.
	// Percentiles are computed from the histogram alone.
	Histogram Histogram `json:"histogram"`
	// Count is the number of operations timed.
	Count uint64 `json:"count"`
	// SumNanoseconds is the sum of the latencies of the operations in Count.
	SumNanoseconds Uint128 `json:"sumNanoseconds"`
	// MinNanoseconds and MaxNanoseconds are the exact minimum and maximum, 0 if Count is 0.
	MinNanoseconds uint64 `json:"minNanoseconds"`
	MaxNanoseconds uint64 `json:"maxNanoseconds"`
}

// LatencyFromMean builds a Latency from the figures that fio prints for one latency type: "bins" as a histogram (empty
// if there are none), "N", "mean", "min" and "max".
//
// The sum is mean*N, rounded to an integer and clamped to N*min and N*max. It is as accurate as the mean: fio prints
// six decimals, so for up to a million samples the sum is right to the nanosecond, apart from the double-precision
// error of fio's running mean.
//
// LatencyFromMean returns an error if the mean is not a number, is negative, or lies outside the range from min to max
// by more than rounding explains, or if min is greater than max. If N is 0, it returns the empty Latency.
func LatencyFromMean(bins Histogram, count uint64, meanNanoseconds float64, minNanoseconds, maxNanoseconds uint64) (Latency, error) {
	if count == 0 {
		if bins.Count() != 0 {
			return Latency{}, fmt.Errorf("latency: N is 0, but the bins add up to %d", bins.Count())
		}
		return Latency{}, nil
	}
	if minNanoseconds > maxNanoseconds {
		return Latency{}, fmt.Errorf("latency: min %d ns is above max %d ns", minNanoseconds, maxNanoseconds)
	}
	if math.IsNaN(meanNanoseconds) || math.IsInf(meanNanoseconds, 0) || meanNanoseconds < 0 {
		return Latency{}, fmt.Errorf("latency: mean %v ns is not a valid duration", meanNanoseconds)
	}
	slack := 1 + meanNanoseconds*1e-9
	if meanNanoseconds < float64(minNanoseconds)-slack || meanNanoseconds > float64(maxNanoseconds)+slack {
		return Latency{}, fmt.Errorf("latency: mean %v ns is not between min %d and max %d ns",
			meanNanoseconds, minNanoseconds, maxNanoseconds)
	}
	return Latency{
		Histogram:      bins,
		Count:          count,
		SumNanoseconds: sumOfMean(meanNanoseconds, count, minNanoseconds, maxNanoseconds),
		MinNanoseconds: minNanoseconds,
		MaxNanoseconds: maxNanoseconds,
	}, nil
}

// sumOfMean returns mean*count, rounded to the nearest integer and clamped to count*low and count*high.
func sumOfMean(mean float64, count, low, high uint64) Uint128 {
	const exact = 53 + 64 + 1 // bits of precision: 53 for the mean, 64 for the count, and one for adding 0.5
	product := new(big.Float).SetPrec(exact).SetFloat64(mean)
	product.Mul(product, new(big.Float).SetPrec(exact).SetUint64(count))
	product.Add(product, big.NewFloat(0.5))
	integer, _ := product.Int(nil)
	least, most := productOf(count, low), productOf(count, high)
	sum, fits := uint128Of(integer)
	switch {
	case !fits || sum.Compare(most) > 0:
		return most
	case sum.Compare(least) < 0:
		return least
	}
	return sum
}

// AddNanoseconds counts n operations of the given latency.
func (l *Latency) AddNanoseconds(nanoseconds, n uint64) {
	if n == 0 {
		return
	}
	one := Latency{
		Count: n, SumNanoseconds: productOf(nanoseconds, n),
		MinNanoseconds: nanoseconds, MaxNanoseconds: nanoseconds,
	}
	one.Histogram.AddNanoseconds(nanoseconds, n)
	l.Merge(&one)
}

// Merge adds the figures of other. The addition is exact, so the result does not depend on the order and grouping of
// merges.
func (l *Latency) Merge(other *Latency) {
	if other == nil {
		return
	}
	l.Histogram.Merge(&other.Histogram)
	if other.Count == 0 {
		return
	}
	if l.Count == 0 {
		l.MinNanoseconds, l.MaxNanoseconds = other.MinNanoseconds, other.MaxNanoseconds
	} else {
		l.MinNanoseconds = min(l.MinNanoseconds, other.MinNanoseconds)
		l.MaxNanoseconds = max(l.MaxNanoseconds, other.MaxNanoseconds)
	}
	if other.Count > math.MaxUint64-l.Count {
		l.Histogram.saturated = true
	}
	l.Count = Sum(l.Count, other.Count)
	l.SumNanoseconds = l.SumNanoseconds.Add(other.SumNanoseconds)
}

// Sub subtracts an earlier state of the same growing counter, and returns the latencies measured since then. If a
// figure decreased, the error wraps ErrCounterReset.
//
// Bins, count and sum are exact. The minimum and maximum of the difference are only bounds, derived from its outermost
// bins and from the minimum and maximum of l.
func (l *Latency) Sub(earlier *Latency) (Latency, error) {
	bins, err := l.Histogram.Sub(&earlier.Histogram)
	if err != nil {
		return Latency{}, err
	}
	if l.Count < earlier.Count {
		return Latency{}, fmt.Errorf("subtract latencies: the count went from %d to %d: %w", earlier.Count, l.Count, ErrCounterReset)
	}
	difference := Latency{Histogram: bins, Count: l.Count - earlier.Count}
	if difference.Count == 0 {
		return difference, nil
	}
	sum, ok := l.SumNanoseconds.sub(earlier.SumNanoseconds)
	if !ok {
		return Latency{}, fmt.Errorf("subtract latencies: the sum went from %v to %v ns: %w",
			earlier.SumNanoseconds, l.SumNanoseconds, ErrCounterReset)
	}
	difference.MinNanoseconds, difference.MaxNanoseconds = bins.bounds(l.MinNanoseconds, l.MaxNanoseconds)
	difference.SumNanoseconds = sum
	if least := productOf(difference.Count, difference.MinNanoseconds); sum.Compare(least) < 0 {
		difference.SumNanoseconds = least
	}
	if most := productOf(difference.Count, difference.MaxNanoseconds); sum.Compare(most) > 0 {
		difference.SumNanoseconds = most
	}
	return difference, nil
}

// Without returns l without the latencies that the histogram `part` counts. If l does not contain all of them, the
// error wraps ErrCounterReset.
//
// Bins and count are exact. The sum is computed from the remaining bins, so the mean is within 1 % of the true mean. Do
// not subtract the sum of part's bins from the exact sum instead, because if part contains a stall, the error of that
// sum can be greater than the sum of all other latencies. The minimum and maximum are bounds, as in Sub.
func (l *Latency) Without(part *Histogram) (Latency, error) {
	bins, err := l.Histogram.Sub(part)
	if err != nil {
		return Latency{}, err
	}
	if l.Count < part.Count() {
		return Latency{}, fmt.Errorf("subtract %d latencies from only %d: %w", part.Count(), l.Count, ErrCounterReset)
	}
	rest := Latency{Histogram: bins, Count: l.Count - part.Count()}
	if rest.Count == 0 {
		return rest, nil
	}
	rest.MinNanoseconds, rest.MaxNanoseconds = bins.bounds(l.MinNanoseconds, l.MaxNanoseconds)
	rest.SumNanoseconds = sumOfMean(float64(bins.MeanNanoseconds()), rest.Count, rest.MinNanoseconds, rest.MaxNanoseconds)
	return rest, nil
}

// bounds narrows the given minimum and maximum to the bounds of the outermost bins in use.
func (h *Histogram) bounds(low, high uint64) (lowest, highest uint64) {
	first, last := -1, -1
	for key := range h.Bins() {
		last = bucketOf(key)
		if first < 0 {
			first = last
		}
	}
	if first < 0 {
		return low, high
	}
	lowest = min(max(low, lowestOf(first)), high)
	if last == lastBucket {
		return lowest, high
	}
	return lowest, max(min(high, lowestOf(last+1)-1), lowest)
}

// MeanNanoseconds returns the mean, rounded to the nearest nanosecond, or 0 if Count is 0.
func (l *Latency) MeanNanoseconds() uint64 {
	if l.Count == 0 {
		return 0
	}
	mean, ok := l.SumNanoseconds.dividedBy(l.Count)
	if !ok {
		return math.MaxUint64
	}
	return mean
}

// validate returns an error if the decoded figures contradict each other.
func (l *Latency) validate() error {
	if l.Count == 0 {
		if l.SumNanoseconds != (Uint128{}) || l.MinNanoseconds != 0 || l.MaxNanoseconds != 0 {
			return errors.New("the count is 0, but sum, min or max is not")
		}
		return nil
	}
	if l.MinNanoseconds > l.MaxNanoseconds {
		return fmt.Errorf("min %d ns is above max %d ns", l.MinNanoseconds, l.MaxNanoseconds)
	}
	if l.SumNanoseconds.Compare(productOf(l.Count, l.MinNanoseconds)) < 0 ||
		l.SumNanoseconds.Compare(productOf(l.Count, l.MaxNanoseconds)) > 0 {
		return fmt.Errorf("the sum %v ns of %d operations is impossible with min %d and max %d ns",
			l.SumNanoseconds, l.Count, l.MinNanoseconds, l.MaxNanoseconds)
	}
	return nil
}
