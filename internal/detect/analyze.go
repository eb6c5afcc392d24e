package detect

import (
	"fmt"
	"math"
	"slices"
)

// mostBlocks limits the number of blocks in the optimal segmentation, because the computing time grows with the square
// of this number. A block is a group of consecutive samples that are joined into one.
const mostBlocks = 1200

// leastSamples is the minimum number of samples in a series in which a drop can be found.
const leastSamples = 6

// Analyze analyzes the series of a burst drain. The samples, including the samples in Options.Earlier, must be in order
// and must not overlap; otherwise the error wraps a *SampleError that describes the offending sample. Gaps are allowed.
// A series without a drop is not an error.
func Analyze(samples []Sample, options Options) (Result, error) {
	if err := check(samples); err != nil {
		return Result{}, fmt.Errorf("analyze a burst: %w", err)
	}
	if err := checkEarlier(options.Earlier, samples[0].StartSeconds); err != nil {
		return Result{}, fmt.Errorf("analyze a burst: preceding load: %w", err)
	}
	a := &analysis{options: options, pace: paceOf(samples)}
	whole := samples
	samples = thinned(samples, a.pace)
	a.samples, a.typical = samples, typicalSeconds(samples)
	a.filled, a.missing = fillGaps(samples)
	a.filled = slices.Concat(withPauses(options.Earlier, samples[0].StartSeconds), a.filled)
	a.findRegimes()
	a.ignoreTurns(whole)
	a.measureRegimes()
	a.fillResult()
	return a.result, nil
}

// thinned joins samples that are much shorter than the changes to be found, to bound computing time and memory. It does
// not join samples across a gap, because a drop may lie anywhere in the gap. It ignores gaps of less than half a
// sample, which are rounding errors of the times.
func thinned(samples []Sample, p pace) []Sample {
	const most, mostInWindow = 120_000, 4000
	typical := typicalSeconds(samples)
	size := (len(samples) + most - 1) / most
	inWindow := p.of(cleanSeconds) / typical
	size = max(size, int(min(math.Ceil(inWindow/mostInWindow), float64(len(samples)))))
	if size == 1 {
		return samples
	}
	joined := make([]Sample, 0, len(samples)/size+1)
	from := 0
	for i := 1; i <= len(samples); i++ {
		if i == len(samples) || samples[i].StartSeconds-samples[i-1].EndSeconds > typical/2 {
			joined = append(joined, group(samples[from:i], size)...)
			from = i
		}
	}
	return joined
}

// analysis holds the state of one call of Analyze.
type analysis struct {
	samples []Sample
	filled  []Sample
	options Options
	typical float64
	// values are the logarithms of the rates. cleaned are the same logarithms after dips and outliers were replaced.
	values, cleaned []float64
	// aside marks the samples that are excluded from estimates of the noise: outliers and the samples of dips. breaks
	// lists the index of the first sample of each segment, followed by the number of samples.
	aside  []bool
	breaks []int
	// blockSize is the number of samples per block.
	blockSize int
	pace      pace
	missing   float64
	// extra is the additional certainty required of a drop, in units of the noise variance. It compensates for
	// searching the series several times, which makes false drops more likely.
	extra float64
	// begin is the index of the first sample after the ramp-up. times are the times of the lasting drops.
	begin int
	times []Estimate
	// turned is true if a drop was ignored, because the load switched between reads and writes.
	turned bool
	// measured holds the stretches between the drops, with their mean rates.
	measured []measuredStretch
	result   Result
}

// findLevels joins the samples into blocks, finds the lasting drops in the series of blocks, and then estimates the
// times of these drops from the samples.
func (a *analysis) findLevels() {
	if len(a.samples) < leastSamples {
		return
	}
	a.values = logarithms(a.samples)
	a.cleaned = clean(a.values, a.typical, a.pace.of(cleanSeconds))
	cleaned := a.cleaned
	size := (len(a.samples) + mostBlocks - 1) / mostBlocks
	blocks := group(a.samples, size)
	values := make([]float64, len(blocks))
	for i := range values {
		values[i] = mean(cleaned[i*size : min((i+1)*size, len(cleaned))])
	}
	c := newDropSearch(blocks, values)
	c.extra = a.extra
	c.find()
	a.recordCleaning(c, size)
	a.begin = a.settled(c, size, cleaned)
	bounds := make([]int, 0, len(c.lasting)+2)
	for _, b := range c.regimes() {
		bounds = append(bounds, min(b*size, len(a.samples)))
	}
	bounds[0] = a.begin
	for i := 0; i < len(bounds)-2; {
		from, to := bounds[i], bounds[i+2]
		// If the rate alternates after the drop, use only the segment just after the drop to estimate the drop's time.
		nearFrom, nearTo := c.around(bounds[i+1] / size)
		if _, ok := alternating(a.samples[bounds[i+1]:to]); ok {
			to = min(to, nearTo*size)
		}
		at := a.locate(from, bounds[i+1], to)
		start, end := a.samples[bounds[i]].StartSeconds, a.samples[bounds[i+2]-1].EndSeconds
		if i > 0 {
			start = a.times[i-1].Value
		}
		// If the estimated time lies outside the segments next to the drop, it is the time of a different change. The
		// drop is then not sharp, so reject it. Allow a margin, because dips next to the drop are separate segments.
		margin := 2 * a.pace.of(dipSeconds)
		near := at.Value >= a.samples[nearFrom*size].StartSeconds-margin &&
			at.Value <= a.samples[min(nearTo*size, len(a.samples))-1].EndSeconds+margin
		// Also reject a drop whose time is too uncertain.
		located := at.High-at.Low <= max(0.5*min(at.Value-start, end-at.Value), 2*a.typical)
		if !near || !located || !a.dropLasts(start, at.Value, end) {
			bounds = append(bounds[:i+1], bounds[i+2:]...)
			// The stretch after the previous drop no longer ends at the rejected drop, so examine the previous drop
			// again.
			if i > 0 {
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
			a.begin = 0 // the series began at the lower of two alternating levels, not with a ramp-up
		}
	}
}

// recordCleaning records the bounds of all segments, and marks the samples whose values were replaced by the functions
// clean or patch. These samples belong to dips or are outliers, so they are not noise.
func (a *analysis) recordCleaning(c *dropSearch, size int) {
	a.aside = make([]bool, len(a.samples))
	for i := range a.aside {
		a.aside[i] = a.cleaned[i] != a.values[i]
	}
	for _, p := range c.patched {
		for i := p[0] * size; i < min(p[1]*size, len(a.samples)); i++ {
			a.aside[i] = true
		}
	}
	a.blockSize = size
	for _, b := range c.bounds() {
		a.breaks = append(a.breaks, min(b*size, len(a.samples)))
	}
}

// settled returns the index of the first sample after the ramp-up. The ramp-up ends when the rate reaches, within the
// noise, the level of the following segment.
func (a *analysis) settled(c *dropSearch, size int, cleaned []float64) int {
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
	if a.values[0] >= bound {
		return 0 // the series starts at the settled level, so low rates after that are a dip, not a ramp-up
	}
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
