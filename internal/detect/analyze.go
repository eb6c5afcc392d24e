package detect

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// mostBlocks bounds the optimal segmentation, whose time grows with the square.
const mostBlocks = 1200

// leastSamples is how many a change needs on both sides together.
const leastSamples = 12

// Analyze finds what a series of a burst drain tells. The samples are in order and do not overlap; a
// *SampleError says which one is not. Gaps are allowed. A series that never drops is no error.
func Analyze(samples []Sample, options Options) (Result, error) {
	if err := check(samples); err != nil {
		return Result{}, fmt.Errorf("analyze a burst: %w", err)
	}
	a := &analysis{options: options, pace: paceOf(samples)}
	samples = thinned(samples, a.pace)
	a.samples, a.typical = samples, typicalSeconds(samples)
	a.filled, a.missing = fillGaps(samples)
	a.findRegimes()
	a.measureRegimes()
	a.fillResult()
	return a.result, nil
}

// thinned joins samples that are far finer than what is looked for, which bounds time and memory.
func thinned(samples []Sample, p pace) []Sample {
	const most, mostInWindow = 120_000, 4000
	size := (len(samples) + most - 1) / most
	inWindow := p.of(cleanSeconds) / typicalSeconds(samples)
	return group(samples, max(size, int(min(math.Ceil(inWindow/mostInWindow), float64(len(samples))))))
}

// analysis is a series on its way to a Result.
type analysis struct {
	samples []Sample
	filled  []Sample
	options Options
	typical float64
	pace    pace
	missing float64
	// begin is the first settled sample. times are those of the lasting drops.
	begin int
	times []Estimate
	// stretches are the samples of each regime, measured what they give.
	measured []measuredStretch
	result   Result
}

type measuredStretch struct {
	segment Segment
	// variance of the mean, freedom of it.
	variance, freedom float64
}

// findRegimes finds the lasting drops on blocks, then their times on samples.
func (a *analysis) findRegimes() {
	if len(a.samples) < leastSamples {
		return
	}
	cleaned := clean(logarithms(a.samples), a.typical, a.pace.of(cleanSeconds))
	size := (len(a.samples) + mostBlocks - 1) / mostBlocks
	blocks := group(a.samples, size)
	values := make([]float64, len(blocks))
	for i := range values {
		values[i] = mean(cleaned[i*size : min((i+1)*size, len(cleaned))])
	}
	c := newCourse(blocks, values)
	c.find()
	a.begin = a.settled(c, size, cleaned)
	bounds := make([]int, 0, len(c.lasting)+2)
	for _, b := range c.regimes() {
		bounds = append(bounds, min(b*size, len(a.samples)))
	}
	bounds[0] = a.begin
	for i := 0; i < len(bounds)-2; {
		from, to := bounds[i], bounds[i+2]
		// Where levels alternate, what counts is the one that was there just before, or just after.
		nearFrom, nearTo := c.around(bounds[i+1] / size)
		if _, ok := alternating(a.samples[from:bounds[i+1]]); ok {
			from = max(from, nearFrom*size)
		}
		if _, ok := alternating(a.samples[bounds[i+1]:to]); ok {
			to = min(to, nearTo*size)
		}
		at := a.locate(from, bounds[i+1], to)
		start, end := a.samples[bounds[i]].StartSeconds, a.samples[bounds[i+2]-1].EndSeconds
		if i > 0 {
			start = a.times[i-1].Value
		}
		// A time that lies in another segment is that of another change, and this one no step.
		margin := 2 * a.pace.of(dipSeconds) // dips beside the drop make segments too
		near := at.Value >= a.samples[nearFrom*size].StartSeconds-margin &&
			at.Value <= a.samples[min(nearTo*size, len(a.samples))-1].EndSeconds+margin
		// Nor is one that may be anywhere.
		located := at.High-at.Low <= max(0.5*min(at.Value-start, end-at.Value), 2*a.typical)
		if !near || !located || !a.lasts(start, at.Value, end) {
			bounds = append(bounds[:i+1], bounds[i+2:]...)
			if i > 0 { // the one before has other samples after it now
				i--
				a.times = a.times[:i]
			}
			continue
		}
		a.times = append(a.times, at)
		i++
	}
	if a.begin > 0 {
		end := a.samples[len(a.samples)-1].EndSeconds
		if len(a.times) > 0 {
			end = a.times[0].Value
		}
		if _, ok := alternating(a.between(a.samples[0].StartSeconds, end)); ok {
			a.begin = 0 // it began on the lower of two levels
		}
	}
}

