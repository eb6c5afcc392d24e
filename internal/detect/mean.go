package detect

import "math"

const (
	// leastForMean is how many samples the interval of a mean takes.
	leastForMean = 3
	// leastForNoise is how many it takes to see how much neighbours resemble each other. Of fewer it is taken to be a
	// half: then their mean is off by so much more than that of samples which do not (simulated: 1.76 to 1.86 times).
	leastForNoise = 8
	unseenNoise   = 1.9
	// mostBatches that a series is cut into. More batches resemble their neighbours more, fewer make a wide interval.
	mostBatches = 16
	// leastBatches: fewer make an interval so wide that a sweep's cells of 20 seconds would tell nothing.
	leastBatches = 8
	// leastInBatch samples, so that a batch is longer than what neighbours share.
	leastInBatch = 4
)

// MeanError is half of the 95 % interval of the mean rate of samples: how far chance may take the mean of a level
// that varies as these samples do, each of which resembles the one before. ok is false with fewer than three.
//
// From eight on two estimates are made, and the wider one is given: that of an autoregression of first order, which is right where
// the noise is one, and that of the means of batches, which holds whatever the noise is like where batches are longer
// than what neighbours share. A trend, or a level that changes, makes it wide.
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

// shown widens the interval of a mean that excludes all that the samples show: where no sample and no mean of a batch is
// in it, as of a level that changed and came back, it reaches to the nearest batches on either side.
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

// fewError is half of the interval of a mean over so few samples that nobody can tell how they hang together.
func fewError(samples []Sample) float64 {
	amount, seconds := total(samples, 0, len(samples))
	squares := 0.0
	for _, s := range samples {
		squares += (s.Rate - amount/seconds) * (s.Rate - amount/seconds)
	}
	n := float64(len(samples))
	return unseenNoise * student(n-1) * math.Sqrt(squares/(n-1)/n)
}

// batchError is the same by the means of batches of equal length; 0 where they would be too few.
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

// batches are the means of the parts of a series of equal length.
func batches(samples []Sample) []float64 {
	means := make([]float64, min(len(samples)/leastInBatch, mostBatches))
	for i := range means {
		amount, seconds := total(samples, i*len(samples)/len(means), (i+1)*len(samples)/len(means))
		means[i] = amount / seconds
	}
	return means
}
