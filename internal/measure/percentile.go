package measure

import (
	"math"
	"math/big"
	"math/bits"
)

// MinSamplesAbove is the number of samples that must lie above a percentile for it to be reported. With fewer samples,
// the percentile would depend on a few individual I/Os and would not be reproducible.
const MinSamplesAbove = 10

// fioPercentileScale converts a percentile to an integer without loss of precision, because fio prints percentiles with
// six decimals.
const fioPercentileScale = 1_000_000

// Percentile returns the p-th percentile in nanoseconds, for p in (0, 100]. ok is false if the percentile is unknown,
// because the histogram is empty or saturated, p is out of range, or fewer than MinSamplesAbove samples lie above the
// percentile (see SamplesAbove). The value equals the one that fio prints for the same counts (see
// PercentileUnchecked).
func (h *Histogram) Percentile(p float64) (nanoseconds uint64, ok bool) {
	if h.SamplesAbove(p) < MinSamplesAbove {
		return 0, false
	}
	return h.PercentileUnchecked(p)
}

// SamplesAbove returns how many of the N samples lie above the p-th percentile by rank: the integer part of
// N*(100-p)/100, in exact arithmetic, with p rounded to six decimals as fio writes it. It returns 0 if p is not in
// (0, 100].
//
// It counts ranks, not buckets: of a million samples in one bucket, 1,000 are above p99.9.
func (h *Histogram) SamplesAbove(p float64) uint64 {
	if !validPercentile(p) {
		return 0
	}
	const whole = 100 * fioPercentileScale
	above := uint64(whole - math.Round(p*fioPercentileScale))
	high, low := bits.Mul64(h.total, above)
	quotient, _ := bits.Div64(high, low, whole) // the quotient is at most h.total, so it fits in 64 bits
	return quotient
}

// PercentileUnchecked returns the p-th percentile in nanoseconds, for p in (0, 100], regardless of the number of
// samples. ok is false if the histogram is empty or saturated or p is out of range.
//
// The rule is calc_clat_percentiles of fio's stat.c: the key (midpoint) of the first bucket at which the cumulative
// count reaches p/100*N, where
//
//	(long double) p / 100.0 * N
//
// is evaluated in the 80-bit arithmetic of x86-64, with 64 bits of mantissa. fio is built with -ffast-math, which turns
// the division into a product and reorders the factors: p * (0.01 * N), with each step rounded. That matters if p/100*N
// should be an integer. For example, fio takes the 1,000th of 1,000 samples as the 99.9th percentile, because 99.9 as a
// double is slightly more than 99.9. (On arm64, fio has 113 bits of mantissa, and can differ in such a tie by one
// sample.)
func (h *Histogram) PercentileUnchecked(p float64) (nanoseconds uint64, ok bool) {
	if h.total == 0 || h.saturated || !validPercentile(p) {
		return 0, false
	}
	// If p is 100, the rank is the total. fio's arithmetic would yield another rank for totals near 2^63.
	rank := h.total
	if p < 100 {
		rank = fioRank(p, h.total)
	}
	var cumulative uint64
	for group, counts := range &h.pages {
		if counts == nil {
			continue
		}
		for i, n := range counts {
			cumulative += n
			if n != 0 && cumulative >= rank {
				return keyOf(group*bucketsInGroup + i), true
			}
		}
	}
	return 0, false
}

func validPercentile(p float64) bool { return p > 0 && p <= 100 }

// fioRank returns the smallest count that, by fio's arithmetic, reaches p percent of total.
func fioRank(p float64, total uint64) uint64 {
	const longDoubleMantissa = 64
	longDouble := func() *big.Float { return new(big.Float).SetPrec(longDoubleMantissa) }
	threshold := longDouble().Quo(longDouble().SetInt64(1), longDouble().SetInt64(100))
	threshold.Mul(threshold, longDouble().SetUint64(total))
	threshold.Mul(longDouble().SetFloat64(p), threshold)
	rank, _ := threshold.Uint64()
	// Do not use the accuracy that Uint64 returns, because in Go 1.26 it is Exact even for fractions.
	if !threshold.IsInt() {
		rank++
	}
	return rank
}
