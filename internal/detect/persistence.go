package detect

import "math"

// A drop counts as lasting only if the rate is rarely at the other level. Before the drop, it may be near the lower
// level for at most returnShare times the time at that level after the drop. After the drop, it may be near the upper
// level for at most returnShare times the time before the drop or the time after it, whichever is shorter. Only periods
// of at least returnSeconds count.
const (
	returnSeconds = 10
	returnShare   = 0.3
)

// dropLasts reports whether a drop lasts, judging by the original samples, in which dips and outliers have not been
// replaced. Before the drop, the rate must not be near the lower level for long. After the drop, it must not be above
// the middle of the two levels for long.
func (a *analysis) dropLasts(start, at, end float64) bool {
	before, after := a.between(start, at), a.between(at, end)
	if len(before) < 3 || len(after) < 3 || at-start < a.pace.of(returnSeconds) || end-at < a.pace.of(lastingSeconds) {
		return false
	}
	// If cleaning replaced many samples because they seemed to be dips or outliers, the difference between the mean
	// rates before and after the drop must be at least twice its standard error. Both are computed from the original
	// samples.
	first, firstVariance, _, _ := meanOf(before)
	second, secondVariance, _, _ := meanOf(after)
	if second.Value >= first.Value {
		return false
	}
	if first.Value-second.Value < 2*math.Sqrt(firstVariance+secondVariance) && (a.cleanedAway(before) || a.cleanedAway(after)) {
		return false
	}
	upper, lower := medianRate(before), medianRate(after)
	if two, ok := alternating(after); ok {
		lower = medianRate(two.high)
		if upper-lower < separation*(upper-medianRate(two.low)) {
			return false // the rate alternates after the drop, and keeps returning to the level before it
		}
	}
	if upper <= lower {
		return false
	}
	lower = max(lower, upper*1e-3)
	if two, ok := alternating(before); ok {
		low, high := medianRate(two.low), medianRate(two.high)
		switch {
		case low < lower-separation*(high-lower):
			low = upper // the lower rates before the drop are below the level after it, so they are dips
		case math.Log(max(low/lower, 1)) < separation*math.Log(high/lower):
			// The level after the drop may be the lower of the two levels before it. The drop counts as lasting only if
			// the rate stays at that level much longer than it ever did before the drop.
			return end-at > outlast*two.longestLow
		}
		upper = low
	}
	bottom, middle := lower*math.Pow(upper/lower, separation), math.Sqrt(upper*lower)
	low, _ := longRuns(before, a.pace.of(returnSeconds), func(rate float64) bool { return rate < bottom })
	high, last := longRuns(after, a.pace.of(returnSeconds), func(rate float64) bool { return rate > middle })
	// Noise alone can make the rate reach the other level. The time that noise explains does not count as a return.
	lowNoise := tailShare((1-separation)*math.Log(upper/lower), a.spread(before))
	highNoise := tailShare(math.Log(upper/lower)/2, a.spread(after))
	return low < returnShare*(end-at)+lowNoise*(at-start) && high < returnShare*min(at-start, end-at)+highNoise*(end-at) &&
		(!last || highNoise > 0.001)
}

// tailShare returns the approximate share of normally distributed noise that exceeds a distance in one direction.
func tailShare(distance, deviation float64) float64 {
	return 0.6 * math.Erfc(distance/max(deviation, 1e-9)/math.Sqrt2)
}

// spread returns the standard deviation of the logarithms of rates, without dips, outliers and slow changes, which are
// not noise.
func (a *analysis) spread(samples []Sample) float64 {
	cleaned := clean(logarithms(samples), a.typical, a.pace.of(cleanSeconds))
	return min(spread(cleaned), math.Sqrt(roughNoise(cleaned).variance()))
}

// cleanedAway reports whether cleaning replaces a larger share of the samples than dips can account for.
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

// spread returns the standard deviation of the values.
func spread(values []float64) float64 {
	squares, middle := 0.0, mean(values)
	for _, v := range values {
		squares += (v - middle) * (v - middle)
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

// longRuns returns the total time of the uninterrupted sequences of samples that meet the condition. It counts
// sequences of at least `least` seconds and two samples, or all sequences if least is 0. last reports whether the last
// counted sequence extends to the end.
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
