package detect

import "math"

// lengthen is the ratio of one scale to the next smaller one. A scale is the number of samples, from the start of the
// series, that are searched for a burst. A burst is found if it lasts from a tenth to four fifths of a scale, so each
// burst can be found at two or more scales.
const lengthen = 2

// scaleExtra is the additional certainty that a drop needs because a dozen scales are searched: twice the logarithm of
// their number, in units of the noise variance.
const scaleExtra = 5

// findRegimes finds the lasting drops at all scales: in the whole series, in its first leastSamples samples, and in
// ever longer beginnings of the series, each twice as long as the previous one.
//
// A change that is short compared with the whole series counts as a dip or an outlier. At the start of the series,
// however, it may be a burst, such as a disk's cache or a small bucket. Whether the series starts with a burst of a few
// seconds is therefore decided from its first seconds alone. Later samples can only show that the rate returned, so the
// length of the baseline does not affect whether such a burst is found.
func (a *analysis) findRegimes() {
	a.findLevels()
	a.findOpenings()
}

// findOpenings searches the first samples for lasting drops, at each scale that is shorter than the series.
func (a *analysis) findOpenings() {
	scale := leastSamples
	for scale*lengthen*2 <= len(a.samples) {
		scale *= lengthen
	}
	for ; scale >= leastSamples && scale < len(a.samples); scale /= lengthen {
		first := len(a.samples)
		if len(a.times) > 0 {
			first = a.sampleAt(a.times[0].Value)
		}
		if scale > first {
			continue // the samples of this scale extend beyond the first drop found so far; try a smaller scale
		}
		part := &analysis{samples: a.samples[:scale], typical: a.typical, pace: paceOf(a.samples[:scale]), extra: a.extra + scaleExtra}
		part.findLevels()
		if a.openingLasts(part, first) {
			a.adoptOpening(part)
		}
	}
}

// openingLasts reports whether the drops in the first samples last. `first` is the index of the sample that contains
// the earliest lasting drop found after the first samples, or the number of samples if there is none. A drop does not
// last if the rate returns before that sample: if the rate is above the middle of the two levels for most of a stretch
// that is at least three samples long and at least half as long as the time at the upper level. A drop also does not
// last if the rate decays by half of the drop, either during the burst or at the lower level up to the end of the next
// longer scale, because such a continued decrease is a drift.
func (a *analysis) openingLasts(part *analysis, first int) bool {
	const returned, leastReturn = 0.5, 3
	horizon := min(lengthen*len(part.samples), first)
	for i, at := range part.times {
		start, end := part.samples[part.begin].StartSeconds, part.samples[len(part.samples)-1].EndSeconds
		later := a.samples[min(a.sampleAt(at.High)+1, horizon):horizon]
		if i > 0 {
			start = part.times[i-1].Value
		}
		if i+1 < len(part.times) {
			end = part.times[i+1].Value
			later = part.between(at.High, end)
		}
		before := part.between(start, at.Value)
		upper, lower := medianRate(before), medianRate(part.between(at.Value, end))
		lower = max(lower, upper*1e-3)
		drop := math.Log(upper / lower)
		if decay(before, lower) > sharpness*drop || decay(later, lower*1e-3) > sharpness*drop {
			return false
		}
		middle := math.Sqrt(upper * lower)
		rest := a.samples[min(a.sampleAt(at.High)+1, first):first]
		if returnsAbove(rest, middle, max(returned*(at.Value-start), leastReturn*a.typical)) {
			return false
		}
	}
	return len(part.times) > 0
}

// decay returns the decrease of the rate from the first to the last third of a stretch, as a difference of
// logarithms. Rates below floor count as floor. It returns 0 if there are too few samples.
func decay(stretch []Sample, floor float64) float64 {
	const leastThird = 2
	third := len(stretch) / 3
	if third < leastThird {
		return 0
	}
	first, last := medianRate(stretch[:third]), medianRate(stretch[len(stretch)-third:])
	return math.Log(max(first, floor) / max(last, floor))
}

// returnsAbove reports whether there is a stretch of the given length, in seconds, during most of which the rate is
// above a level.
func returnsAbove(samples []Sample, level, seconds float64) bool {
	const most = 0.75
	window, above, from := 0.0, 0.0, 0
	count := func(s Sample, sign float64) {
		window += sign * s.seconds()
		if s.Rate > level {
			above += sign * s.seconds()
		}
	}
	for _, s := range samples {
		count(s, 1)
		for window-samples[from].seconds() > 0.99*seconds {
			count(samples[from], -1)
			from++
		}
		if window > 0.99*seconds && above > most*window {
			return true
		}
	}
	return false
}

// adoptOpening adds the drops found in the first samples to the drops of the series. For the first samples, it also
// adopts the dips, outliers and segments from the same analysis.
func (a *analysis) adoptOpening(part *analysis) {
	a.times = append(part.times, a.times...)
	a.begin = part.begin
	copy(a.aside, part.aside)
	breaks := part.breaks[:len(part.breaks)-1]
	for _, b := range a.breaks {
		if b > breaks[len(breaks)-1] {
			breaks = append(breaks, b)
		}
	}
	a.breaks = breaks
}

// fastStart describes the start of the first level if the rate there was clearly higher than during the rest of that
// level. Otherwise it returns nil. A fast start is not necessarily a burst: it may consist of only one or two samples,
// or contain a long dip.
func (a *analysis) fastStart() *FastStart {
	const leastFaster, standsOut, mostOfAll, first = 1.25, 5, 0.25, 3
	samples := a.samples[a.begin:]
	if len(a.times) > 0 {
		samples = a.between(samples[0].StartSeconds, a.times[0].Value)
	}
	if len(samples) <= first {
		return nil
	}
	usual, peak := medianRate(samples), 0.0
	for _, s := range samples[:first] {
		peak = max(peak, s.Rate)
	}
	off := make([]float64, len(samples))
	for i, s := range samples {
		off[i] = math.Abs(s.Rate - usual)
	}
	if usual <= 0 || peak < max(leastFaster*usual, usual+standsOut*1.4826*median(off)) {
		return nil
	}
	level, head := math.Sqrt(peak*usual), 0
	for i, s := range samples {
		if s.Rate > level {
			head = i + 1
		}
	}
	if float64(head) > mostOfAll*float64(len(samples)) {
		return nil
	}
	amount, seconds := total(samples, 0, head)
	rest, restSeconds := total(samples, head+1, len(samples)) // the first sample after the fast start may contain both rates
	return &FastStart{Seconds: samples[head-1].EndSeconds - samples[0].StartSeconds, Rate: amount / seconds, Rest: rest / restSeconds}
}
