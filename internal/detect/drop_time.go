package detect

import (
	"math"
	"slices"
)

// locate estimates the time of the drop near sample `guess`, between samples `from` and `to`.
func (a *analysis) locate(from, guess, to int) Estimate {
	gap := min(2+int(a.pace.of(30)/a.typical), (guess-from)/2, (to-guess)/2)
	after := a.sideOf(a.samples[guess:to], gap, 0)
	t := dropPosterior{samples: a.samples[from:to], after: after.side}
	if before, ok := a.sidesOfTurns(a.samples[from:guess]); ok {
		t.before = []side{before[0].side, before[1].side}
		t.correlation, t.rough = min(before[0].noise.correlation, after.noise.correlation), max(before[0].rough, after.rough)
		return t.dropTime()
	}
	before := a.sideOf(a.samples[from:guess], 0, gap)
	t.before, t.aside = []side{before.side}, a.interruptions(from, to, before.side, after.side)
	t.correlation, t.rough = min(before.noise.correlation, after.noise.correlation), max(before.rough, after.rough)
	return t.dropTime()
}

// interruptions marks the samples of dips, which carry no information about the time of the drop. It marks sequences of
// at least two samples below both levels, and samples between the two levels that are next to such a sequence, because
// the dip may extend into them. A single sample below both levels is not marked, because it may be an outlier.
func (a *analysis) interruptions(from, to int, before, after side) []bool {
	const far = 3 // a rate within this many standard deviations of a level counts as being at that level
	top, bottom := math.Log(after.level)+far*after.deviation, math.Log(after.level)-far*after.deviation
	ceiling := math.Log(before.level) - far*before.deviation
	aside := make([]bool, to-from)
	low := func(i int) bool { return i >= from && i < to && a.values[i] < bottom }
	for i := from; i < to; i++ {
		aside[i-from] = low(i) && (low(i-1) || low(i+1))
	}
	for i := from; i < to; i++ {
		between := a.values[i] > top && a.values[i] < ceiling
		if between && (low(i-1) && low(i-2) || low(i+1) && low(i+2)) {
			aside[i-from] = true
		}
	}
	return aside
}

// sidesOfTurns returns the lower and the upper level, each with its noise, if the samples alternate between two levels.
func (a *analysis) sidesOfTurns(samples []Sample) ([2]noisySide, bool) {
	two, ok := alternating(samples)
	if !ok {
		return [2]noisySide{}, false
	}
	var residuals []float64
	var sides [2]noisySide
	for k, level := range [][]Sample{two.low, two.high} {
		values := logarithms(level)
		sides[k].level = math.Exp(midmean(slices.Clone(values)))
		for _, v := range values {
			residuals = append(residuals, v-math.Log(sides[k].level))
		}
	}
	n := fitNoise([][]float64{residuals})
	for k := range sides {
		sides[k].set(n, len(residuals))
	}
	return sides, true
}

type noisySide struct {
	side
	noise noise
	// rough is the factor by which an interval is widened because the noise was estimated from few samples.
	rough float64
}

// set stores the noise of a side, estimated from the given number of samples. A standard deviation below a minimum is
// raised to that minimum.
func (s *noisySide) set(n noise, samples int) {
	const least = 1e-4
	s.noise, s.deviation = n, math.Sqrt(n.variance())
	s.rough = student(n.freedom(float64(samples))) / student(math.Inf(1))
	if s.deviation < least {
		s.noise.correlation, s.deviation, s.rough = 0, least, 1
	}
}

// sideOf returns the level and the noise of samples, without their outliers and dips. The first skipFirst and the last
// skipLast samples are used only to recognize dips, not for the level and the noise.
func (a *analysis) sideOf(samples []Sample, skipFirst, skipLast int) noisySide {
	if len(samples) <= skipFirst+skipLast {
		return noisySide{side: side{level: 1, deviation: 1}, rough: 1}
	}
	cleaned := clean(logarithms(samples), typicalSeconds(samples), a.pace.of(cleanSeconds))
	cleaned = cleaned[skipFirst : len(cleaned)-skipLast]
	level := midmean(slices.Clone(cleaned))
	s := noisySide{side: side{level: math.Exp(level)}}
	if len(cleaned) < leastForNoise {
		n, freedom := fewNoise(cleaned)
		s.noise, s.deviation = n, math.Sqrt(n.variance())
		// With fewer than leastForNoise samples, not only the noise but also the level is uncertain. rough therefore
		// widens the interval to the prediction interval for one more sample.
		s.rough = student(freedom) / student(math.Inf(1)) * math.Sqrt(1+1/float64(len(cleaned)))
		return s
	}
	n := fitNoiseAbout(withoutStrays(cleaned, level), 1)
	s.set(n, len(cleaned))
	return s
}

// withoutStrays returns the deviations of values from a level. It omits stray values, which can remain after cleaning
// if dips overlap, and begins a new stretch of deviations after each omission.
func withoutStrays(values []float64, level float64) [][]float64 {
	off := make([]float64, len(values))
	for i, v := range values {
		off[i] = math.Abs(v - level)
	}
	far := isStray(off, standsOut*median(slices.Clone(off)), len(values))
	all := make([]float64, 0, len(values)) // the backing array that all stretches share
	var stretches [][]float64
	begun := 0
	for i, v := range values {
		last := i == len(values)-1
		if !far[i] {
			all = append(all, v-level)
			if !last {
				continue
			}
		}
		if len(all) > begun {
			stretches, begun = append(stretches, all[begun:]), len(all)
		}
	}
	return stretches
}

// midmean returns the mean of the middle half of the values in ascending order. It reorders its argument.
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
