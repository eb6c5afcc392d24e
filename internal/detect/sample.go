package detect

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Sample is the mean rate between two instants, in bytes or operations per second.
type Sample struct {
	StartSeconds, EndSeconds float64
	Rate                     float64
}

func (s Sample) seconds() float64 { return s.EndSeconds - s.StartSeconds }

// Limits of the samples: times must be within a century, and rates at most an exabyte per second.
const (
	maxSeconds = 3.2e9
	maxRate    = 1e18
)

// errNoSamples is returned for an empty series.
var errNoSamples = errors.New("the series has no samples")

// SampleError describes an invalid sample of a series.
type SampleError struct {
	// Index is the index of the sample, from 0.
	Index  int
	Reason string
}

func (e *SampleError) Error() string { return fmt.Sprintf("sample %d: %s", e.Index, e.Reason) }

// check returns an error if the series is empty, if samples overlap or are out of order, or if a time or a rate is
// invalid.
func check(samples []Sample) error {
	if len(samples) == 0 {
		return errNoSamples
	}
	for i, s := range samples {
		var before *Sample
		if i > 0 {
			before = &samples[i-1]
		}
		if reason := refuse(s, before); reason != "" {
			return &SampleError{Index: i, Reason: reason}
		}
	}
	return nil
}

// refuse returns the reason why a sample is invalid or cannot follow the preceding sample, or "" if it is valid. before
// is the preceding sample, or nil if there is none.
func refuse(s Sample, before *Sample) string {
	switch {
	case !(math.Abs(s.StartSeconds) <= maxSeconds) || !(math.Abs(s.EndSeconds) <= maxSeconds):
		return fmt.Sprintf("the time from %g to %g s is out of range", s.StartSeconds, s.EndSeconds)
	case s.EndSeconds <= s.StartSeconds:
		return fmt.Sprintf("the end at %g s is not after the start at %g s", s.EndSeconds, s.StartSeconds)
	case !(s.Rate >= 0) || s.Rate > maxRate:
		return fmt.Sprintf("the rate %g is not between 0 and 1e18", s.Rate)
	case before != nil && s.StartSeconds < before.EndSeconds:
		return fmt.Sprintf("the start at %g s is before the end of the previous sample at %g s", s.StartSeconds, before.EndSeconds)
	}
	return ""
}

// typicalSeconds returns the median length of the samples.
func typicalSeconds(samples []Sample) float64 {
	lengths := make([]float64, len(samples))
	for i, s := range samples {
		lengths[i] = s.seconds()
	}
	return median(lengths)
}

// median returns the median, or 0 if there are no values. It reorders its argument.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	upper := selected(values, len(values)/2)
	if len(values)%2 == 1 {
		return upper
	}
	return (slices.Max(values[:len(values)/2]) + upper) / 2
}

// selected returns the value with index k in ascending order. It reorders its argument, with smaller values before this
// value and greater values after it.
func selected(values []float64, k int) float64 {
	low, high := 0, len(values)-1
	for high-low > 12 {
		// Use the median of three as the pivot, so that ordered input is not slow.
		a, b, c := values[low], values[(low+high)/2], values[high]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	slices.Sort(values[low : high+1])
	return values[k]
}

// total returns the number of bytes or operations completed in samples [from, to), and the duration of these samples.
func total(samples []Sample, from, to int) (amount, seconds float64) {
	for _, s := range samples[from:to] {
		amount += s.Rate * s.seconds()
		seconds += s.seconds()
	}
	return amount, seconds
}

// group joins every `size` consecutive samples into one with the same number of bytes or operations. The rate of the
// joined sample is the mean over its parts and does not include the gaps between them.
func group(samples []Sample, size int) []Sample {
	if size <= 1 {
		return samples
	}
	joined := make([]Sample, 0, len(samples)/size+1)
	for from := 0; from < len(samples); from += size {
		to := min(from+size, len(samples))
		amount, seconds := total(samples, from, to)
		joined = append(joined, Sample{StartSeconds: samples[from].StartSeconds, EndSeconds: samples[to-1].EndSeconds, Rate: amount / seconds})
	}
	return joined
}
