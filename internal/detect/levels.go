package detect

import (
	"math"
	"slices"
)

// turns describes a stretch in which the rate alternates between two levels. A turn is a change from one level to the
// other.
type turns struct {
	low, high []Sample // the samples at each level, except those next to a change of level
	highShare float64
	// residuals are the deviations of the samples in low and high from their level. Each list covers a stretch without
	// a change of level.
	residuals [][]float64
	// longestLow is the longest time at the lower level, in seconds.
	longestLow float64
}

// Criteria for alternation between two levels. The rate must be at each level for at least leastTurns separate periods,
// and in total for at least the fraction leastShare of the time. Fewer or shorter periods could be due to chance. The
// levels must be at least levelsApart standard deviations apart. If the periods at one level are as short as dips, the
// periods at the other level must all be of similar length (see regular).
const (
	leastTurns   = 3
	levelsApart  = 4
	leastShare   = 0.03
	dipsShare    = 0.15
	regularTurns = 0.4
)

// alternating reports whether the rate alternates between two levels, and describes the levels.
func alternating(samples []Sample) (turns, bool) {
	if len(samples) < 12 {
		return turns{}, false
	}
	rates := make([]float64, len(samples))
	for i, s := range samples {
		rates[i] = s.Rate
	}
	low, high := twoMeans(rates)
	if !(high > low) {
		return turns{}, false
	}
	var states []bool
	for range 8 {
		states = cheapestPath(rates, low, high)
		newLow, newHigh := stateMeans(rates, states, low, high)
		done := math.Abs(newLow-low)+math.Abs(newHigh-high) < 1e-6*high
		low, high = newLow, newHigh
		if done {
			break
		}
	}
	return judge(samples, states, low, high)
}

// twoMeans returns initial estimates of both levels: it splits the sorted rates into two groups with the least sum of
// squared deviations from the means of the groups, and returns these means. It uses at most 2,048 of the rates.
func twoMeans(rates []float64) (low, high float64) {
	const enough = 2048
	stride := len(rates)/enough + 1
	ordered := make([]float64, 0, len(rates)/stride+1)
	for i := 0; i < len(rates); i += stride {
		ordered = append(ordered, rates[i])
	}
	slices.Sort(ordered)
	sum := 0.0
	for _, r := range ordered {
		sum += r
	}
	left, best, n := 0.0, -1.0, float64(len(ordered))
	for i, r := range ordered[:len(ordered)-1] {
		left += r
		k := float64(i + 1)
		below, above := left/k, (sum-left)/(n-k)
		if between := k * (n - k) * (above - below) * (above - below); between > best {
			best, low, high = between, below, above
		}
	}
	return low, high
}

// cheapestPath assigns each rate to a level (true means high) and minimizes the total cost. A rate costs its squared
// distance from its level. A change of level costs half of the squared distance between the levels: twice the cost of a
// rate midway between them.
func cheapestPath(rates []float64, low, high float64) []bool {
	turn := 0.5 * (high - low) * (high - low)
	var costLow, costHigh float64
	// fromLow[i] describes the two cheapest paths to rate i: one ends at the low level, the other at the high level.
	// For each of them, it records whether the path is at the low level at the preceding rate.
	fromLow := make([][2]bool, len(rates))
	for i, r := range rates {
		toLow, toHigh := costLow, costHigh
		fromLow[i] = [2]bool{true, false}
		if costHigh+turn < toLow {
			toLow, fromLow[i][0] = costHigh+turn, false
		}
		if costLow+turn < toHigh {
			toHigh, fromLow[i][1] = costLow+turn, true
		}
		costLow, costHigh = toLow+(r-low)*(r-low), toHigh+(r-high)*(r-high)
	}
	states := make([]bool, len(rates))
	state := costHigh < costLow
	for i := len(rates) - 1; i >= 0; i-- {
		states[i] = state
		if state {
			state = !fromLow[i][1]
		} else {
			state = !fromLow[i][0]
		}
	}
	return states
}

func stateMeans(rates []float64, states []bool, low, high float64) (newLow, newHigh float64) {
	var sums, counts [2]float64
	for i, r := range rates {
		if inside(states, i) {
			k := index(states[i])
			sums[k] += r
			counts[k]++
		}
	}
	newLow, newHigh = low, high
	if counts[0] > 0 {
		newLow = sums[0] / counts[0]
	}
	if counts[1] > 0 {
		newHigh = sums[1] / counts[1]
	}
	return newLow, newHigh
}

