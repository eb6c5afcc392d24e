package result

import (
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Client is what one client did in one attempt of a step, in the conductor's time.
type Client struct {
	Target string
	Index  int

	// Released is when the tool was let go; zero when it never was.
	Released time.Time
	// IOStart and IOEnd bound the measured I/O; zero when there was none.
	IOStart, IOEnd time.Time
	// Samples in order of time, warm-up included.
	Samples []measure.Sample
	// Operations of the measured time, as the tool itself reported them at its end.
	Operations [measure.NumOperations]Operation
	// Ended says that the client reported an end; a lost client has none.
	Ended bool
	// Stopped says that it was ended before its time, with a result, and StopMessage why.
	Stopped     bool
	StopMessage string
	// Failure is why the client has no result; empty when it has one.
	Failure, FailureMessage string
	// ToolVersion is the tool's own.
	ToolVersion string
	// ToolMessages is all that the tool said, for whoever looks for a cause; what matters of it is
	// in Failure and Notices.
	ToolMessages string
	// Notices were given by the agent as the step went on.
	Notices []Notice
	CPU     CPU
	// UnwrittenBytes were in the reach of reads and had never been written.
	UnwrittenBytes uint64
	// ClockUncertainty is how far the client's instants may be off.
	ClockUncertainty time.Duration
	// Machine tells clients that share one, empty where it is not known; MemoryBytes is its memory
	// and MachineCPUMilli its CPUs in thousandths, 0 where they are not known.
	Machine         string
	MemoryBytes     uint64
	MachineCPUMilli int64
}

// Operation is one operation's totals on one client.
type Operation struct {
	measure.Counter
	// Latency is from submission to completion; Completion is the part after submission.
	Latency, Completion measure.Latency
	// SubmissionMeanNanoseconds is the mean of the part before.
	SubmissionMeanNanoseconds int64
}

// Notice is a warning that was seen where the tool ran. Its name is the agent's word and is checked.
type Notice struct {
	Warning string
	Message string
}

// Remark is a warning about one client that only the history of the run gives, such as its loss.
type Remark struct {
	Warning v1alpha1.WarningType
	Client  int
	Message string
}

// CPU is what the tool's processes used in the step, and what the cgroup let them.
type CPU struct {
	Busy, Wall time.Duration
	// LimitMilli is the cgroup's, or the machine's where the cgroup has none, in thousandths of a
	// CPU.
	LimitMilli                int64
	Periods, ThrottledPeriods uint64
	Throttled                 time.Duration
}
