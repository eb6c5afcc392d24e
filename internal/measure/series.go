package measure

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"sort"
	"unsafe"
)

// MaxInstant is the latest accepted instant in nanoseconds, and -MaxInstant is the earliest. If instants are counted
// from 1970, MaxInstant is in the year 2116. The difference between any two accepted instants fits in an int64.
const MaxInstant = int64(1)<<62 - 1

// Series holds the ordered samples of one client and computes the I/O that the client had completed by any instant. I/O
// inside a sample is assumed to be evenly spread. No I/O counts as completed between samples, before the first or after
// the last.
//
// The zero value is empty and ready to use. Do not append both to a copy and to its original.
type Series struct {
	edges []edges
	// end is the instant at which Until has cut off the last sample. It is set only if cut is true.
	end int64
	cut bool
	// before[operation][i] holds the I/O completed before sample i. It has one more element than edges: the last is the
	// total. before[operation] is nil for an operation that occurs in no sample. This saves memory, because most series
	// have only one or two operations.
	before [NumOperations][]Counter
}

// edges holds a sample's start and end, without its counters.
type edges struct {
	StartNanoseconds, EndNanoseconds int64
	WarmUp                           bool
}

// SeriesBytes returns the memory, in bytes, of a series with the given number of samples that contain the given number
// of different operations.
func SeriesBytes(samples, operations int) int {
	return samples * (int(unsafe.Sizeof(edges{})) + operations*int(unsafe.Sizeof(Counter{})))
}

// NewSeries creates a series from samples, which must be in order of time and must not overlap. capacity is the
// expected number of samples; more are possible.
func NewSeries(capacity int, samples iter.Seq[Sample]) (*Series, error) {
	series := &Series{edges: make([]edges, 0, capacity)}
	for sample := range samples {
		if err := series.Append(sample); err != nil {
			return nil, err
		}
	}
	return series, nil
}

// Append adds a sample at the end. It returns an error, and does not add the sample, if the sample ends before it
// starts, starts before its predecessor ends, or makes a sum overflow. If a sample starts and ends at the same
// instant, its counters count as completed at that instant. Do not append to a series that Until has cut.
func (s *Series) Append(sample Sample) error {
	if sample.EndNanoseconds < sample.StartNanoseconds {
		return fmt.Errorf("sample: the end at %d ns is before the start at %d ns", sample.EndNanoseconds, sample.StartNanoseconds)
	}
	if sample.StartNanoseconds < -MaxInstant || sample.EndNanoseconds > MaxInstant {
		return fmt.Errorf("sample: the interval from %d to %d ns is out of range", sample.StartNanoseconds, sample.EndNanoseconds)
	}
	if last := len(s.edges) - 1; last >= 0 && sample.StartNanoseconds < s.edges[last].EndNanoseconds {
		return fmt.Errorf("sample: the start at %d ns is before the end of the previous sample at %d ns",
			sample.StartNanoseconds, s.edges[last].EndNanoseconds)
	}
	sum := s.Total()
	for i, c := range sample.Counters {
		if c.Bytes > math.MaxUint64-sum[i].Bytes || c.Operations > math.MaxUint64-sum[i].Operations {
			return fmt.Errorf("sample: the sum of %v overflows 64 bits", Operation(i))
		}
		sum[i].Bytes += c.Bytes
		sum[i].Operations += c.Operations
	}
	for i := range s.before {
		switch {
		case s.before[i] != nil:
		case sum[i] == (Counter{}):
			continue
		default:
			s.before[i] = make([]Counter, len(s.edges)+1, max(cap(s.edges), len(s.edges)+1)+1)
		}
		s.before[i] = append(s.before[i], sum[i])
	}
	s.edges = append(s.edges, edges{sample.StartNanoseconds, sample.EndNanoseconds, sample.WarmUp})
	return nil
}

// Until returns the part of the series up to an instant, without copying samples. If a sample ends later, only its
// share up to the instant counts.
func (s *Series) Until(nanoseconds int64) *Series {
	i := s.firstAfter(nanoseconds)
	if i == len(s.edges) {
		return s
	}
	part := &Series{end: nanoseconds, cut: s.edges[i].StartNanoseconds < nanoseconds}
	if part.cut {
		i++
	}
	part.edges = s.edges[:i:i]
	for operation, before := range s.before {
		if before != nil {
			part.before[operation] = before[: i+1 : i+1]
		}
	}
	return part
}

