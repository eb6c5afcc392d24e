package detect

import "math"

const (
	// leastForMean is the number of samples needed for the interval of a mean.
	leastForMean = 3
	// leastForNoise is the number of samples needed to estimate the correlation between neighbouring samples. With fewer
	// samples, a correlation of 0.5 is assumed. The error of the mean is then taken to be unseenNoise times the error for
	// independent samples. In simulations, this factor was 1.76 to 1.86.
	leastForNoise = 8
	unseenNoise   = 1.9
	// mostBatches is the maximum number of batches that a series is cut into. With more batches, neighbouring
	// batches are more correlated. With fewer batches, the interval is wider.
	mostBatches = 16
	// leastBatches is the minimum number of batches. With fewer, the intervals would be too wide to distinguish the cells
	// of a sweep if each cell lasts 20 s.
	leastBatches = 8
	// leastInBatch is the minimum number of samples in a batch, so that a batch is longer than the time over which
	// samples are correlated.
	leastInBatch = 4
)

// MeanError returns half the width of the 95 % interval of the samples' mean rate: the error that chance may cause. It
// takes into account how much the level varies in these samples, and that each sample is correlated with the previous
// one. ok is false if there are fewer than three samples.
//
// With eight or more samples, MeanError returns the wider of two estimates. The first assumes that the noise is a
// first-order autoregression. The second requires 32 samples and is computed from the means of batches. It is valid for
// any noise if batches are longer than the time over which samples are correlated. A trend or a changing level makes
// the interval wide.
func MeanError(samples []Sample) (half float64, ok bool) {
	if len(samples) < leastForMean {
		return 0, false
	}
	if len(samples) < leastForNoise {
		return fewError(samples), true
	}
	estimate, _, _, _ := meanOf(samples)
	half = max(estimate.Value-estimate.Low, estimate.High-estimate.Value)
	if batches := batchError(samples); batches > half {
		half = batches
	}
	return half, !math.IsNaN(half) && !math.IsInf(half, 0)
}

// shown widens the interval of a mean if the interval contains neither a sample nor the mean of a batch, for example
// because the level changed and then returned. It extends the interval to the nearest batch mean on either side.
func shown(mean Estimate, samples []Sample) Estimate {
	below, above := math.Inf(-1), math.Inf(1)
	see := func(rate float64) {
		if rate <= mean.High {
			below = max(below, rate)
		}
		if rate >= mean.Low {
			above = min(above, rate)
		}
	}
	for _, s := range samples {
		if mean.Low <= s.Rate && s.Rate <= mean.High {
			return mean
		}
	}
	for _, rate := range batches(samples) {
		see(rate)
	}
	if below >= mean.Low || above <= mean.High {
		return mean
	}
	if !math.IsInf(below, 0) {
		mean.Low = below
	}
	if !math.IsInf(above, 0) {
		mean.High = above
	}
	return mean
}

// fewError returns half the width of the 95 % interval of the mean if there are too few samples to estimate their
// correlation.
func fewError(samples []Sample) float64 {
	amount, seconds := total(samples, 0, len(samples))
	squares := 0.0
	for _, s := range samples {
		squares += (s.Rate - amount/seconds) * (s.Rate - amount/seconds)
	}
	n := float64(len(samples))
	return unseenNoise * student(n-1) * math.Sqrt(squares/(n-1)/n)
}

// batchError returns half the width of the 95 % interval of the mean, computed from the means of equally long batches.
// It returns 0 if there would be fewer than leastBatches.
func batchError(samples []Sample) float64 {
	means := batches(samples)
	if len(means) < leastBatches {
		return 0
	}
	center(means)
	squares := 0.0
	for _, d := range means {
		squares += d * d
	}
	n := float64(len(means))
	return student(n-1) * math.Sqrt(squares/(n-1)/n)
}

// batches cuts a series into parts of equal length and returns their means.
func batches(samples []Sample) []float64 {
	means := make([]float64, min(len(samples)/leastInBatch, mostBatches))
	for i := range means {
		amount, seconds := total(samples, i*len(samples)/len(means), (i+1)*len(samples)/len(means))
		means[i] = amount / seconds
	}
	return means
}
