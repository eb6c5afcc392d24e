package command

import (
	"slices"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// samples turns the system-call counters of a program into samples. The samples are contiguous from the
// program's start to its end, including times without I/O, because pauses are part of its run time.
type samples struct {
	write func(*agentapi.Sample)
	at    int64
	load  process.IO
}

func (s *samples) begin(at int64) { s.at = at }

// add ends the open sample with the counters read at the given time, and begins the next sample.
func (s *samples) add(at int64, load process.IO) {
	if at <= s.at {
		return // No time has passed since the last sample, so leave this I/O to the next sample.
	}
	s.write(&agentapi.Sample{StartNanoseconds: s.at, EndNanoseconds: at, Counts: operationCounts(load.Since(s.load))})
	s.at, s.load = at, load
}

// end writes the last sample, which includes the time needed to write dirty pages.
func (s *samples) end(at int64, load process.IO) {
	if at > s.at {
		s.add(at, load)
	}
}

func operationCounts(moved process.IO) []*agentapi.OperationCount {
	return slices.DeleteFunc(tool.OperationCounts(moved), func(count *agentapi.OperationCount) bool {
		return count.GetBytes() == 0 && count.GetOperations() == 0
	})
}
