package earlystop

import (
	"time"

	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
)

// interval is the time over which a flow computes one rate, in nanoseconds.
const interval = int64(time.Second)

// second is the rate of all clients together in one interval of a flow, and the share of reads in it.
type second struct {
	detect.Sample
	readShare float64
}

// flow adds up the samples of several clients, second by second, up to the latest time for which all of them have
// reported. A client that is blocked on an I/O reports late and delays the flow. The bytes of a late sample are spread
// over the time that the sample covers, as in the computation of results.
type flow struct {
	clients []stream
	// start is the time at which the last client started to measure; next is the start of the next interval.
	start, next int64
	begun       bool
}

// stream holds one client's samples in a flow.
type stream struct {
	// taken is the number of samples that have been read from the client so far.
	taken int
	// pending holds the samples that end after the last complete interval.
	pending   []measure.Sample
	seenUntil int64
	over      bool
}

// add adds new samples of a client, in order.
func (f *flow) add(client int, samples []measure.Sample, over bool) {
	s := &f.clients[client]
	s.taken += len(samples)
	s.over = over
	for _, sample := range samples {
		if sample.WarmUp || sample.EndNanoseconds <= s.seenUntil {
			continue
		}
		// Adjacent samples may overlap by a few microseconds (see package result), so start this sample at the end of
		// the previous one.
		sample.StartNanoseconds = max(sample.StartNanoseconds, s.seenUntil)
		s.seenUntil = sample.EndNanoseconds
		s.pending = append(s.pending, sample)
	}
}

// intervals returns the intervals that have become complete since the last call.
func (f *flow) intervals() []second {
	if !f.findStart() {
		return nil
	}
	var done []second
	for f.ready() {
		end := f.next + interval
		bytes, reads := 0.0, 0.0
		for i := range f.clients {
			all, read := f.clients[i].bytes(f.next, end)
			bytes, reads = bytes+all, reads+read
		}
		done = append(done, second{readShare: reads / max(bytes, 1), Sample: detect.Sample{
			StartSeconds: seconds(f.next - f.start),
			EndSeconds:   seconds(end - f.start),
			Rate:         bytes / seconds(interval),
		}})
		f.next = end
	}
	return done
}

func seconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e9 }

// findStart finds the first instant at which every client was measuring, and reports whether there is one.
func (f *flow) findStart() bool {
	if f.begun {
		return true
	}
	for i := range f.clients {
		s := &f.clients[i]
		switch {
		case len(s.pending) > 0:
			f.start = max(f.start, s.pending[0].StartNanoseconds)
		case !s.over:
			return false
		}
	}
	f.begun, f.next = f.start != 0, f.start
	return f.begun
}

// ready reports whether the next interval is complete: each client has reported the whole interval or has ended, and at
// least one client has reported the whole interval.
func (f *flow) ready() bool {
	live := false
	for i := range f.clients {
		s := &f.clients[i]
		if s.seenUntil < f.next+interval && !s.over {
			return false
		}
		live = live || s.seenUntil >= f.next+interval
	}
	return live
}

// bytes returns the number of bytes completed between two instants, and how many of them were read. It then removes
// from pending the samples that end at or before the second instant.
func (s *stream) bytes(from, to int64) (all, read float64) {
	keep := 0
	for _, sample := range s.pending {
		length := sample.EndNanoseconds - sample.StartNanoseconds
		if overlap := min(sample.EndNanoseconds, to) - max(sample.StartNanoseconds, from); overlap > 0 && length > 0 {
			share := float64(overlap) / float64(length)
			for _, counter := range sample.Counters {
				all += share * float64(counter.Bytes)
			}
			read += share * float64(sample.Counters[measure.Read].Bytes)
		}
		if sample.EndNanoseconds > to {
			s.pending[keep] = sample
			keep++
		}
	}
	s.pending = s.pending[:keep]
	return all, read
}