// firstAfter returns the index of the first sample that ends after an instant.
func (s *Series) firstAfter(nanoseconds int64) int {
	if s.cut && nanoseconds >= s.end {
		return len(s.edges)
	}
	return sort.Search(len(s.edges), func(i int) bool { return s.edges[i].EndNanoseconds > nanoseconds })
}

// endOf returns the end of the i-th sample.
func (s *Series) endOf(i int) int64 {
	if s.cut {
		return min(s.edges[i].EndNanoseconds, s.end)
	}
	return s.edges[i].EndNanoseconds
}

// Len returns the number of samples.
func (s *Series) Len() int { return len(s.edges) }

// At returns the i-th sample.
func (s *Series) At(i int) Sample {
	sample := Sample{StartNanoseconds: s.edges[i].StartNanoseconds, EndNanoseconds: s.endOf(i), WarmUp: s.edges[i].WarmUp}
	if s.cut && i == len(s.edges)-1 {
		sample.Counters = s.CountersIn(Window{StartNanoseconds: sample.StartNanoseconds, EndNanoseconds: s.end})
		return sample
	}
	for operation, before := range s.before {
		if before != nil {
			sample.Counters[operation] = Counter{before[i+1].Bytes - before[i].Bytes, before[i+1].Operations - before[i].Operations}
		}
	}
	return sample
}

// Total returns the I/O completed in all samples, including the warm-up.
func (s *Series) Total() (total [NumOperations]Counter) {
	if s.cut {
		return s.CountersAt(s.end)
	}
	for operation, before := range s.before {
		if before != nil {
			total[operation] = before[len(before)-1]
		}
	}
	return total
}

// CountersAt returns the I/O completed up to an instant, including the warm-up. It never decreases with time. It is
// exact at the edges of samples and rounded down to whole bytes and operations inside them, so that differences over
// adjoining intervals add up exactly to the total.
func (s *Series) CountersAt(nanoseconds int64) (done [NumOperations]Counter) {
	if s.cut {
		nanoseconds = min(nanoseconds, s.end)
	}
	i := sort.Search(len(s.edges), func(i int) bool { return s.edges[i].EndNanoseconds > nanoseconds })
	inside := i < len(s.edges) && nanoseconds > s.edges[i].StartNanoseconds
	for operation, before := range s.before {
		if before == nil {
			continue
		}
		done[operation] = before[i]
		if inside {
			passed := uint64(nanoseconds - s.edges[i].StartNanoseconds)               // #nosec G115 -- positive, see above
			length := uint64(s.edges[i].EndNanoseconds - s.edges[i].StartNanoseconds) // #nosec G115 -- greater than passed
			done[operation].Bytes += scaled(before[i+1].Bytes-before[i].Bytes, passed, length)
			done[operation].Operations += scaled(before[i+1].Operations-before[i].Operations, passed, length)
		}
	}
	return done
}

// CountersIn returns the I/O completed inside a window, interpolated at its edges.
func (s *Series) CountersIn(window Window) [NumOperations]Counter {
	return subtract(s.CountersAt(window.EndNanoseconds), s.CountersAt(window.StartNanoseconds))
}

// Span returns the time from the start to the end of the client's measured I/O, without the warm-up. ok is false if
// there is none.
func (s *Series) Span() (span ClientSpan, ok bool) {
	for i := range s.edges {
		if s.edges[i].WarmUp {
			continue
		}
		if !ok {
			span.StartNanoseconds, ok = s.edges[i].StartNanoseconds, true
		}
		span.EndNanoseconds = s.endOf(i)
	}
	return span, ok
}

// CoveredNanoseconds returns how much of the window lies inside samples. I/O during the uncovered part of the window
// was not recorded, so CountersIn does not include it.
func (s *Series) CoveredNanoseconds(window Window) int64 {
	var covered int64
	for i := s.firstAfter(window.StartNanoseconds); i < len(s.edges) && s.edges[i].StartNanoseconds < window.EndNanoseconds; i++ {
		covered += min(s.endOf(i), window.EndNanoseconds) -
			max(s.edges[i].StartNanoseconds, window.StartNanoseconds)
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
