package fio

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// lateMilliseconds is the minimum delay for a dump to count as late. The delay is the time from fio's request for a
// dump until fio writes it. fio takes some figures at the time of the request and others at the time of the write. In a
// late dump, the difference between these times is too large to ignore.
const lateMilliseconds = 100

// ErrNoTimestamp means that a document cannot be sampled, because it has no timestamp_ms.
var ErrNoTimestamp = errors.New("the JSON document has no timestamp_ms")

// SamplerOptions describe the fio run whose dumps a Sampler reads.
type SamplerOptions struct {
	// WarmUp is the ramp_time of the job; 0 for none.
	WarmUp time.Duration
	// Jobs is the number of jobs in all sections, with numjobs applied; 0 counts as 1.
	Jobs int
	// Outstanding is the maximum number of operations in flight; 0 if unknown.
	Outstanding uint64
	// Duration is the time after the end of the warm-up during which jobs issue operations. It is 0 if jobs end when their
	// work is done. See loadEnd.
	Duration time.Duration
	// ToClock translates nanoseconds of the wall clock of fio's machine to the clock of the samples. It is applied to all
	// times that Add, Close and MeasuredSince return. If it is nil, times are not translated.
	ToClock func(wallNanoseconds int64) int64
}

// Delta holds the work done between two dumps.
type Delta struct {
	// Sample contains the start and the end of its interval. Sample.WarmUp is true if the interval lies within the
	// warm-up. There is a gap between the last warm-up sample and the first measured sample, because fio discards the
	// figures from that time.
	Sample measure.Sample
	// Histograms count the latencies of the completed operations. They are empty during the warm-up, because fio does not
	// record latencies then.
	Histograms [measure.NumOperations]measure.Histogram
	// LateMilliseconds is the time that the dump at the sample's end waited for a job to return from an I/O call. The
	// operations of a late dump are divided between this sample and the next in proportion to time. The bytes are exact
	// and are not divided.
	LateMilliseconds int64
}

// Sampler turns the running totals of --status-interval into deltas.
//
// A sample is returned only after the next dump, because that dump shows how late the previous one was. Close returns
// the remaining samples. The final document must be added like the dumps, before Close is called.
type Sampler struct {
	options SamplerOptions
	live    *epoch
	ramp    *epoch
	// held is the newest dump. The sample that ends with it has not been returned yet. base is the dump at the end of the
	// last returned sample. If base is nil, the sample that ends with held starts from totals of zero.
	held *point
	base *point
	// first is the first dump of the measured part after a warm-up. It is nil until that dump arrives, and again after
	// dropMixed has checked the dump.
	first *point
	// end and ended are the time and the totals at the end of the last returned sample.
	end   int64
	ended [measure.NumOperations]measure.Counter
	// loaded is the newest dump that was written under load. stopped is the time at which the load was stopped early,
	// in milliseconds on the wall clock, or 0 if the load was not stopped. See loadEnd.
	loaded  *point
	stopped atomic.Int64
}

// epoch is a period in which fio does not reset its totals: the warm-up, or the measured part. It is unrelated to the
// epoch of an operator.
type epoch struct {
	// origin is the time at which the epoch's first job began: the minimum of timestamp - runtime over all dumps,
	// because the delay of a late dump only increases this difference.
	origin int64
	warm   bool
}

// point holds the figures of a dump. Times are in milliseconds, on the wall clock of fio's machine.
type point struct {
	epoch   *epoch
	written int64
	runtime int64
	// jobRuntime is the sum of the runtimes of all jobs. The field runtime is the longest runtime of any job.
	jobRuntime int64
	// counters holds the completed bytes and operations; issued is the number of operations issued.
	counters [measure.NumOperations]measure.Counter
	issued   [measure.NumOperations]uint64
	bins     [measure.NumOperations]measure.Histogram
	// whenWritten is true if bytes were counted when the dump was written rather than when it was requested.
	whenWritten bool
}

// NewSampler returns a Sampler for one run.
func NewSampler(options SamplerOptions) *Sampler {
	options.Jobs = max(options.Jobs, 1)
	if options.ToClock == nil {
		options.ToClock = func(wall int64) int64 { return wall }
	}
	return &Sampler{options: options}
}

// Add processes the next document and returns the samples that this document completes, usually one.
//
// An error that wraps measure.ErrCounterReset means that a total decreased (fio was replaced, or its figures are
// wrong). After such an error, and also if the wall clock was set back, sampling resumes with this document, and no
// sample covers the time since the previous dump.
func (s *Sampler) Add(document *Document) ([]Delta, error) {
	if document.TimestampMilliseconds == 0 {
		return nil, ErrNoTimestamp
	}
	snapshot, err := document.Snapshot()
	if err != nil {
		return nil, err
	}
	next := s.pointOf(&snapshot)
	if s.held != nil && next.written < s.held.written {
		back := s.held.written - next.written
		return s.restart(next), fmt.Errorf("the wall clock went back by %d ms between two dumps", back)
	}
	before := s.live
	s.dropMixed(next)
	switch s.place(next, &snapshot) {
	case placeEnd:
	case placeUnusable:
		return nil, nil
	case placeImpossible:
		return s.restart(next), fmt.Errorf("fio's dump at %d ms: %w", next.written, measure.ErrCounterReset)
	}
	deltas := s.release(false)
	if end := s.loadEnd(next.epoch); end == 0 || next.written <= end {
		s.loaded = next
	}
	if s.live != before {
		s.base = nil
		s.ended = [measure.NumOperations]measure.Counter{}
		if s.options.WarmUp > 0 && !s.live.warm {
			s.first = next
		}
	}
	s.held = next
	return deltas, nil
}