// settled is the first sample after the ramp-up: where the rate has come to the level of what
// follows, within its noise.
func (a *analysis) settled(c *course, size int, cleaned []float64) int {
	bounds := c.bounds()
	from, to := c.begin, len(c.values)
	for _, b := range bounds {
		if b > c.begin {
			to = b
			break
		}
	}
	level := c.level(from, to)
	noise := fitNoise([][]float64{deviations(cleaned[from*size : min(to*size, len(cleaned))])})
	bound := level - 2*math.Sqrt(noise.variance()) - 0.005
	limit := max(a.pace.of(60), c.seconds(0, c.begin))
	begin := 0
	for i := range a.samples {
		if a.samples[i].EndSeconds-a.samples[0].StartSeconds > limit {
			break
		}
		if math.Log(max(a.samples[i].Rate, 1e-300)) < bound {
			if begin == i || i < from*size {
				begin = i + 1
			}
		}
	}
	return begin
}

// locate finds the time of the drop near a sample.
func (a *analysis) locate(from, guess, to int) Estimate {
	gap := min(2+int(a.pace.of(30)/a.typical), (guess-from)/2, (to-guess)/2)
	before := a.sideOf(a.samples[from : guess-gap])
	after := a.sideOf(a.samples[guess+gap : to])
	correlation := min(before.noise.correlation, after.noise.correlation)
	return when(a.samples, from, to, before.side, after.side, correlation, max(before.rough, after.rough))
}

type noisySide struct {
	side
	noise noise
	// rough is how many times wider an interval must be, since the noise is known from few samples.
	rough float64
}

// sideOf is the level and the noise of samples, without their outliers and dips.
func (a *analysis) sideOf(samples []Sample) noisySide {
	if len(samples) == 0 {
		return noisySide{side: side{level: 1, deviation: 1}, rough: 1}
	}
	cleaned := clean(logarithms(samples), typicalSeconds(samples), a.pace.of(cleanSeconds))
	n := fitNoise([][]float64{deviations(cleaned)})
	rough := student(n.freedom(float64(len(cleaned)))) / student(math.Inf(1))
	return noisySide{side: side{level: math.Exp(midmean(cleaned)), deviation: max(math.Sqrt(n.variance()), 1e-4)}, noise: n, rough: rough}
}

// midmean is the mean of the middle half. It reorders its argument.
func midmean(values []float64) float64 {
	if len(values) < 8 {
		return median(values)
	}
	slices.Sort(values)
	return mean(values[len(values)/4 : len(values)-len(values)/4])
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
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

// measureRegimes measures what is between the drops.
func (a *analysis) measureRegimes() {
	n := len(a.samples)
	start := a.samples[min(a.begin, n-1)].StartSeconds
	for i := range len(a.times) + 1 {
		end := a.samples[n-1].EndSeconds
		if i < len(a.times) {
			end = a.times[i].Value
		}
		a.measured = append(a.measured, measureStretch(a.whole(start, end), start, end))
		start = end
	}
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
	i := sort.Search(len(a.samples), func(i int) bool { return a.samples[i].EndSeconds > part.StartSeconds })
	return a.samples[min(i, len(a.samples)-1)].seconds()
}

// measureStretch gives the mean of a stretch with its interval, and its levels where it has two.
func measureStretch(samples []Sample, start, end float64) measuredStretch {
	level, variance, freedom, n := meanOf(samples)
	m := measuredStretch{variance: variance, freedom: freedom}
	m.segment = Segment{StartSeconds: start, EndSeconds: end, Mean: level, Shape: ShapeLevel,
		Correlation: n.correlation, Deviation: math.Sqrt(n.variance())}
	if two, ok := alternating(samples); ok {
		low, _, _, _ := meanOf(two.low)
		high, _, _, _ := meanOf(two.high)
		m.segment.Shape, m.segment.Low, m.segment.High, m.segment.HighShare = ShapeAlternating, &low, &high, two.highShare
	}
	return m
}

// meanOf is the mean rate of samples with its interval, from their noise and how it is correlated.
func meanOf(samples []Sample) (estimate Estimate, variance, freedom float64, n noise) {
	if len(samples) == 0 {
		return Estimate{}, 0, 2, noise{}
	}
	amount, seconds := total(samples, 0, len(samples))
	value := amount / seconds
	rates := make([]float64, len(samples))
	for i, s := range samples {
		rates[i] = s.Rate - value
	}
	if len(samples) < 4 {
		return Estimate{Value: value, Low: value, High: value}, 0, 2, noise{}
	}
	n = fitNoise([][]float64{rates})
	count := float64(len(samples))
	variance, freedom = n.meanVariance(count), n.freedom(count)
	half := student(freedom) * math.Sqrt(variance)
	return Estimate{Value: value, Low: max(value-half, 0), High: value + half}, variance, freedom, n
}
