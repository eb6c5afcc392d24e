package result

import (
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
)

// gridStep is the length of the samples in a sum over clients.
const gridStep = time.Second

// summed is the sum of all clients' I/O over time (see contributing), without the warm-up and the operations in flight
// at the end. The times of its samples are in seconds after start.
type summed struct {
	start             time.Time
	bytes, operations []detect.Sample
	// readShares holds the share of reads in the bytes of each sample.
	readShares []float64
}

// seconds converts an instant to seconds on the time axis of the samples.
func (s *summed) seconds(at time.Time) float64 { return at.Sub(s.start).Seconds() }

// of returns the samples of the byte rate or of the operation rate.
func (s *summed) of(d dimension) []detect.Sample {
	if d == inOperations {
		return s.operations
	}
	return s.bytes
}

// dimension is the unit of a bucket's credits: bytes or operations.
type dimension int

const (
	inBytes dimension = iota
	inOperations
)

// contributing returns the series of all clients whose I/O is included in summed.
func (b *builder) contributing() []*measure.Series { return slices.Concat(b.loaded, b.cutShort) }

// sumUp adds up the series of a target's clients. The sum starts with the first measured instant of any client and ends
// when the first client's load ends: after that, the rate falls only because fewer clients are running, which must not
// be taken for a drop of the store's rate. The I/O of a client that was lost in a drain is included up to its loss,
// where the sum then ends. ok is false if there are no samples.
//
// The samples of a single client are used unchanged. The samples of several clients are summed on a one-second grid; a
// second in which samples of a client are missing becomes a gap, because its sum would be too low.
func (b *builder) sumUp() (s summed, ok bool) {
	all := b.contributing()
	spans := make([]measure.ClientSpan, 0, len(all))
	var window measure.Window
	for i, one := range all {
		span, measured := one.Span()
		if !measured {
			return summed{}, false // cannot happen, because all clients in the sum measured something
		}
		spans = append(spans, span)
		if i == 0 {
			window = span
		}
		window.StartNanoseconds = min(window.StartNanoseconds, span.StartNanoseconds)
		window.EndNanoseconds = min(window.EndNanoseconds, span.EndNanoseconds)
	}
	if window.EndNanoseconds <= window.StartNanoseconds {
		return summed{}, false
	}
	s.start = time.Unix(0, window.StartNanoseconds).UTC()
	if len(all) == 1 {
		for i := range all[0].Len() {
			if sample := all[0].At(i); !sample.WarmUp {
				s.add(measure.Window{StartNanoseconds: sample.StartNanoseconds, EndNanoseconds: sample.EndNanoseconds}, sample.Counters)
			}
		}
		s.joinShortEnd()
		return s, len(s.bytes) > 0
	}
	grid, err := measure.SumOver(window, int64(gridStep), all...)
	if err != nil {
		return summed{}, false
	}
	for i := range grid.Cells {
		if cell := grid.CellWindow(i); complete(cell, all, spans) {
			s.add(cell, grid.Cells[i])
		}
	}
	if each := bytesPerOperation(all); each > 0 {
		// At the edges of a grid cell, each client's operations are rounded down to whole ones. On a store with few
		// operations per second, this error exceeds the noise in the bytes. Therefore, compute the operation rate from
		// the byte rate.
		for i := range s.operations {
			s.operations[i].Rate = s.bytes[i].Rate / each
		}
	}
	s.joinShortEnd()
	return s, len(s.bytes) > 0
}

// bytesPerOperation returns the size of the operations, or 0 if their sizes differ. It tolerates a deviation of one
// operation between the bytes and the operation count of a sample.
func bytesPerOperation(all []*measure.Series) float64 {
	var totals measure.Counter
	for _, one := range all {
		charged := measure.Charged(one.Total())
		totals.Bytes, totals.Operations = measure.Sum(totals.Bytes, charged.Bytes), measure.Sum(totals.Operations, charged.Operations)
	}
	if totals.Operations == 0 {
		return 0
	}
	each := math.Round(float64(totals.Bytes) / float64(totals.Operations))
	for _, one := range all {
		for i := range one.Len() {
			charged := measure.Charged(one.At(i).Counters)
			if math.Abs(float64(charged.Bytes)-each*float64(charged.Operations)) > each {
				return 0
			}
		}
	}
	return each
}

