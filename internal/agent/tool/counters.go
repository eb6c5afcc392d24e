package tool

import (
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

// OperationCounts converts a process's counters to bytes and system calls by operation.
func OperationCounts(moved process.IO) []*agentapi.OperationCount {
	return []*agentapi.OperationCount{
		{Operation: uint32(measure.Read), Bytes: moved.ReadBytes, Operations: moved.ReadCalls},
		{Operation: uint32(measure.Write), Bytes: moved.WriteBytes, Operations: moved.WriteCalls},
	}
}

// OperationResults converts totals to results. The latencies are empty, because individual calls are not timed.
func OperationResults(totals []*agentapi.OperationCount) ([]*agentapi.OperationResult, error) {
	var none measure.Latency
	empty, err := none.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var results []*agentapi.OperationResult
	for _, total := range totals {
		if total.GetBytes() > 0 || total.GetOperations() > 0 {
			results = append(results, &agentapi.OperationResult{Operation: total.GetOperation(),
				Bytes:      total.GetBytes(),
				Operations: total.GetOperations(), Latency: empty, CompletionLatency: empty})
		}
	}
	return results, nil
}

const (
	// NoticeStalled is the type of notices about I/O that does not complete.
	NoticeStalled = "IOStalled"
	// MaxStallNotices limits the log entries about storage that stalls repeatedly.
	MaxStallNotices = 100
)

// StallWatch detects processes whose I/O does not complete: their counters stop increasing.
type StallWatch struct {
	load    process.IO
	since   time.Duration
	noticed bool
	notices int
}

// Look compares the counters with those of the previous call. If they have not changed for Timeouts.Stalled and one of
// the processes is blocked on an I/O, Look returns how long they have been unchanged. Otherwise it returns 0. It logs
// one notice per stall, with the argument who as the subject, such as "the program".
func (w *StallWatch) Look(step *Step, now time.Duration, load process.IO, stuck func() bool, who string) time.Duration {
	if load != w.load || w.since == 0 {
		w.load, w.since, w.noticed = load, now, false
		return 0
	}
	idle := now - w.since
	if idle < step.Timeouts.Stalled || !stuck() {
		return 0
	}
	if !w.noticed && w.notices < MaxStallNotices {
		w.noticed = true
		w.notices++
		step.Notice(NoticeStalled, "%s completed no I/O for %s", who, step.Timeouts.Stalled)
	}
	return idle
}
