package fio

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/internal/measure"
)

// placing describes how the sampler can use a dump.
type placing int

const (
	// placeEnd means that the dump ends a sample.
	placeEnd placing = iota
	// placeUnusable means that the dump mixes figures of the warm-up and of the measured part, or that it is unknown which
	// of the two parts its figures are from.
	placeUnusable
	// placeImpossible means that a total decreased, although fio resets its totals only at the end of the warm-up.
	placeImpossible
)

func (s *Sampler) pointOf(snapshot *Snapshot) *point {
	next := &point{written: snapshot.TimestampMilliseconds, whenWritten: countsWhenWritten(snapshot.Version)}
	next.jobRuntime = int64(min(snapshot.JobRuntimeMilliseconds, math.MaxInt64)) // #nosec G115 -- bounded
	for i := range snapshot.Operations {
		next.issued[i] = snapshot.Operations[i].Operations
		next.counters[i] = s.completed(&snapshot.Operations[i], measure.Operation(i))
		next.bins[i] = snapshot.Operations[i].Total.Histogram
		next.runtime = max(next.runtime, snapshot.Operations[i].RuntimeMilliseconds)
	}
	return next
}

// completed returns the completed bytes and operations. fio's total_ios is the number of issued operations. It includes
// operations in flight and, after a warm-up, excludes operations that were in flight at the end of the warm-up (in one
// test with 32 in flight, total_ios was 306 after 337 operations). Each completed operation has a latency, so the
// number of latencies is used instead. This number is limited to the maximum that the issued operations allow, because
// fio may stall between reading the two counters. During the warm-up fio records no latencies, so the number of issued
// operations is used as soon as any bytes were moved.
func (s *Sampler) completed(total *OperationTotal, operation measure.Operation) measure.Counter {
	counter := total.Counter
	switch {
	case operation == measure.Sync:
	case total.Total.Count > 0:
		counter.Operations = min(total.Total.Count, measure.Sum(counter.Operations, s.mostUncounted()))
	case total.Bytes == 0:
		counter.Operations = 0
	}
	return counter
}

// mostUncounted returns the maximum number of operations that were issued during the warm-up and completed after it.
func (s *Sampler) mostUncounted() uint64 {
	switch {
	case s.options.WarmUp == 0:
		return 0
	case s.options.Outstanding == 0:
		return math.MaxUint64
	}
	return s.options.Outstanding
}

// countsWhenWritten reports whether a version of fio reads the byte counters only when it writes a dump, after it has
// waited for the jobs. This applies to 3.42 and later.
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

// place assigns a dump to an epoch: the warm-up or the measured part.
//
// The warm-up has ended if a total decreases. If the warm-up is shorter than the interval between dumps, no total
// decreases. So place also detects the end of the warm-up by the first recorded latency, because fio records none
// during the warm-up.
func (s *Sampler) place(next *point, snapshot *Snapshot) placing {
	last := cmp.Or(s.held, s.base)
	fell := last != nil && next.fellBelow(last)
	if s.options.WarmUp > 0 && (s.live == nil || s.live.warm) {
		if fell || snapshot.measured() {
			return s.placeAfterRamp(next)
		}
		if s.live == nil {
			if next.runtime <= 0 {
				// The dump was requested at the very start of either the warm-up or the measured part. Its figures do not show
				// which of the two it belongs to.
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

// placeAfterRamp places a dump that includes measured figures. Dumps that also include figures of the warm-up are
// unusable.
func (s *Sampler) placeAfterRamp(next *point) placing {
	if next.runtime <= 0 {
		// The dump was requested during the warm-up and written after the warm-up, so its totals are neither those of the
		// warm-up nor those of the measured part.
		return placeUnusable
	}
	measured := &epoch{origin: next.written - next.runtime}
	if s.ramp != nil {
		ramp := s.options.WarmUp.Milliseconds()
		earliest := s.ramp.origin + ramp
		if measured.origin < earliest-min(lateMilliseconds, ramp/4) && next.runtime <= 2*ramp {
			// According to this dump, the measured part began before the warm-up ended. So the longest runtime belongs to a job
			// that was still in its warm-up, and the dump mixes figures of both parts. But if the runtime exceeds twice the
			// warm-up, no job can still be in its warm-up, and the dump is usable: the warm-up ended earlier than assumed,
			// because its dumps were late and its start was estimated too late.
			return placeUnusable
		}
	}
	s.live, next.epoch = measured, measured
	return placeEnd
}

// dropMixed drops the first dump of the measured part if the next dump shows that some jobs were still in their warm-up
// when the first one was written. The totals of the first dump then mix both parts. Jobs do not start at the same time
// (on a busy machine, their starts can differ by a large fraction of a second), and each job resets its own totals at
// the end of its warm-up. If a job's warm-up ends between the two dumps, its runtime increases by less than the time
// between the dumps, because it no longer includes the warm-up.
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

// runtimeMilliseconds is the precision of the runtime that fio prints for a job.
const runtimeMilliseconds = 2

// fellBelow reports whether any total of the dump is less than in an earlier dump.
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
