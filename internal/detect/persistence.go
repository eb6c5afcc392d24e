package detect

import "math"

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
			return false // it comes back to where it was, at each turn
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
			low = upper // what it went down to was deeper: dips, not this level
		case math.Log(max(low/lower, 1)) < separation*math.Log(high/lower):
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

// spread is the deviation of the logarithms of rates, without dips and outliers, and without what is
// slow and no noise.
func (a *analysis) spread(samples []Sample) float64 {
	cleaned := clean(logarithms(samples), a.typical, a.pace.of(cleanSeconds))
	return min(spread(cleaned), math.Sqrt(roughNoise(cleaned).variance()))
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
