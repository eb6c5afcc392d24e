package measure

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
)

// MaxInstant bounds the accepted instants in nanoseconds, on both sides of zero: the year 2116 for instants since
// 1970. The difference between any two instants then fits an int64.
const MaxInstant = int64(1)<<62 - 1

// Series holds the ordered samples of one client and returns what that client had completed at any instant. I/O
// inside a sample is assumed to be evenly spread. Nothing counts as completed between samples, before the first or
// after the last.
//
// The zero value is empty and ready to use. Do not append both to a copy and to its original.
type Series struct {
	samples []Sample
	// before[i] holds what was completed before samples[i]. It has one more element than samples: the total.
	before [][NumOperations]Counter
}

// NewSeries creates a series from samples, which must be in order of time and must not overlap.
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

// Append adds a sample at the end. It returns an error, and does not add the sample, if the sample ends before it
// starts, starts before its predecessor ends, or makes a sum overflow. If a sample starts and ends at the same
// instant, its counters count as completed at that instant.
func (s *Series) Append(sample Sample) error {
	if sample.EndNanoseconds < sample.StartNanoseconds {
		return fmt.Errorf("sample: the end at %d ns is before the start at %d ns", sample.EndNanoseconds, sample.StartNanoseconds)
	}
	if sample.StartNanoseconds < -MaxInstant || sample.EndNanoseconds > MaxInstant {
		return fmt.Errorf("sample: %d to %d ns is out of the range of time", sample.StartNanoseconds, sample.EndNanoseconds)
	}
	if last := len(s.samples) - 1; last >= 0 && sample.StartNanoseconds < s.samples[last].EndNanoseconds {
		return fmt.Errorf("sample: the start at %d ns is before the end of the previous sample at %d ns",
			sample.StartNanoseconds, s.samples[last].EndNanoseconds)
	}
	if len(s.before) == 0 {
		s.before = append(s.before, [NumOperations]Counter{})
	}
	sum := s.before[len(s.before)-1]
	for i, c := range sample.Counters {
		if c.Bytes > math.MaxUint64-sum[i].Bytes || c.Operations > math.MaxUint64-sum[i].Operations {
			return fmt.Errorf("sample: the sum of %v overflows 64 bits", Operation(i))
		}
		sum[i].Bytes += c.Bytes
		sum[i].Operations += c.Operations
	}
	s.samples = append(s.samples, sample)
	s.before = append(s.before, sum)
	return nil
}

// Len returns the number of samples.
func (s *Series) Len() int { return len(s.samples) }

// At returns the i-th sample.
func (s *Series) At(i int) Sample { return s.samples[i] }

// Total returns what was completed in all samples, including the warm-up.
func (s *Series) Total() [NumOperations]Counter {
	if len(s.before) == 0 {
		return [NumOperations]Counter{}
	}
	return s.before[len(s.before)-1]
}

// CountersAt returns what was completed up to an instant, including the warm-up. It never decreases with time. It is
// exact at the edges of samples and rounded down to whole bytes and operations inside them, so that differences over
// adjoining intervals add up exactly to the total.
func (s *Series) CountersAt(nanoseconds int64) [NumOperations]Counter {
	// The first sample that ends after the instant.
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
	length := uint64(current.EndNanoseconds - current.StartNanoseconds) // #nosec G115 -- greater than passed
	for operation, c := range current.Counters {
		done[operation].Bytes += scaled(c.Bytes, passed, length)
		done[operation].Operations += scaled(c.Operations, passed, length)
	}
	return done
}

// CountersIn returns what was completed inside a window, interpolated at its edges.
func (s *Series) CountersIn(window Window) [NumOperations]Counter {
	return subtract(s.CountersAt(window.EndNanoseconds), s.CountersAt(window.StartNanoseconds))
}

// Span returns the time from the start to the end of the client's measured I/O, without the warm-up. ok is false if
// there is none.
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

// CoveredNanoseconds returns how much of the window lies inside samples. The counters of the window lack what was
// completed in the rest.
func (s *Series) CoveredNanoseconds(window Window) int64 {
	var covered int64
	first := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].EndNanoseconds > window.StartNanoseconds })
	for i := first; i < len(s.samples) && s.samples[i].StartNanoseconds < window.EndNanoseconds; i++ {
		covered += min(s.samples[i].EndNanoseconds, window.EndNanoseconds) -
			max(s.samples[i].StartNanoseconds, window.StartNanoseconds)
	}
	return covered
}

// scaled returns value*part/whole, rounded down, for part < whole.
func scaled(value, part, whole uint64) uint64 {
	high, low := bits.Mul64(value, part)
	quotient, _ := bits.Div64(high, low, whole)
	return quotient
}

// subtract subtracts an earlier state of growing counters from a later one.
func subtract(later, earlier [NumOperations]Counter) [NumOperations]Counter {
	for i := range later {
		later[i].Bytes -= earlier[i].Bytes
		later[i].Operations -= earlier[i].Operations
	}
	return later
}