func index(state bool) int {
	if state {
		return 1
	}
	return 0
}

// inside reports whether a sample and its neighbours are at the same level. A sample next to a change of level may
// contain both levels.
func inside(states []bool, i int) bool {
	left := i == 0 || states[i-1] == states[i]
	right := i == len(states)-1 || states[i+1] == states[i]
	return left && right
}

// judge reports whether two apparent levels are real, and describes them.
func judge(samples []Sample, states []bool, low, high float64) (turns, bool) {
	var result turns
	var squares, seconds [2]float64
	for i, s := range samples {
		k := index(states[i])
		seconds[k] += s.seconds()
		if !inside(states, i) {
			continue
		}
		level := low
		if states[i] {
			level = high
			result.high = append(result.high, s)
		} else {
			result.low = append(result.low, s)
		}
		squares[k] += (s.Rate - level) * (s.Rate - level)
	}
	if len(result.low) < 3 || len(result.high) < 3 {
		return turns{}, false
	}
	deviationLow := math.Sqrt(squares[0] / float64(len(result.low)))
	deviationHigh := math.Sqrt(squares[1] / float64(len(result.high)))
	if high-low < levelsApart*(deviationLow+deviationHigh)/2 {
		return turns{}, false
	}
	result.highShare = seconds[1] / (seconds[0] + seconds[1])
	if min(result.highShare, 1-result.highShare) < leastShare {
		return turns{}, false
	}
	lows, highs := runs(samples, states)
	if len(lows) < leastTurns || len(highs) < leastTurns {
		return turns{}, false
	}
	result.longestLow = slices.Max(lows)
	dips := 1-result.highShare < dipsShare && quantileOf(lows, 0.5) <= dipSeconds+8
	spikes := result.highShare < dipsShare && quantileOf(highs, 0.5) <= dipSeconds
	if dips && (len(lows) < 5 || !regular(highs)) || spikes && (len(highs) < 5 || !regular(lows)) {
		return turns{}, false
	}
	result.residuals = stateResiduals(samples, states, low, high)
	return result, true
}

// stateResiduals returns the deviations of samples from their level, with one list for each stretch without a change of
// level.
func stateResiduals(samples []Sample, states []bool, low, high float64) [][]float64 {
	all := make([]float64, 0, len(samples)) // the backing array that all stretches share
	var stretches [][]float64
	begun := 0
	for i, s := range samples {
		if inside(states, i) {
			all = append(all, s.Rate-[2]float64{low, high}[index(states[i])])
			if i+1 < len(samples) {
				continue
			}
		}
		if len(all) > begun {
			stretches, begun = append(stretches, all[begun:]), len(all)
		}
	}
	return stretches
}

// runs returns the duration in seconds of each period at either level. The first and the last period are cut off by the
// ends of the series.
func runs(samples []Sample, states []bool) (lows, highs []float64) {
	start := 0
	for i := 1; i <= len(states); i++ {
		if i < len(states) && states[i] == states[start] {
			continue
		}
		length := samples[i-1].EndSeconds - samples[start].StartSeconds
		if states[start] {
			highs = append(highs, length)
		} else {
			lows = append(lows, length)
		}
		start = i
	}
	return lows, highs
}

// regular reports whether the lengths of the periods at a level differ little. It ignores the first and the last
// period, which are cut off by the ends of the series. The fewer periods there are, the less their lengths may differ.
// With these limits, intervals between dips at random times are considered regular in only one case in fifty.
func regular(lengths []float64) bool {
	bounds := []float64{0, 0, 0, 0.13, 0.23, 0.31, 0.37, regularTurns}
	if len(lengths) < 2 {
		return false
	}
	inner := lengths[1 : len(lengths)-1]
	mean, squares := 0.0, 0.0
	for _, l := range inner {
		mean += l / float64(len(inner))
	}
	for _, l := range inner {
		squares += (l - mean) * (l - mean) / float64(len(inner))
	}
	return math.Sqrt(squares) < bounds[min(len(inner), len(bounds)-1)]*mean
}

func quantileOf(values []float64, q float64) float64 {
	ordered := slices.Clone(values)
	slices.Sort(ordered)
	return ordered[min(int(q*float64(len(ordered))), len(ordered)-1)]
}
