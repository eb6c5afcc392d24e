package fio

import (
	"math"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/internal/measure"
)

// placing is what a dump is good for.
type placing int

const (
	// placeEnd: it ends a sample.
	placeEnd placing = iota
	// placeUnusable: its figures are those of different epochs.
	placeUnusable
	// placeImpossible: a total went down that can not.
	placeImpossible
)

func pointOf(snapshot *Snapshot) *point {
	next := &point{written: snapshot.TimestampMilliseconds, whenWritten: countsWhenWritten(snapshot.Version)}
	next.jobRuntime = int64(min(snapshot.JobRuntimeMilliseconds, math.MaxInt64)) // #nosec G115 -- bounded
	for i := range snapshot.Operations {
		next.issued[i] = snapshot.Operations[i].Operations
		next.counters[i] = completed(&snapshot.Operations[i], measure.Operation(i))
		next.bins[i] = snapshot.Operations[i].Total.Histogram
		next.runtime = max(next.runtime, snapshot.Operations[i].RuntimeMilliseconds)
	}
	return next
}

// completed is what was completed. fio's total_ios are the operations that it has issued, a queue ahead of
// those; each that is completed has a latency. In the ramp there are no latencies.
func completed(total *OperationTotal, operation measure.Operation) measure.Counter {
	counter := total.Counter
	switch {
	case operation == measure.Sync:
	case total.Total.Count > 0:
		counter.Operations = min(total.Total.Count, counter.Operations)
	case total.Bytes == 0:
		counter.Operations = 0
	}
	return counter
}

// countsWhenWritten tells the versions that read the byte counters after the wait for the
// jobs: 3.42 and later.
func countsWhenWritten(version string) bool {
	number, _, _ := strings.Cut(strings.TrimPrefix(version, "fio-"), "-")
	parts := strings.SplitN(number, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && (major > 3 || major == 3 && minor >= 42)
}

// place finds the epoch of a dump.
//
// What marks the end of the ramp is not only a total that went down: with a ramp shorter than
// the interval between dumps nothing does. fio records no latency in the ramp, so the first
// one that is there tells.
func (s *Sampler) place(next *point, snapshot *Snapshot) placing {
	last := s.held
	if last == nil {
		last = s.base
	}
	fell := last != nil && next.fellBelow(last)
	if s.options.WarmUp > 0 && (s.live == nil || s.live.warm) {
		if fell || snapshot.measured() {
			return s.placeAfterRamp(next)
		}
		if s.live == nil {
			if next.runtime <= 0 {
				// Of the first instant of the ramp, or of what is measured: nobody can tell.
				return placeUnusable
			}
			s.live = &epoch{origin: next.written - next.runtime, warm: true}
			s.ramp = s.live
		}
	}
	switch {
	case s.live == nil:
		s.live = &epoch{origin: next.written - next.runtime}
	case fell:
		return placeImpossible
	}
	next.epoch = s.live
	s.live.origin = min(s.live.origin, next.written-next.runtime)
	return placeEnd
}

// placeAfterRamp handles the dumps from the first on that shows something of the measured
// part, until one shows nothing else.
func (s *Sampler) placeAfterRamp(next *point) placing {
	if next.runtime <= 0 {
		// Asked for in the ramp and written after it, with totals of neither.
		return placeUnusable
	}
	measured := &epoch{origin: next.written - next.runtime}
	if s.ramp != nil {
		ramp := s.options.WarmUp.Milliseconds()
		earliest := s.ramp.origin + ramp
		if measured.origin < earliest-min(lateMilliseconds, ramp/4) {
			// The longest runtime is that of a job which is still in its ramp.
			return placeUnusable
		}
	}
	s.live, next.epoch = measured, measured
	return placeEnd
}

// dropMixed forgets the dump that began what is measured when the next one shows that some jobs were still in their
// ramp then, so that it added up figures of both. Jobs begin some time apart, on a busy machine by much of a
// second, and each forgets its ramp by itself: a job that has done so since has as much less runtime than it would have.
func (s *Sampler) dropMixed(next *point) {
	first := s.first
	s.first = nil
	if first == nil || first != s.held {
		return
	}
	jobs, ramp := int64(s.options.Jobs), s.options.WarmUp.Milliseconds()
	missing := jobs*(next.written-first.written) - (next.jobRuntime - first.jobRuntime)
	if missing > max(ramp/2, jobs*runtimeMilliseconds) {
		s.held, s.live = nil, nil
	}
}

// runtimeMilliseconds is how exact the runtime of a job is.
const runtimeMilliseconds = 2

// fellBelow tells a total that went down.
func (p *point) fellBelow(earlier *point) bool {
	for i, counter := range p.counters {
		if counter.Bytes < earlier.counters[i].Bytes || counter.Operations < earlier.counters[i].Operations {
			return true
		}
		if _, err := p.bins[i].Sub(&earlier.bins[i]); err != nil {
			return true
		}
	}
	return false
}
