package result

import (
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
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
	// Job is what ior or mdtest say of themselves; of client 0 alone.
	Job *Job
	// Command is how a program of the user's ran; nil for other loads.
	Command *Command
	// Usage is the space of the client's files at the end; nil where it was not asked for or not found.
	Usage *Usage
	// Like is what the client found in the data that its own was to be like; nil where it was to be like none.
	Like *DataSample
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

// DataSample is what was found in data of the user's.
type DataSample struct {
	Files, Bytes uint64
	// RatioMilli is a thousand times the ratio by which lz4 compresses it, and Percent what fio was given for it.
	RatioMilli int64
	Percent    int
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

// History is what is known of a target from before a step, in the conductor's time.
type History struct {
	// Earlier is the I/O of the run on the target before the step, one entry a step that did any, in order.
	Earlier []Span
	// Documented is what is documented for the clients of the step; without limits where nothing is.
	Documented limits.Computed
	// Loads are what the phases of the run ask of the target.
	Loads []limits.Load
	// Described is the storage as the run recorded it; nil where it did not.
	Described *v1alpha1.StorageDescription
	// SeesEnd says that a phase of the run drains the target, so that the end of its burst is measured.
	SeesEnd bool
	// Expect is what the phase is meant to measure.
	Expect v1alpha1.Expectation
	// MeasuredRefill of the bucket of bytes and of operations a second by an earlier redrain; nil where there
	// was none.
	MeasuredRefill, MeasuredRefillOperations *float64
	// DrainSpent and DrainSpentOperations are what the first drain of the run spent; nil where there was none.
	DrainSpent, DrainSpentOperations *Spent
	// BucketEmpty says that the burst credits are known to be spent at the start of the step, or that there
	// are none. Of a redrain it is about the end of the I/O before its idle time.
	BucketEmpty bool
	// CreditPercentAtStart and CreditPercentAtEnd are the estimated fill of the bucket of bytes at the start and at the end of the step; nil
	// where it is not known.
	CreditPercentAtStart, CreditPercentAtEnd *int32
	// Concluded is when the step was ended since enough was measured; zero where it was not.
	Concluded time.Time
}

// Spent is the credit that went in a drain, with the refill a second that it was computed with, and the
// levels before and after, a second.
type Spent struct {
	Amount, Refill, Burst, Baseline float64
}

// Span is what was done on a target in a time.
type Span struct {
	Start, End        time.Time
	Bytes, Operations uint64
}

// LastEnd is when the last I/O before the step was complete; zero where there was none.
func (h *History) LastEnd() time.Time {
	if len(h.Earlier) == 0 {
		return time.Time{}
	}
	return h.Earlier[len(h.Earlier)-1].End
}
