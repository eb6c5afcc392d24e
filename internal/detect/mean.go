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
	count := min(len(samples)/leastInBatch, mostBatches)
	if count < leastBatches {
		return 0
	}
	means := make([]float64, count)
	for i := range means {
		amount, seconds := total(samples, i*len(samples)/count, (i+1)*len(samples)/count)
		if seconds <= 0 {
			return 0
		}
		means[i] = amount / seconds
	}
	center(means)
	squares := 0.0
	for _, d := range means {
		squares += d * d
	}
	n := float64(count)
	return student(n-1) * math.Sqrt(squares/(n-1)/n)
}
