package mpi

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

// rankFloorBytes is the minimum number of bytes that count as the tool's I/O, between two readings or in one sample.
// MPI communicates through the same system calls, and transfers about 100 bytes at each barrier.
const rankFloorBytes = 4096

// rankSamples turns the reads and writes of a client's ranks into samples. It uses many readings per sample, so that
// the times of the first and the last I/O are more precise than one sample.
type rankSamples struct {
	warmUp, duration, interval time.Duration
	// operations lists the operations that the tool performs; bytes of other operations belong to MPI. If the list is
	// empty, all operations count.
	operations []measure.Operation
	// transfer is the size of each of the tool's operations. Operations are counted as bytes divided by transfer,
	// because MPI makes system calls too. If transfer is unknown (0), system calls are counted.
	transfer uint64
	write    func(*agentapi.Sample)

	// at and load are the time and the counters of the latest reading; begun is the time of the reading before the
	// first I/O.
	at    int64
	load  process.IO
	begun int64
	// start is the time at which the open sample begins, and from holds the counters read at that time.
	start int64
	from  process.IO
	// moved and movedLoad are the time and the counters of the latest reading with new I/O.
	moved     int64
	movedLoad process.IO
	// held is a sample whose I/O stopped before the end of the sample. If a later sample has I/O, held is written
	// unchanged. Otherwise it is shortened to end at heldMoved, the time of its last I/O.
	held      *agentapi.Sample
	heldMoved int64
	// idle holds samples without I/O. They are written only if a later sample has I/O.
	idle []*agentapi.Sample

	// ioStart and ioEnd are the start and the end of the I/O after the warm-up.
	ioStart, ioEnd int64
	totals         [measure.NumOperations]measure.Counter
	over           bool
}

// add records the total I/O of the ranks at the given time.
func (r *rankSamples) add(at int64, load process.IO) {
	if r.over || at <= r.at {
		return
	}
	grown := r.grown(r.load, load)
	switch {
	case r.at == 0:
		r.at, r.load = at, load
		return
	case r.begun == 0 && !grown:
		r.at, r.load = at, load
		return
	case r.begun == 0:
		r.begun, r.start, r.from, r.moved, r.movedLoad = r.at, r.at, r.load, r.at, r.load
	}
	r.at, r.load = at, load
	if r.grown(r.movedLoad, load) {
		r.moved, r.movedLoad = at, load
	}
	if at-r.start >= int64(r.interval) || r.start < r.warm() && at >= r.warm() || r.done(at) {
		r.cut(at, load)
	}
	r.over = r.done(at)
}

// close ends the last sample at the last I/O.
func (r *rankSamples) close() {
	if r.begun != 0 && !r.over && r.moved > r.start {
		r.cut(r.moved, r.movedLoad)
	}
	if r.held != nil {
		r.held.EndNanoseconds = r.heldMoved
		r.write(r.held)
		r.held = nil
	}
	r.over = true
}

// warm returns the time at which the warm-up ends.
func (r *rankSamples) warm() int64 { return r.begun + int64(r.warmUp) }

func (r *rankSamples) done(at int64) bool {
	return r.duration > 0 && at >= r.warm()+int64(r.duration)
}

// full reports whether the samples cover the step's whole duration.
func (r *rankSamples) full() bool { return r.begun != 0 && r.done(r.at) }

// grown reports whether the ranks transferred more data between two readings than MPI's own messages need.
func (r *rankSamples) grown(before, after process.IO) bool {
	return slices.ContainsFunc(r.counts(before, after), func(c *agentapi.OperationCount) bool { return c.GetBytes() >= rankFloorBytes })
}

// cut ends the open sample and begins the next.
func (r *rankSamples) cut(at int64, load process.IO) {
	sample := &agentapi.Sample{StartNanoseconds: r.start, EndNanoseconds: at, WarmUp: r.start < r.warm()}
	for _, count := range r.counts(r.from, load) {
		if count.GetBytes() >= rankFloorBytes {
			sample.Counts = append(sample.Counts, count)
		}
	}
	r.start, r.from = at, load
	if len(sample.GetCounts()) == 0 {
		r.idle = append(r.idle, sample)
		return
	}
	if r.held != nil {
		r.write(r.held)
	}
	for _, idle := range r.idle {
		r.write(idle)
	}
	r.held, r.idle = nil, nil
	if r.moved > sample.GetStartNanoseconds() && r.moved < at {
		r.held, r.heldMoved = sample, r.moved
	} else {
		r.write(sample)
	}
	if sample.GetWarmUp() {
		return
	}
	if r.ioStart == 0 {
		r.ioStart = sample.GetStartNanoseconds()
	}
	r.ioEnd = min(r.moved, at)
	for _, count := range sample.GetCounts() {
		r.totals[count.GetOperation()].Bytes += count.GetBytes()
		r.totals[count.GetOperation()].Operations += count.GetOperations()
	}
}

// counts returns the bytes and operations between two readings, by operation.
func (r *rankSamples) counts(before, after process.IO) []*agentapi.OperationCount {
	moved := after.Since(before)
	if r.transfer > 0 {
		// Divide the totals instead of their difference, so that an operation that spans two samples counts in exactly one of
		// them.
		moved.ReadCalls = after.ReadBytes/r.transfer - before.ReadBytes/r.transfer
		moved.WriteCalls = after.WriteBytes/r.transfer - before.WriteBytes/r.transfer
	}
	return slices.DeleteFunc(tool.OperationCounts(moved), func(count *agentapi.OperationCount) bool {
		return len(r.operations) > 0 && !slices.Contains(r.operations, measure.Operation(count.GetOperation()))
	})
}

// results returns the totals after the warm-up.
func (r *rankSamples) results() ([]*agentapi.OperationResult, error) {
	var totals []*agentapi.OperationCount
	for operation, total := range r.totals {
		totals = append(totals, &agentapi.OperationCount{Operation: uint32(operation), Bytes: total.Bytes,
			Operations: total.Operations})
	}
	return tool.OperationResults(totals)
}
