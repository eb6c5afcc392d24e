package detect

import (
	"math"
	"slices"
)

// dipSeconds is the longest interruption that does not count as a change. cleanSeconds is the window of the running
// median that removes such interruptions. The window must be more than twice as long as dipSeconds.
const (
	dipSeconds   = 32
	cleanSeconds = 75
)

// standsOut is the number of median absolute deviations beyond which a value does not count as noise. For normally
// distributed values, it corresponds to 4.5 standard deviations.
const standsOut = 4.5 * 1.4826

// pace is a factor that scales all durations used for detection. It is less than 1 for a short series, because such a
// series may be a scaled-down drain, whose dips are shorter too.
type pace float64

func paceOf(samples []Sample) pace {
	// For a series shorter than this many seconds, the durations used for detection are reduced in proportion to its
	// length.
	const full = 240
	length := samples[len(samples)-1].EndSeconds - samples[0].StartSeconds
	return pace(min(1, length/full))
}

// of scales a duration, in seconds, by the pace.
func (p pace) of(seconds float64) float64 { return float64(p) * seconds }

// clean replaces dips, outliers, and the slow and the fast sample that a late dump causes: each value far from the
// running median becomes that median. It does not affect lasting changes. Values are logarithms, so that noise is the
// same at each level. typical is the length of a sample, and window is the length of the running median's window, both
// in seconds.
func clean(values []float64, typical, window float64) []float64 {
	if len(values) < 5 {
		return slices.Clone(values)
	}
	half := int(window / typical / 2)
	half = min(max(half, 2), (len(values)-1)/2)
	middle := runningMedian(values, half)
	off := make([]float64, len(values))
	for i, v := range values {
		off[i] = math.Abs(v - middle[i])
	}
	bound := standsOut * median(slices.Clone(off))
	cleaned := slices.Clone(values)
	for i, far := range isStray(off, bound, half) {
		if far {
			cleaned[i] = middle[i]
		}
	}
	return cleaned
}

const (
	// briefRun is the largest number of consecutive values that count as outliers instead of a dip.
	briefRun = 3
	// manyStrays is a threshold for the share of outliers in the window around a value. Above it, the outliers count as
	// noise.
	manyStrays = 0.1
)

// isStray reports which values belong to dips or are outliers, because their deviation (off) exceeds bound. If there
// are many outliers, they count as noise instead. For example, a store that completes only a few large operations per
// sample may complete seven operations in one second and eight in each of the next two. Most values are then equal and
// the bound is almost zero, but the seconds with seven operations are not outliers.
func isStray(off []float64, bound float64, half int) []bool {
	bound = max(bound, 1e-9)
	far := make([]bool, len(off))
	// brief[i] counts the values before index i that exceed the bound and belong to an uninterrupted sequence of at
	// most briefRun such values.
	brief := make([]int, len(off)+1)
	for i := 0; i < len(off); {
		end := i
		for end < len(off) && (off[end] > bound) == (off[i] > bound) {
			end++
		}
		out := off[i] > bound
		for j := i; j < end; j++ {
			far[j] = out
			brief[j+1] = brief[j]
			if out && end-i <= briefRun {
				brief[j+1]++
			}
		}
		i = end
	}
	for i := range far {
		from, to := max(0, i-half), min(len(off), i+half+1)
		if brief[i+1] > brief[i] && float64(brief[to]-brief[from]) > manyStrays*float64(to-from) {
			far[i] = false
		}
	}
	return far
}

// runningMedian returns, for each value, the median of the value and of up to `half` neighbours on either side. Values
// near the ends have fewer neighbours.
func runningMedian(values []float64, half int) []float64 {
	result := make([]float64, len(values))
	window := make([]float64, 0, 2*half+2)
	insert := func(v float64) {
		at, _ := slices.BinarySearch(window, v)
		window = slices.Insert(window, at, v)
	}
	for i := range min(half, len(values)) {
		insert(values[i])
	}
	for i := range values {
		if i+half < len(values) {
			insert(values[i+half])
		}
		if i-half-1 >= 0 {
			at, _ := slices.BinarySearch(window, values[i-half-1])
			window = slices.Delete(window, at, at+1)
		}
		n := len(window)
		result[i] = (window[(n-1)/2] + window[n/2]) / 2
	}
	return result
}

// logarithms returns the logarithms of the rates. Rates below logarithmFloor count as that floor, because 0 has no
// logarithm.
func logarithms(samples []Sample) []float64 {
	rates := make([]float64, len(samples))
	for i, s := range samples {
		rates[i] = s.Rate
	}
	floor := logarithmFloor(rates)
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = math.Log(max(s.Rate, floor))
	}
	return values
}

// logarithmFloor returns the rate that replaces all lower rates before logarithms are computed: a thousandth of the
// 90th percentile. It reorders its argument.
func logarithmFloor(rates []float64) float64 {
	const smallest = 1e-3
	return max(selected(rates, len(rates)*9/10)*smallest, math.SmallestNonzeroFloat32)
}
