package agent

import (
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

// commandSamples turns the system-call counters of a program into samples. The samples are contiguous from the
// program's start to its end, including times without I/O, because pauses are part of its run time.
type commandSamples struct {
	write func(*agentapi.Sample)
	at    int64
	load  process.IO
}

func (s *commandSamples) begin(at int64) { s.at = at }

// add closes the open sample with a reading of the counters.
func (s *commandSamples) add(at int64, load process.IO) {
	if at <= s.at {
		return // counted in the next sample
	}
	s.write(&agentapi.Sample{StartNanoseconds: s.at, EndNanoseconds: at, Counts: operationCounts(load.Since(s.load))})
	s.at, s.load = at, load
}

// end writes the last sample, which includes the time in which dirty pages were written out.
func (s *commandSamples) end(at int64, load process.IO) {
	if at > s.at {
		s.add(at, load)
	}
}

func operationCounts(moved process.IO) []*agentapi.OperationCount {
	var counts []*agentapi.OperationCount
	for _, count := range []*agentapi.OperationCount{
		{Operation: uint32(measure.Read), Bytes: moved.ReadBytes, Operations: moved.ReadCalls},
		{Operation: uint32(measure.Write), Bytes: moved.WriteBytes, Operations: moved.WriteCalls},
	} {
		if count.GetBytes() > 0 || count.GetOperations() > 0 {
			counts = append(counts, count)
		}
	}
	return counts
}

// operationResults returns totals without latencies, because individual calls are not timed.
func operationResults(moved process.IO) ([]*agentapi.OperationResult, error) {
	var none measure.Latency
	empty, err := none.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var results []*agentapi.OperationResult
	for _, count := range operationCounts(moved) {
		results = append(results, &agentapi.OperationResult{
			Operation: count.GetOperation(), Bytes: count.GetBytes(), Operations: count.GetOperations(), Latency: empty, CompletionLatency: empty,
		})
	}
	return results, nil
}
