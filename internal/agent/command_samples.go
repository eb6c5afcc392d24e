package agent

import (
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

// commandSamples makes samples of what a program has read and written by system calls. They adjoin from its start to
// its end, also where nothing was moved: that it thought is part of how long it took.
type commandSamples struct {
	write func(*agentapi.Sample)
	at    int64
	load  process.IO
}

func (s *commandSamples) begin(at int64) { s.at = at }

// add ends a sample with a reading.
func (s *commandSamples) add(at int64, load process.IO) {
	if at <= s.at {
		return // what it counts is in the next
	}
	s.write(&agentapi.Sample{StartNanoseconds: s.at, EndNanoseconds: at, Counts: operationCounts(load.Since(s.load))})
	s.at, s.load = at, load
}

// end makes the last one, of the time in which what the program has left was written out.
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

// operationResults gives totals without latencies: nobody has timed a call.
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
