package result

import (
	"iter"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/search"
)

// Client is the report of one client in one attempt of a step, in the conductor's time.
type Client struct {
	Target string
	Index  int

	// Released is the time at which the tool was released to start; zero if it never was.
	Released time.Time
	// IOStart and IOEnd bound the measured I/O; zero if there was none.
	IOStart, IOEnd time.Time
	// Samples yields the samples in order of time, including the warm-up, as often as it is asked; nil if there are none.
	Samples iter.Seq[measure.Sample]
	// Operations are the totals of the measured time, as the tool itself reported them at its end.
	Operations [measure.NumOperations]Operation
	// Ended is true if the client reported its end; a lost client did not.
	Ended bool
	// Stopped is true if the client was stopped early and has a result. StopMessage is the reason for stopping it.
	Stopped     bool
	StopMessage string
	// Failure is the reason why the client has no result; empty if it has one.
	Failure, FailureMessage string
	// Job is the report of ior or mdtest about itself; only client 0 has one.
	Job *engine.Job
	// Command describes the execution of a user's program; nil for other loads.
	Command *engine.Program
	// Usage is the space of the client's files at the end; nil if it was not requested or not found.
	Usage *Usage
	// Like describes the user's data that the client's data imitates; nil if there is none.
	Like *engine.DataSample
	// ToolVersion is the version that the tool reported.
	ToolVersion string
	// Output is the tool's output; see engine.ClientReport.
	Output string
	// Notices are the agent's warnings during the step.
	Notices []Notice
	CPU     CPU
	// UnwrittenBytes is the number of bytes that reads can reach but that were never written.
	UnwrittenBytes uint64
	// ClockUncertainty is the possible error of the client's instants.
	ClockUncertainty time.Duration
	// Machine identifies the client's machine, and is empty if unknown. MemoryBytes is the machine's memory and
	// MachineCPUMilli its CPUs in thousandths, 0 if unknown.
	Machine         string
	MemoryBytes     uint64
	MachineCPUMilli int64
}

// Operation holds the totals of one operation on one client.
type Operation struct {
	measure.Counter
	// Latency is from submission to completion; Completion is the part after submission.
	Latency, Completion measure.Latency
	// SubmissionMeanNanoseconds is the mean time of submission (fio's slat).
	SubmissionMeanNanoseconds int64
}

// Notice is a warning from the agent that ran the tool. Warning is the name that the agent gave; it must be checked.
type Notice struct {
	Warning string
	Message string
}

// Remark is a warning about one client that only the run's history shows, such as its loss.
type Remark struct {
	Warning v1alpha1.WarningType
	Client  int
	Message string
}

// CPU is the CPU use of the tool's processes in the step, and the limit and throttling of their cgroup.
type CPU struct {
	Busy, Wall time.Duration
	// LimitMilli is the cgroup's CPU limit in thousandths of a CPU, or the machine's CPUs if the cgroup has none.
	LimitMilli                int64
	Periods, ThrottledPeriods uint64
	Throttled                 time.Duration
}

// History holds the facts about a target from before a step, in the conductor's time.
type History struct {
	// Search is the question that the step's search answers; nil for other steps.
	Search *search.Question
	// Earlier is the run's I/O on the target before the step, in order, with one entry per step that did any.
	Earlier []Span
	// Documented holds the documented limits for the clients of the step; it has no limits if nothing is documented.
	Documented limits.Computed
	// Loads are the loads of the run's phases on the target.
	Loads []limits.Load
	// Described is the storage as the run recorded it; nil if it was not recorded.
	Described *v1alpha1.StorageDescription
	// SeesEnd is true if a phase of the run drains the target, so that the end of its burst is measured.
	SeesEnd bool
	// Expect is the phase's expectation, for example that it measures the server's cache.
	Expect v1alpha1.Expectation
	// MeasuredRefill and MeasuredRefillOperations are the refill of the bucket, in bytes and in operations per second,
	// that an earlier redrain measured; nil if there was none.
	MeasuredRefill, MeasuredRefillOperations *float64
	// DrainSpent and DrainSpentOperations are what the first drain of the run spent; nil if there was none.
	DrainSpent, DrainSpentOperations *Spent
	// BucketEmpty is true if the burst credits are known to be spent at the start of the step, or if there are none.
	// For a redrain it refers to the end of the I/O before the idle time.
	BucketEmpty bool
	// CreditPercentAtStart and CreditPercentAtEnd are the estimated fill of the target's emptiest bucket, in percent,
	// at the start and the end of the step; nil if unknown.
	CreditPercentAtStart, CreditPercentAtEnd *int32
	// Fills holds the estimated fill of each of the target's buckets at the start of the step, by the name of its
	// limit; nil if unknown.
	Fills map[string]limits.Fill
	// Concluded is the time at which the step was ended because it had measured enough; zero if it was not.
	Concluded time.Time
}

// Spent is the amount of credits spent in a drain, the refill per second from which it was computed, and the levels
// per second before and after the drop.
type Spent struct {
	Amount, Refill, Burst, Baseline float64
}

// Span is the I/O on a target during a period.
type Span struct {
	Start, End        time.Time
	Bytes, Operations uint64
}

// LastEnd returns the time at which the last I/O before the step was complete; zero if there was none.
func (h *History) LastEnd() time.Time {
	if len(h.Earlier) == 0 {
		return time.Time{}
	}
	return h.Earlier[len(h.Earlier)-1].End
}