// Close returns the remaining samples. Add must not be called afterwards.
func (s *Sampler) Close() []Delta { return s.release(true) }

// restart returns the complete samples and restarts sampling at the given dump.
func (s *Sampler) restart(next *point) []Delta {
	deltas := s.release(true)
	s.live = &epoch{origin: next.written - max(next.runtime, 0)}
	next.epoch = s.live
	s.base, s.held = next, nil
	s.end, s.ended = next.written, next.counters
	return deltas
}

// MeasuredSince estimates when the measured part began: at the end of the warm-up or, without a warm-up, at the first
// I/O. ok is false before the first dump of the measured part.
func (s *Sampler) MeasuredSince() (nanoseconds int64, ok bool) {
	if s.live == nil || s.live.warm {
		return 0, false
	}
	return s.clock(s.live.origin), true
}

func (s *Sampler) clock(milliseconds int64) int64 { return s.options.ToClock(milliseconds * 1e6) }

// release returns the sample that ends with the newest dump, unless its length is 0. The last sample gets all remaining
// operations.
func (s *Sampler) release(last bool) []Delta {
	held := s.held
	if held == nil {
		return nil
	}
	start := s.end
	if s.base == nil {
		start = max(held.epoch.origin, s.end)
	}
	end := held.counted(s.base, s.options.Jobs, last)
	if s.live != held.epoch {
		end = min(end, s.live.origin)
	}
	s.held = nil
	if end <= start {
		if !last || s.live != held.epoch || held.counters == s.ended {
			// No time has passed since the start of this sample, so do not return it. The next sample includes its
			// figures.
			return nil
		}
		// No sample follows, so this sample gets a length of 1 ms. This happens if fio is stopped with operations in
		// flight: fio writes the last dump only when all of these operations are complete, but the dump does not count
		// them, and fio ends within the same millisecond.
		end = start + 1
	}
	counters := held.counters
	late := held.written - end
	if late >= lateMilliseconds && !last {
		counters = held.alignedTo(end, s.base, start)
	}
	delta := Delta{LateMilliseconds: late, Sample: measure.Sample{
		StartNanoseconds: s.clock(start), EndNanoseconds: s.clock(end), WarmUp: held.epoch.warm,
	}}
	for i := range counters {
		delta.Histograms[i] = held.bins[i]
		if s.base != nil {
			// Sub fails only if a bin decreased, and the method place has checked that none did.
			delta.Histograms[i], _ = held.bins[i].Sub(&s.base.bins[i])
		}
	}
	var deltas []Delta
	if at := s.loadEnd(held.epoch); at > start && at < end {
		// Split the sample in two: the operations that completed under load, and those in flight at the load's end.
		if loaded, known := s.atLoadEnd(held, counters); known {
			first := Delta{Histograms: delta.Histograms, Sample: measure.Sample{
				StartNanoseconds: s.clock(start), EndNanoseconds: s.clock(at), Counters: between(s.ended, loaded)}}
			deltas = append(deltas, first)
			delta.Histograms, delta.Sample.StartNanoseconds = [measure.NumOperations]measure.Histogram{}, first.Sample.EndNanoseconds
			s.ended = loaded
		}
	}
	delta.Sample.Counters = between(s.ended, counters)
	s.base, s.end, s.ended = held, end, counters
	return append(deltas, delta)
}

func between(before, after [measure.NumOperations]measure.Counter) (difference [measure.NumOperations]measure.Counter) {
	for i := range after {
		difference[i] = measure.Counter{
			Bytes:      after[i].Bytes - before[i].Bytes,
			Operations: after[i].Operations - before[i].Operations,
		}
	}
	return difference
}

// counted returns the instant at which the bytes in a dump were counted. For the last document, which is not a dump but
// the result, this is the end of the runtime.
func (p *point) counted(base *point, jobs int, last bool) int64 {
	if p.whenWritten && !last || p.runtime <= 0 {
		return p.written
	}
	asked := min(p.epoch.origin+p.runtime, p.written)
	if base == nil || base.epoch != p.epoch {
		return asked
	}
	longest, mean := p.runtime-base.runtime, (p.jobRuntime-base.jobRuntime)/int64(jobs)
	if max(longest, mean)-min(longest, mean) > lateMilliseconds/2 {
		// The job with the longest runtime has ended. Its runtime no longer increases, so it cannot show when fio requested
		// the dump.
		return p.written
	}
	// fio requests a dump only after it has written the previous one, so the estimate must not be earlier than that write.
	return max(asked, base.written)
}

// alignedTo returns the totals at end, the instant when the dump's bytes were counted. The operations were counted
// later, when the dump was written, so their number at end is interpolated linearly.
func (p *point) alignedTo(end int64, base *point, start int64) [measure.NumOperations]measure.Counter {
	from, before := start, [measure.NumOperations]measure.Counter{}
	if base != nil {
		from, before = base.written, base.counters
	}
	aligned := p.counters
	if p.written <= from || end < from {
		return aligned
	}
	part, whole := uint64(end-from), uint64(p.written-from) // #nosec G115 -- checked above
	for i := range aligned {
		high, low := bits.Mul64(p.counters[i].Operations-before[i].Operations, part)
		share, _ := bits.Div64(high, low, whole) // part <= whole, so the quotient fits in 64 bits
		aligned[i].Operations = before[i].Operations + share
	}
	return aligned
}
