package detect

import (
	"math"
	"sort"
)

type measuredStretch struct {
	segment Segment
	// variance is the variance of the segment's mean, and freedom is its degrees of freedom.
	variance, freedom float64
	// half is half the width of the mean's 95 % interval, considering only noise.
	half float64
}

// between returns the samples between two instants. It cuts off the parts of samples that lie outside.
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

// sampleAt returns the index of the first sample that ends after the given time, or of the last sample if none does.
func (a *analysis) sampleAt(seconds float64) int {
	i := sort.Search(len(a.samples), func(i int) bool { return a.samples[i].EndSeconds > seconds })
	return min(i, len(a.samples)-1)
}

// measureRegimes measures the mean rate of each stretch between the drops.
func (a *analysis) measureRegimes() {
	n := len(a.samples)
	start := exactly(a.samples[min(a.begin, n-1)].StartSeconds)
	for i := range len(a.times) + 1 {
		end := exactly(a.samples[n-1].EndSeconds)
		if i < len(a.times) {
			end = a.times[i]
		}
		m := a.measureStretch(start.Value, end.Value)
		mean := &m.segment.Mean
		m.half = (mean.High - mean.Low) / 2
		// If a dip hides the time of the drop, it is unknown whether the dip belongs to this stretch. Widen the interval of
		// the mean by the difference that the dip makes.
		off := max(a.intervalError(start.Low, end.Value, mean.Value), a.intervalError(start.High, end.Value, mean.Value),
			a.intervalError(start.Value, end.Low, mean.Value), a.intervalError(start.Value, end.High, mean.Value))
		if max(start.High-start.Low, end.High-end.Low) > 2*a.typical {
			half := math.Hypot(m.half, off)
			mean.Low, mean.High = max(mean.Value-half, 0), mean.Value+half
		}
		// Skip an alternating segment, because each of its two levels has its own interval.
		if m.segment.Shape != ShapeAlternating {
			*mean = shown(*mean, a.whole(start.Value, end.Value))
		}
		a.measured = append(a.measured, m)
		start = end
	}
}

// intervalError returns the absolute difference between the given mean and the mean over the interval from start to
// end.
func (a *analysis) intervalError(start, end, mean float64) float64 {
	samples := a.whole(start, end)
	amount, seconds := total(samples, 0, len(samples))
	if seconds <= 0 {
		return 0
	}
	return math.Abs(amount/seconds - mean)
}

// whole returns the samples that lie completely between two instants. A sample that extends beyond one of them contains
// a drop, and therefore both levels. If fewer than two samples would remain, whole returns the result of between.
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

// originalSeconds returns the length of the complete sample from which the given part was cut.
func (a *analysis) originalSeconds(part Sample) float64 {
	return a.samples[a.sampleAt(part.StartSeconds)].seconds()
}

// measureStretch returns the mean of a stretch with its interval, and the two levels if the rate alternates.
func (a *analysis) measureStretch(start, end float64) measuredStretch {
	samples := a.whole(start, end)
	level, variance, freedom, n := meanOf(samples)
	m := measuredStretch{variance: variance, freedom: freedom}
	m.segment = Segment{StartSeconds: start, EndSeconds: end, Mean: level, Shape: ShapeLevel,
		Deviation: math.Sqrt(n.variance())}
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

// extended returns the mean over the whole stretch. It includes the partial samples at the edges of the stretch: the
// parts of samples that a drop divides. They are assumed to have the rates of their neighbours. If the rate alternates,
// these rates differ from the mean by more than noise, so the partial samples must be included.
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

// residuals returns the deviations of samples from the mean of their segment, and the number of segments. Each list of
// deviations covers an uninterrupted sequence of samples without dips and outliers. The noise is estimated from these
// deviations. A mean includes dips, drift and alternation, but its uncertainty depends only on the noise.
func (a *analysis) residuals(samples []Sample) (stretches [][]float64, means float64) {
	if len(samples) < leastSamples || len(a.breaks) == 0 {
		return nil, 0
	}
	first := sort.Search(len(a.samples), func(i int) bool { return a.samples[i].EndSeconds > samples[0].StartSeconds })
	last := first + len(samples)
	all := make([]float64, 0, len(samples)) // the backing array that all stretches share
	begun := 0
	finish := func() {
		if len(all) > begun {
			stretches = append(stretches, all[begun:])
			begun = len(all)
		}
	}
	for k := 0; k+1 < len(a.breaks); k++ {
		// Skip the block on either side of a change of level, because the change may lie inside it.
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

// meanOf returns the mean rate of samples with its interval, which accounts for correlated noise.
func meanOf(samples []Sample) (estimate Estimate, variance, freedom float64, n noise) {
	return meanOfIn(samples, make([]float64, 0, len(samples)))
}

// meanOfIn is like meanOf, but uses the given buffer instead of allocating one.
func meanOfIn(samples []Sample, buffer []float64) (estimate Estimate, variance, freedom float64, n noise) {
	if len(samples) == 0 {
		return Estimate{}, 0, 2, noise{}
	}
	amount, seconds := total(samples, 0, len(samples))
	value := amount / seconds
	if len(samples) < 4 {
		half := fewError(samples)
		if len(samples) < leastForMean {
			few, freedom := fewNoise(logarithms(samples))
			half = unseenNoise * student(freedom) * math.Sqrt(few.variance()/float64(len(samples))) * value
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