// joinShortEnd joins a short last sample to the preceding one. Loads do not end on whole seconds, so the last sample
// may be only milliseconds long. A single operation would then change its rate considerably.
func (s *summed) joinShortEnd() {
	for _, samples := range []*[]detect.Sample{&s.bytes, &s.operations} {
		count := len(*samples)
		if count < 2 {
			continue
		}
		before, last := &(*samples)[count-2], (*samples)[count-1]
		length := last.EndSeconds - last.StartSeconds
		if length >= gridStep.Seconds()/2 || last.StartSeconds-before.EndSeconds > length {
			continue
		}
		amount := before.Rate*(before.EndSeconds-before.StartSeconds) + last.Rate*length
		before.EndSeconds = last.EndSeconds
		before.Rate = amount / (before.EndSeconds - before.StartSeconds)
		*samples = (*samples)[:count-1]
	}
	s.readShares = s.readShares[:len(s.bytes)]
}

// add appends a sample unless its length is zero.
func (s *summed) add(window measure.Window, counters [measure.NumOperations]measure.Counter) {
	start, end := s.seconds(time.Unix(0, window.StartNanoseconds)), s.seconds(time.Unix(0, window.EndNanoseconds))
	if last := len(s.bytes) - 1; last >= 0 {
		start = max(start, s.bytes[last].EndSeconds)
	}
	if end <= start {
		return
	}
	charged := measure.Charged(counters)
	sample := detect.Sample{StartSeconds: start, EndSeconds: end}
	sample.Rate = float64(charged.Bytes) / (end - start)
	s.bytes = append(s.bytes, sample)
	s.readShares = append(s.readShares, float64(counters[measure.Read].Bytes)/float64(max(charged.Bytes, 1)))
	sample.Rate = float64(charged.Operations) / (end - start)
	s.operations = append(s.operations, sample)
}

// loadEnd returns the time until which a client started new operations: the end of its planned duration, or the time at
// which the step was ended because it had measured enough. Operations that completed later were in flight at that time,
// and are not counted.
func (b *builder) loadEnd(span measure.ClientSpan) int64 {
	end := span.EndNanoseconds
	if b.step.Duration > 0 && !b.step.WorkBound() {
		end = min(end, span.StartNanoseconds+int64(b.step.Duration))
	}
	if concluded := b.history.Concluded; !concluded.IsZero() && concluded.UnixNano() > span.StartNanoseconds {
		end = min(end, concluded.UnixNano())
	}
	return end
}

// complete reports whether each client's samples cover at least minCoverage of the part of a window in which the
// client ran.
func complete(window measure.Window, all []*measure.Series, spans []measure.ClientSpan) bool {
	for i, one := range all {
		part := measure.Window{
			StartNanoseconds: max(window.StartNanoseconds, spans[i].StartNanoseconds),
			EndNanoseconds:   min(window.EndNanoseconds, spans[i].EndNanoseconds),
		}
		if missing := part.Nanoseconds() - one.CoveredNanoseconds(part); part.Nanoseconds() > 0 && float64(missing) > (1-minCoverage)*float64(part.Nanoseconds()) {
			return false
		}
	}
	return true
}

// inFlight records the time from the planned end of the last client's load to the completion of the last operation. For
// fio, the agent reports the end of fio's runtime as the end of I/O, so the recorded time covers all operations in
// flight.
func (b *builder) inFlight() {
	if b.step.WorkBound() || b.step.Duration <= 0 {
		return
	}
	var loaded, done int64
	for i := range b.usable {
		span, ok := b.series[i].Span()
		if !ok {
			continue
		}
		end := b.loadEnd(span)
		if b.usable[i].Stopped && b.history.Concluded.IsZero() {
			return // it is unknown when the load of a stopped client ended, so the time in flight is unknown too
		}
		completed := span.EndNanoseconds
		if last := b.usable[i].IOEnd; !last.IsZero() {
			completed = max(completed, last.UnixNano())
		}
		loaded, done = max(loaded, end), max(done, completed)
	}
	// An I/O end more than maxInFlight after the end of the load must be wrong.
	if nanoseconds := done - loaded; len(b.usable) > 0 && nanoseconds >= 0 && nanoseconds < int64(maxInFlight) {
		b.result.InFlightNanoseconds = &nanoseconds
	}
}

// maxInFlight is longer than any agent waits for operations in flight.
const maxInFlight = time.Hour
