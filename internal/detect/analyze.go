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
	a := &analysis{samples: samples, options: options}
	a.typical = typicalSeconds(samples)
	a.pace = paceOf(samples)
	a.filled, a.missing = fillGaps(samples)
	a.findRegimes()
	a.measureRegimes()
	a.fillResult()
	return a.result, nil
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
		if explain != nil {
			explain("at %.1f near %v lasts %v", at, near, a.lasts(start, at.Value, end))
		}
		if !near || !a.lasts(start, at.Value, end) {
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

// What is seen again for so long, and so much of the time that it held, was no lasting change.
const (
	returnSeconds = 10
	returnShare   = 0.3
)

// lasts looks at the samples as they are, not cleaned: the time that they spend on the other side of
// the middle between both levels must be short, before the drop and after it.
func (a *analysis) lasts(start, at, end float64) bool {
	before, after := a.between(start, at), a.between(at, end)
	if len(before) < 3 || len(after) < 3 || at-start < a.pace.of(returnSeconds) || end-at < a.pace.of(lastingSeconds) {
		return false
	}
	// Dips and outliers count here: the means must be apart by more than all of it.
	first, firstVariance, _, _ := meanOf(before)
	second, secondVariance, _, _ := meanOf(after)
	if first.Value-second.Value < 2*math.Sqrt(firstVariance+secondVariance) && (a.cleanedAway(before) || a.cleanedAway(after)) {
		return false
	}
	upper, lower := medianRate(before), medianRate(after)
	if two, ok := alternating(after); ok {
		bottom := max(medianRate(two.low), upper*1e-3)
		lower = medianRate(two.high)
		if math.Log(upper/lower) < separation*math.Log(upper/bottom) {
			return false // it comes back to where it was, at each turn
		}
	}
	if upper <= lower {
		return false
	}
	lower = max(lower, upper*1e-3)
	if two, ok := alternating(before); ok {
		low, high := max(medianRate(two.low), lower), medianRate(two.high)
		if math.Log(low/lower) < separation*math.Log(high/lower) {
			// It may be the lower one of the two, until it has lasted too long for that.
			return end-at > outlast*two.longestLow
		}
		upper = low
	}
	bottom, middle := lower*math.Pow(upper/lower, separation), math.Sqrt(upper*lower)
	low, _ := longRuns(before, a.pace.of(returnSeconds), func(rate float64) bool { return rate < bottom })
	high, last := longRuns(after, a.pace.of(returnSeconds), func(rate float64) bool { return rate > middle })
	// Where noise reaches over to the other level, so much of the time is no return.
	lowNoise := beyond((1-separation)*math.Log(upper/lower), a.spread(before))
	highNoise := beyond(math.Log(upper/lower)/2, a.spread(after))
	return low < returnShare*(end-at)+lowNoise*(at-start) && high < returnShare*min(at-start, end-at)+highNoise*(end-at) &&
		(!last || highNoise > 0.001)
}

// beyond is about the share of normal noise that is further off than a distance, on one side.
func beyond(distance, deviation float64) float64 {
	return 0.6 * math.Erfc(distance/max(deviation, 1e-9)/math.Sqrt2)
}

// spread is the deviation of the logarithms of rates, without dips and outliers.
func (a *analysis) spread(samples []Sample) float64 {
	return spread(clean(logarithms(samples), a.typical, a.pace.of(cleanSeconds)))
}

// cleanedAway is whether cleaning changes more of the time than dips take.
func (a *analysis) cleanedAway(samples []Sample) bool {
	values := logarithms(samples)
	cleaned := clean(values, a.typical, a.pace.of(cleanSeconds))
	changed := 0
	for i := range values {
		if values[i] != cleaned[i] {
			changed++
		}
	}
	const dipsTake = 0.08
	return float64(changed) > dipsTake*float64(len(values))
}

// spread is the root of the mean square of what values are off their mean.
func spread(values []float64) float64 {
	squares := 0.0
	for _, d := range deviations(values) {
		squares += d * d
	}
	return math.Sqrt(squares / float64(len(values)))
}

func medianRate(samples []Sample) float64 {
	rates := make([]float64, len(samples))
	for i, s := range samples {
		rates[i] = s.Rate
	}
	return median(rates)
}

// longRuns is the time of which a thing is true, in runs that are long enough to be no noise, and whether
// the last one is at the end.
func longRuns(samples []Sample, least float64, is func(rate float64) bool) (sum float64, last bool) {
	run, count := 0.0, 0
	for i, s := range samples {
		if is(s.Rate) {
			run += s.seconds()
			count++
		}
		if !is(s.Rate) || i == len(samples)-1 {
			if run >= least && (count >= 2 || least == 0) {
				sum += run
				last = is(s.Rate)
			}
			run, count = 0, 0
		}
	}
	return sum, last
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
		a.measured = append(a.measured, measureStretch(a.whole(start, end), start, end, a.typical))
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
func measureStretch(samples []Sample, start, end, typical float64) measuredStretch {
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
