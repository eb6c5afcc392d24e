package measure

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
)

// maxInstant bounds the instants that are accepted, in nanoseconds: about the year 2116
// where they count from 1970. The difference of any two then fits an int64.
const maxInstant = int64(1) << 62

// Series is the ordered samples of one client, and answers what that client had completed
// at any instant. Inside a sample I/O is taken as evenly spread. Between samples, before
// the first and after the last, nothing is known to have completed, so nothing is counted.
//
// The zero value is empty and ready to use. A copy must not be appended to together with
// its original.
type Series struct {
	samples []Sample
	// before[i] is what was completed before samples[i]; it has one more element, the sum.
	before [][NumOperations]Counter
}

// NewSeries makes a series of samples, which must be in order of time and not overlap.
func NewSeries(samples []Sample) (*Series, error) {
	series := &Series{
		samples: make([]Sample, 0, len(samples)),
		before:  make([][NumOperations]Counter, 0, len(samples)+1),
	}
	for _, sample := range samples {
		if err := series.Append(sample); err != nil {
			return nil, err
		}
	}
	return series, nil
}

// Append adds a sample after the others. A sample that ends before it starts, that starts
// before its predecessor ends, or that makes a sum overflow is an error, and is not added.
// A sample that starts and ends at one instant is a step at that instant.
func (s *Series) Append(sample Sample) error {
	if sample.EndNanoseconds < sample.StartNanoseconds {
		return fmt.Errorf("sample: it ends at %d ns, before its start at %d ns", sample.EndNanoseconds, sample.StartNanoseconds)
	}
	if sample.StartNanoseconds < -maxInstant || sample.EndNanoseconds > maxInstant {
		return fmt.Errorf("sample: %d to %d ns is out of the range of time", sample.StartNanoseconds, sample.EndNanoseconds)
	}
	if last := len(s.samples) - 1; last >= 0 && sample.StartNanoseconds < s.samples[last].EndNanoseconds {
		return fmt.Errorf("sample: it starts at %d ns, before the end of its predecessor at %d ns",
			sample.StartNanoseconds, s.samples[last].EndNanoseconds)
	}
	if len(s.before) == 0 {
		s.before = append(s.before, [NumOperations]Counter{})
	}
	sum := s.before[len(s.before)-1]
	for i, c := range sample.Counters {
		if c.Bytes > math.MaxUint64-sum[i].Bytes || c.Operations > math.MaxUint64-sum[i].Operations {
			return fmt.Errorf("sample: the sum of %v does not fit 64 bits", Operation(i))
		}
		sum[i].Bytes += c.Bytes
		sum[i].Operations += c.Operations
	}
	s.samples = append(s.samples, sample)
	s.before = append(s.before, sum)
	return nil
}

// Len is the number of samples.
func (s *Series) Len() int { return len(s.samples) }

// At gives the i-th sample.
func (s *Series) At(i int) Sample { return s.samples[i] }

// Total is what was completed in all samples, the warm-up included.
func (s *Series) Total() [NumOperations]Counter {
	if len(s.before) == 0 {
		return [NumOperations]Counter{}
	}
	return s.before[len(s.before)-1]
}

// CountersAt gives what was completed up to an instant, the warm-up included. It never
// decreases with time, is exact at the edges of samples, and is rounded down to whole
// bytes and operations inside of them, so differences over adjoining intervals add up to
// the total exactly.
func (s *Series) CountersAt(nanoseconds int64) [NumOperations]Counter {
	// The first sample that is not wholly in the past.
	i := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].EndNanoseconds > nanoseconds })
	if len(s.before) == 0 {
		return [NumOperations]Counter{}
	}
	done := s.before[i]
	if i == len(s.samples) || nanoseconds <= s.samples[i].StartNanoseconds {
		return done
	}
	current := &s.samples[i]
	passed := uint64(nanoseconds - current.StartNanoseconds)            // #nosec G115 -- positive, see above
	length := uint64(current.EndNanoseconds - current.StartNanoseconds) // #nosec G115 -- over passed
	for operation, c := range current.Counters {
		done[operation].Bytes += scaled(c.Bytes, passed, length)
		done[operation].Operations += scaled(c.Operations, passed, length)
	}
	return done
}

// BytesAt gives the bytes of all operations that were completed up to an instant, as
// CountersAt does, or the greatest uint64 where the sum does not fit.
func (s *Series) BytesAt(nanoseconds int64) uint64 {
	var sum uint64
	for _, c := range s.CountersAt(nanoseconds) {
		sum = saturatingAdd(sum, c.Bytes)
	}
	return sum
}

// CountersIn gives what was completed inside a window, edges interpolated.
func (s *Series) CountersIn(window Window) [NumOperations]Counter {
	return minus(s.CountersAt(window.EndNanoseconds), s.CountersAt(window.StartNanoseconds))
}

// Span is the time from start to end of the client's measured I/O, without the warm-up.
// ok is false when there is none.
func (s *Series) Span() (span ClientSpan, ok bool) {
	for i := range s.samples {
		if s.samples[i].WarmUp {
			continue
		}
		if !ok {
			span.StartNanoseconds, ok = s.samples[i].StartNanoseconds, true
		}
		span.EndNanoseconds = s.samples[i].EndNanoseconds
	}
	return span, ok
}

// CoveredNanoseconds is how much of the window lies inside of samples. What is missing was
// lost on the way, and the counters of the window are too low by it.
func (s *Series) CoveredNanoseconds(window Window) int64 {
	var covered int64
	first := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].EndNanoseconds > window.StartNanoseconds })
	for i := first; i < len(s.samples) && s.samples[i].StartNanoseconds < window.EndNanoseconds; i++ {
		covered += min(s.samples[i].EndNanoseconds, window.EndNanoseconds) -
			max(s.samples[i].StartNanoseconds, window.StartNanoseconds)
	}
	return covered
}

// scaled gives value*part/whole, rounded down, for part < whole.
func scaled(value, part, whole uint64) uint64 {
	high, low := bits.Mul64(value, part)
	quotient, _ := bits.Div64(high, low, whole)
	return quotient
}

// minus subtracts an earlier state of growing counters from a later one.
func minus(later, earlier [NumOperations]Counter) [NumOperations]Counter {
	for i := range later {
		later[i].Bytes -= earlier[i].Bytes
		later[i].Operations -= earlier[i].Operations
	}
	return later
}
