package detect

import (
	"math"
	"slices"
)

// noise describes the noise of a series about its levels as a first-order autoregression: each value keeps a share
// (correlation) of the previous value's deviation and adds an innovation.
type noise struct {
	correlation float64
	// innovation is the variance of the innovations.
	innovation float64
}

// maxCorrelation bounds the estimated correlation. A series whose correlation is closer to 1 has no meaningful mean.
const maxCorrelation = 0.985

// roughNoise estimates the noise of values whose levels are not known yet. It uses the differences between values that
// are 1, 2 and 4 values apart. Changes of level are few, so the differences across them are outliers and are excluded.
// The mean square of the remaining differences is proportional to 1 - correlation^k at a distance of k values, which
// yields the correlation.
func roughNoise(values []float64) noise {
	variogram := func(lag int) float64 {
		if len(values) <= lag+2 {
			return 0
		}
		squares := make([]float64, len(values)-lag)
		for i := range squares {
			d := values[i+lag] - values[i]
			squares[i] = d * d
		}
		// For normally distributed values, the mean of the lowest 95 % of the squares is 0.7588 times the mean of all
		// squares. Dividing by share corrects for this.
		const kept, share = 0.95, 0.7588
		count := max(int(kept*float64(len(squares))), 1)
		selected(squares, count-1)
		return mean(squares[:count]) / share / 2
	}
	one, two, four := variogram(1), variogram(2), variogram(4)
	if one <= 0 {
		return noise{innovation: leastVariance(values)}
	}
	const most = 0.97 // an estimate of the correlation above this bound is more likely due to a changing level
	correlation := min(max(two/one-1, 0), most)
	if two > 0 {
		correlation = (correlation + math.Sqrt(min(max(four/two-1, 0), most*most))) / 2
	}
	// The variable one is the variance times (1 - correlation), and the variance of the innovations is the variance
	// times (1 - correlation^2).
	return noise{correlation: correlation, innovation: max(one*(1+correlation), leastVariance(values))}
}

// leastVariance returns the variance that is assumed instead of zero. Even without noise, values are not exact, because
// the measured counts are whole numbers.
func leastVariance(values []float64) float64 {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	return max(1e-10, largest*largest*1e-14)
}

// fitNoise estimates the noise from stretches of consecutive values, each given as deviations from its own mean. It
// corrects the bias that estimating these means introduces.
func fitNoise(stretches [][]float64) noise { return fitNoiseAbout(stretches, float64(len(stretches))) }

// fitNoiseAbout is like fitNoise, but several stretches may share a mean, for example the mean of the segment from
// which they were cut. means is the number of different means.
func fitNoiseAbout(stretches [][]float64, means float64) noise {
	var products, squares, count, pairs float64
	for _, deviations := range stretches {
		for i, d := range deviations {
			squares += d * d
			if i > 0 {
				products += d * deviations[i-1]
				pairs++
			}
		}
		count += float64(len(deviations))
	}
	if squares <= 0 || count < 3 || pairs < 1 {
		return noise{innovation: 1e-10}
	}
	correlation := products / squares * count / (pairs + means)
	// Correct the bias of the estimated correlation. According to Kendall (1954), the bias is -(1 + 3 correlation)/n
	// for each estimated mean, where n is the number of values.
	correlation += means * (1 + 3*correlation) / count
	correlation = min(max(correlation, 0), maxCorrelation)
	var innovations float64
	for _, deviations := range stretches {
		for i, d := range deviations {
			if i > 0 {
				e := d - correlation*deviations[i-1]
				innovations += e * e
			}
		}
	}
	free := max(pairs-means-1, 1)
	return noise{correlation: correlation, innovation: max(innovations/free, 1e-10)}
}

// fewPrior is the weight of priorNoise in an estimate from a few measured values, expressed as a number of measured
// values. It is a compromise: a lower weight makes the intervals of stores without noise far too wide, and a higher
// weight makes the intervals of stores with 5 % noise too narrow.
const fewPrior = 2

// fewNoise estimates the noise of a few logarithms of rates about their mean, with its degrees of freedom. A few values
// do not reveal their correlation, and two or three values do not even reveal their variance, so the estimate also
// includes priorNoise.
func fewNoise(values []float64) (n noise, freedom float64) {
	squares := 0.0
	for _, d := range deviations(values) {
		squares += d * d
	}
	freedom = float64(max(len(values)-1, 0)) + fewPrior
	return noise{innovation: (squares + fewPrior*priorNoise*priorNoise) / freedom}, freedom
}

// variance returns the variance of a single value.
func (n noise) variance() float64 { return n.innovation / (1 - n.correlation*n.correlation) }

// meanVariance returns the variance of the mean of the given number of values.
func (n noise) meanVariance(values float64) float64 {
	if values <= 0 {
		return math.Inf(1)
	}
	r := n.correlation
	// inflation is the factor by which the correlation r increases the variance of the mean of n values:
	// 1 + 2 sum (1-k/n) r^k for k from 1 to n-1, in closed form.
	power := math.Pow(r, values)
	inflation := (1+r)/(1-r) - 2*r*(1-power)/(values*(1-r)*(1-r))
	return n.variance() * max(inflation, 1/values) / values
}

// freedom returns the degrees of freedom of meanVariance if the noise was estimated from the given number of values.
// meanVariance is roughly proportional to innovation/(1-correlation)^2. The degrees of freedom follow from the variance
// of the logarithm of this expression, which is the sum of the variances that its two factors contribute.
func (n noise) freedom(values float64) float64 {
	return max(values/(1+2*(1+n.correlation)/(1-n.correlation)), 2)
}

// student returns the 97.5 % quantile of Student's t distribution for at least two degrees of freedom. It uses the
// Cornish-Fisher expansion, whose error is at most 0.5 % for three or more degrees. gonum's function is exact, but
// makes detection three times as slow.
func student(freedom float64) float64 {
	switch {
	case freedom < 2.5:
		return 4.303
	case freedom < 3.5:
		return 3.182
	}
	const z = 1.959964
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	f := freedom
	return z + (z3+z)/(4*f) + (5*z5+16*z3+3*z)/(96*f*f) + (3*z7+19*z5+17*z3-15*z)/(384*f*f*f)
}

// deviations returns the deviations of the values from their mean.
func deviations(values []float64) []float64 {
	result := slices.Clone(values)
	center(result)
	return result
}

// center subtracts the mean from each value.
func center(values []float64) {
	mean := 0.0
	for _, v := range values {
		mean += v
	}
	mean /= float64(max(len(values), 1))
	for i := range values {
		values[i] -= mean
	}
}
