package fio

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// lateMilliseconds is the wait from which on a dump counts as late: what it counted when it
// was asked for and what it counted when it was written are then apart.
const lateMilliseconds = 100

// ErrNoTimestamp is given for a document without timestamp_ms, which can not be sampled.
var ErrNoTimestamp = errors.New("the document has no timestamp_ms, so its figures belong to no instant")

// SamplerOptions say what a run is like.
type SamplerOptions struct {
	// WarmUp is the ramp_time of the job; 0 for none.
	WarmUp time.Duration
	// Jobs is the number of jobs after numjobs, over all sections; 0 counts as 1.
	Jobs int
	// Outstanding is how many operations the jobs may have in flight at once; 0 where nobody knows.
	Outstanding uint64
	// Duration after which jobs begin nothing more, from the end of the ramp; 0 where they end with
	// their work. See loadEnd.
	Duration time.Duration
	// ToClock translates nanoseconds of the wall clock of fio's machine to the clock of the
	// samples. It is called for each sample when that is given. nil leaves them as they are.
	ToClock func(wallNanoseconds int64) int64
}

// Delta is what happened between two dumps.
type Delta struct {
	// Sample has its own start and end. It is WarmUp when it lies in the ramp. Between the
	// last warm-up sample and the first other there is a gap: fio forgets what it did there.
	Sample measure.Sample
	// Histograms count the latencies of the operations that completed; empty in the ramp, of
	// which fio records none.
	Histograms [measure.NumOperations]measure.Histogram
	// LateMilliseconds is how long the dump at the sample's end waited for a job that was
	// inside an I/O. Then operations are shared out by time between this sample and the next;
	// bytes are exact.
	LateMilliseconds int64
}

// Sampler turns the running totals of --status-interval into deltas.
//
// A sample is given one dump late, because only the next dump tells how late the last one
// was. Close gives the rest. The final document is added like the others.
type Sampler struct {
	options SamplerOptions
	live    *epoch
	ramp    *epoch
	// held is the newest dump, whose sample is not given yet; base is the one before, the
	// totals at the end of the last sample given, nil for zero.
	held *point
	base *point
	// first is the newest dump that began what is measured, after a ramp; see dropMixed.
	first *point
	// end and ended are the end of the last sample given and its totals.
	end   int64
	ended [measure.NumOperations]measure.Counter
	// loaded is the newest dump that was written under load, and stopped when the load was ended
	// before its time, in milliseconds of the wall clock; see loadEnd.
	loaded  *point
	stopped atomic.Int64
}

// epoch is a time in which fio counts without a reset: the ramp, or what is measured.
type epoch struct {
	// origin is when its first job began: the least timestamp - runtime of any dump, because a
	// late dump gives a later instant, never an earlier one.
	origin int64
	warm   bool
}

// point is a dump. Times are milliseconds of the wall clock of fio's machine.
type point struct {
	epoch   *epoch
	written int64
	runtime int64
	// jobRuntime is the sum over all jobs, runtime that of the longest.
	jobRuntime int64
	// counters are what was completed, issued the operations that were begun.
	counters [measure.NumOperations]measure.Counter
	issued   [measure.NumOperations]uint64
	bins     [measure.NumOperations]measure.Histogram
	// whenWritten tells that bytes were counted when the dump was written and not when it was
	// asked for.
	whenWritten bool
}

// NewSampler makes a Sampler for one run.
func NewSampler(options SamplerOptions) *Sampler {
	options.Jobs = max(options.Jobs, 1)
	if options.ToClock == nil {
		options.ToClock = func(wall int64) int64 { return wall }
	}
	return &Sampler{options: options}
}

// Add takes the next document and gives the samples that it completes: mostly one.
//
// An error that wraps measure.ErrCounterReset means that a total went down where none can
// (fio was replaced, or lies). Then, and when the wall clock went back, what happened since
// the dump before is in no sample, and sampling goes on from this document.
func (s *Sampler) Add(document *Document) ([]Delta, error) {
	if document.TimestampMilliseconds == 0 {
		return nil, ErrNoTimestamp
	}
	snapshot, err := document.Snapshot()
	if err != nil {
		return nil, err
	}
	next := pointOf(&snapshot)
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
		return s.restart(next), fmt.Errorf("dump of fio at %d ms: %w", next.written, measure.ErrCounterReset)
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

// Close gives the last sample. Add must not be called after it.
func (s *Sampler) Close() []Delta { return s.release(true) }

// restart gives what is known and begins anew at a dump.
func (s *Sampler) restart(next *point) []Delta {
	deltas := s.release(true)
	s.live = &epoch{origin: next.written - max(next.runtime, 0)}
	next.epoch = s.live
	s.base, s.held = next, nil
	s.end, s.ended = next.written, next.counters
	return deltas
}

// FirstIO estimates the instant of the first I/O, in the ramp when there is one. It gets
// better with each dump; ok is false while nothing is known.
func (s *Sampler) FirstIO() (nanoseconds int64, ok bool) {
	switch {
	case s.ramp != nil:
		return s.clock(s.ramp.origin), true
	case s.live == nil:
		return 0, false
	}
	// No dump fell into the ramp.
	return s.clock(s.live.origin - s.options.WarmUp.Milliseconds()), true
}

// MeasuredSince estimates when the measured part began: the first I/O, or the end of the
// ramp. ok is false before the first dump of the measured part.
func (s *Sampler) MeasuredSince() (nanoseconds int64, ok bool) {
	if s.live == nil || s.live.warm {
		return 0, false
	}
	return s.clock(s.live.origin), true
}

func (s *Sampler) clock(milliseconds int64) int64 { return s.options.ToClock(milliseconds * 1e6) }

// release gives the sample that ends with the held dump, if it has any length. The last one
// takes all operations that are left.
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
			// Too short to say anything: its figures go to the next sample.
			return nil
		}
		// There is no next one. A stop behind a queue can end so: the last dump waits for all that was in
		// flight, has counted none of it, and fio ends in the millisecond in which it is written.
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
			// place has proven that no bin went down.
			delta.Histograms[i], _ = held.bins[i].Sub(&s.base.bins[i])
		}
	}
	var deltas []Delta
	if at := s.loadEnd(held.epoch); at > start && at < end {
		// What was completed in the load, and what was in flight at its end, are two samples.
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

// counted gives the instant at which a dump's bytes were counted. The last document is no
// dump: its bytes are those at the end of the runtime.
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
		// The job with the longest runtime has ended; it tells nothing of the others any more.
		return p.written
	}
	// fio asks for a dump only after the last one was written.
	return max(asked, base.written)
}

// alignedTo gives the totals with the operations, which were counted when the dump was
// written, moved back in proportion to the instant at which the bytes were.
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
		share, _ := bits.Div64(high, low, whole) // part <= whole, so it fits
		aligned[i].Operations = before[i].Operations + share
	}
	return aligned
}
