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

// Client is the report of one client about one attempt of a step. Its times are converted to the conductor's clock.
type Client struct {
	Target string
	Index  int

	// Released is the time at which the tool was released to start, or zero if it was never released.
	Released time.Time
	// IOStart and IOEnd are the start and the end of the measured I/O, or zero if there was none.
	IOStart, IOEnd time.Time
	// Samples yields the samples in time order, including the warm-up. It can be iterated repeatedly. It is nil if
	// there are no samples.
	Samples iter.Seq[measure.Sample]
	// Operations are the totals for the measured time, as reported by the tool when it ended.
	Operations [measure.NumOperations]Operation
	// Ended is true if the client reported that it had finished. It is false for a client that was lost.
	Ended bool
	// Stopped is true if the client was stopped before its load ended but still has a result. StopMessage states why it
	// was stopped.
	Stopped     bool
	StopMessage string
	// Failure is the reason why the client has no result. It is empty if the client has one.
	Failure, FailureMessage string
	// Job holds the figures that ior or mdtest itself reported; only client 0 has them.
	Job *engine.Job
	// Command describes the execution of a user's program. It is nil for other loads.
	Command *engine.Program
	// Usage is the space that the client's files occupy at the end. It is nil if the space was not requested or could
	// not be determined.
	Usage *Usage
	// Like describes the sample of the user's data that the client's data was modelled on. It is nil if the data was
	// not generated from a sample.
	Like *engine.DataSample
	// ToolVersion is the version that the tool reported.
	ToolVersion string
	// Output is the tool's output; see engine.ClientReport.
	Output string
	// Notices are the agent's warnings during the step.
	Notices []Notice
	CPU     CPU
	// UnwrittenBytes is the number of never-written bytes in the range that the client reads.
	UnwrittenBytes uint64
	// ClockUncertainty is the maximum error of the client's timestamps.
	ClockUncertainty time.Duration
	// Machine identifies the client's machine. It is empty if the machine is unknown. MemoryBytes is the size of the
	// machine's memory, and MachineCPUMilli is the number of its CPUs in thousandths of a CPU. Both are 0 if unknown.
	Machine         string
	MemoryBytes     uint64
	MachineCPUMilli int64
}

// Operation holds the totals of one operation on one client.
type Operation struct {
	measure.Counter
	// Latency is the time from submission to completion of an operation. Completion excludes the time for submitting
	// the operation (fio's clat).
	Latency, Completion measure.Latency
	// SubmissionMeanNanoseconds is the mean time to submit an operation (fio's slat).
	SubmissionMeanNanoseconds int64
}

// Notice is a warning from the agent that ran the tool. Warning is the name of the warning as sent by the agent. It is
// not validated; see warningType.
type Notice struct {
	Warning string
	Message string
}

// Remark is a warning about one client that is based on the run's history instead of the client's report. An example is
// the loss of the client.
type Remark struct {
	Warning v1alpha1.WarningType
	Client  int
	Message string
}

// CPU is the CPU usage of the tool's processes in the step, and the limit and throttling of their cgroup.
type CPU struct {
	Busy, Wall time.Duration
	// LimitMilli is the cgroup's CPU limit in thousandths of a CPU, or the machine's CPUs if the cgroup has none.
	LimitMilli                int64
	Periods, ThrottledPeriods uint64
	Throttled                 time.Duration
}

// History holds information about a target that the reports of the step do not contain, mostly from earlier steps. All
// times are on the conductor's clock.
type History struct {
	// Search describes the search that the step belongs to. It is nil for steps of other phases.
	Search *search.Question
	// Earlier lists the run's I/O on the target before this step. It has one entry for each earlier step that performed
	// I/O, in order.
	Earlier []Span
	// Documented holds the documented limits that apply to the clients of the step. Its list of limits is empty if none
	// is documented.
	Documented limits.Computed
	// Loads are the loads that the run's phases generate on the target.
	Loads []limits.Load
	// Described is the run's description of the storage, or nil if the run has none.
	Described *v1alpha1.StorageDescription
	// SeesEnd is true if the run also measures the rate after the burst, because one of its phases drains the target's
	// credits.
	SeesEnd bool
	// Expect names what the phase should measure, such as the server's cache.
	Expect v1alpha1.Expectation
	// MeasuredRefill and MeasuredRefillOperations are the refill rates that an earlier redrain (a second drain after
	// idle time) measured, in bytes and in operations per second. A rate is nil if no redrain measured it.
	MeasuredRefill, MeasuredRefillOperations *float64
	// DrainSpent and DrainSpentOperations describe the credits spent by the first burst drain whose credits ran out, in
	// bytes and in operations. They are nil if they were not measured.
	DrainSpent, DrainSpentOperations *Spent
	// MeasuredBucket is the size, in bytes, of the bucket that an earlier drain and a redrain measured, or 0 if they
	// measured none.
	MeasuredBucket float64
	// BucketEmpty is true if the burst credits are known to be spent at the start of the step, or if there are none.
	// For a redrain, it describes the bucket at the end of the I/O before the idle time instead.
	BucketEmpty bool
	// EmptyAt is the end of the last earlier I/O after which the bucket was certainly empty. It is zero if that is
	// unknown.
	EmptyAt time.Time
	// Drained is true for a search or an interference phase that measures at the baseline, if the drain in the phase or
	// right before it spent the burst credits. Some credits may have come back since then.
	Drained bool
	// CreditPercentAtStart and CreditPercentAtEnd are the estimated fill levels of the target's emptiest bucket, in
	// percent, at the start and at the end of the step. They are nil if unknown.
	CreditPercentAtStart, CreditPercentAtEnd *int32
	// Fills maps the name of each limit to the estimated fill level of its bucket at the start of the step. It is nil
	// if the fill levels are unknown.
	Fills map[string]limits.Fill
	// Concluded is the time at which the step was ended early because it had measured enough. It is zero if the step
	// ran for its full duration.
	Concluded time.Time
}

// Spent describes the credits that a drain spent: their amount, the refill rate used to compute it, and the rates
// before and after the drop. Rates are per second.
type Spent struct {
	Amount, Refill, Burst, Baseline float64
}

// Span is the total I/O on a target during a period.
type Span struct {
	Start, End        time.Time
	Bytes, Operations uint64
}

// LastEnd returns the time at which the last I/O before the step completed, or the zero time if there was none.
func (h *History) LastEnd() time.Time {
	if len(h.Earlier) == 0 {
		return time.Time{}
	}
	return h.Earlier[len(h.Earlier)-1].End
}
