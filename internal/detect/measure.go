package detect

import (
	"math"
	"sort"
)

type measuredStretch struct {
	segment Segment
	// variance of the mean, freedom of it.
	variance, freedom float64
	// half is half of the interval of the mean as the noise makes it.
	half float64
}

// between are the samples of a time, the ones at its edges cut.
func (a *analysis) between(start, end float64) []Sample {
	first := sort.Search(len(a.samples), func(i int) bool { return a.samples[i].EndSeconds > start })
	last := sort.Search(len(a.samples), func(i int) bool { return a.samples[i].StartSeconds >= end })
	cut := append([]Sample(nil), a.samples[first:max(last, first)]...)
	if len(cut) > 0 {
		cut[0].StartSeconds = max(cut[0].StartSeconds, start)
		cut[len(cut)-1].EndSeconds = min(cut[len(cut)-1].EndSeconds, end)
	}
	return cut
}

// sampleAt is the sample that a time is in, or the last one.
func (a *analysis) sampleAt(seconds float64) int {
	i := sort.Search(len(a.samples), func(i int) bool { return a.samples[i].EndSeconds > seconds })
	return min(i, len(a.samples)-1)
}

// measureRegimes measures what is between the drops.
func (a *analysis) measureRegimes() {
	n := len(a.samples)
	start := sharply(a.samples[min(a.begin, n-1)].StartSeconds)
	for i := range len(a.times) + 1 {
		end := sharply(a.samples[n-1].EndSeconds)
		if i < len(a.times) {
			end = a.times[i]
		}
		m := a.measureStretch(start.Value, end.Value)
		mean := &m.segment.Mean
		m.half = (mean.High - mean.Low) / 2
		// Where a dip hides the drop the dip is in this mean or not.
		off := max(a.meanOff(start.Low, end.Value, mean.Value), a.meanOff(start.High, end.Value, mean.Value),
			a.meanOff(start.Value, end.Low, mean.Value), a.meanOff(start.Value, end.High, mean.Value))
		if max(start.High-start.Low, end.High-end.Low) > 2*a.typical {
			half := math.Hypot(m.half, off)
			mean.Low, mean.High = max(mean.Value-half, 0), mean.Value+half
		}
		if m.segment.Shape != ShapeAlternating { // whose two levels have intervals of their own
			*mean = shown(*mean, a.whole(start.Value, end.Value))
		}
		a.measured = append(a.measured, m)
		start = end
	}
}

func sharply(value float64) Estimate { return Estimate{Value: value, Low: value, High: value} }

// meanOff is the error of a mean taken over a different interval.
func (a *analysis) meanOff(start, end, mean float64) float64 {
	samples := a.whole(start, end)
	amount, seconds := total(samples, 0, len(samples))
	if seconds <= 0 {
		return 0
	}
	return math.Abs(amount/seconds - mean)
}

// whole are the samples of a time, without one that the drop at either edge cuts: it is of both
// levels. Where that leaves nothing, they are all.
func (a *analysis) whole(start, end float64) []Sample {
	cut := a.between(start, end)
	inner := cut
	for len(inner) > 1 && inner[0].seconds() < 0.98*a.originalSeconds(inner[0]) {
		inner = inner[1:]
	}
	for len(inner) > 1 && inner[len(inner)-1].seconds() < 0.98*a.originalSeconds(inner[len(inner)-1]) {
		inner = inner[:len(inner)-1]
	}
	if len(inner) < 2 {
		return cut
	}
	return inner
}

// originalSeconds is the length of the sample of which this one is a part.
func (a *analysis) originalSeconds(part Sample) float64 {
	return a.samples[a.sampleAt(part.StartSeconds)].seconds()
}

// measureStretch gives the mean of a stretch with its interval, and its levels where it has two.
func (a *analysis) measureStretch(start, end float64) measuredStretch {
	samples := a.whole(start, end)
	level, variance, freedom, n := meanOf(samples)
	m := measuredStretch{variance: variance, freedom: freedom}
	m.segment = Segment{StartSeconds: start, EndSeconds: end, Mean: level, Shape: ShapeLevel,
		Correlation: n.correlation, Deviation: math.Sqrt(n.variance())}
	two, turns := alternating(samples)
	if turns {
		low, _, _, _ := meanOf(two.low)
		high, _, _, _ := meanOf(two.high)
		m.segment.Shape, m.segment.Low, m.segment.High, m.segment.HighShare = ShapeAlternating, &low, &high, two.highShare
	}
	stretches, means := a.residuals(samples)
	if turns {
		stretches, means = two.residuals, 2
		m.segment.Mean.Value = extended(samples, level.Value, start, end)
		level = m.segment.Mean
	}
	count := float64(len(samples))
	if kept := lengths(stretches); kept >= leastSamples && kept > 3*means {
		n := fitNoiseAbout(stretches, means)
		m.variance, m.freedom = n.meanVariance(count), n.freedom(float64(kept))
		half := student(m.freedom) * math.Sqrt(m.variance)
		m.segment.Mean.Low, m.segment.Mean.High = max(level.Value-half, 0), level.Value+half
	}
	return m
}

// extended is the mean of samples and of the parts of samples at both edges that are left out, of which a
// drop took the rest, at the rates beside them. In turns those differ from the mean by more than noise.
func extended(samples []Sample, mean, start, end float64) float64 {
	first, last := samples[0], samples[len(samples)-1]
	seconds := last.EndSeconds - first.StartSeconds
	before, after := max(first.StartSeconds-start, 0), max(end-last.EndSeconds, 0)
	return (mean*seconds + first.Rate*before + last.Rate*after) / (seconds + before + after)
}

func lengths(stretches [][]float64) (sum float64) {
	for _, s := range stretches {
		sum += float64(len(s))
	}
	return sum
}

// residuals are the deviations of samples from the mean of the segment that they are in, in stretches
// without dips and outliers, and how many segments there are. Dips, drift and turns count in a mean as they
// came; how well it is known depends on the noise alone.
func (a *analysis) residuals(samples []Sample) (stretches [][]float64, means float64) {
	if len(samples) < leastSamples || len(a.breaks) == 0 {
		return nil, 0
	}
	first := sort.Search(len(a.samples), func(i int) bool { return a.samples[i].EndSeconds > samples[0].StartSeconds })
	last := first + len(samples)
	all := make([]float64, 0, len(samples)) // the stretches lie in it one after the other
	begun := 0
	finish := func() {
		if len(all) > begun {
			stretches = append(stretches, all[begun:])
			begun = len(all)
		}
	}
	for k := 0; k+1 < len(a.breaks); k++ {
		// What changes the level cuts the samples beside it.
		from, to := max(a.breaks[k]+a.blockSize, first), min(a.breaks[k+1]-a.blockSize, last)
		if from >= to {
			continue
		}
		sum, count := 0.0, 0.0
		for i := from; i < to; i++ {
			if !a.aside[i] {
				sum += a.samples[i].Rate
				count++
			}
		}
		if count < 2 {
			continue
		}
		means++
		for i := from; i < to; i++ {
			if a.aside[i] {
				finish()
				continue
			}
			all = append(all, a.samples[i].Rate-sum/count)
		}
		finish()
	}
	return stretches, means
}

// meanOf is the mean rate of samples with its interval, from their noise and how it is correlated.
func meanOf(samples []Sample) (estimate Estimate, variance, freedom float64, n noise) {
	return meanOfIn(samples, make([]float64, 0, len(samples)))
}

// meanOfIn is the same with a buffer.
func meanOfIn(samples []Sample, buffer []float64) (estimate Estimate, variance, freedom float64, n noise) {
	if len(samples) == 0 {
		return Estimate{}, 0, 2, noise{}
	}
	amount, seconds := total(samples, 0, len(samples))
	value := amount / seconds
	if len(samples) < 4 {
		half := 0.0
		if len(samples) == leastForMean {
			half = fewError(samples)
		}
		return Estimate{Value: value, Low: max(value-half, 0), High: value + half}, 0, 2, noise{}
	}
	rates := buffer[:0]
	for _, s := range samples {
		rates = append(rates, s.Rate-value)
	}
	one := [1][]float64{rates}
	n = fitNoise(one[:])
	count := float64(len(samples))
	variance, freedom = n.meanVariance(count), n.freedom(count)
	half := student(freedom) * math.Sqrt(variance)
	return Estimate{Value: value, Low: max(value-half, 0), High: value + half}, variance, freedom, n
}
