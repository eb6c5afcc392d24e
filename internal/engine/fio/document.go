package fio

import "github.com/storagebench/storagebench/internal/measure"

// Document is one JSON object of fio's output, decoded and checked for consistency. It is either the result of a run or
// a dump that was written during the run. A document is certain to be a dump only if SecondsLeft is above 0.
type Document struct {
	// Version is fio's version, such as "fio-3.33".
	Version string
	// TimestampMilliseconds is the wall clock of fio's machine when the document was written; 0 if fio printed none
	// (client/server mode of 3.33).
	TimestampMilliseconds int64
	// SecondsLeft is the remaining time that fio expected its jobs to take ("eta"). It is 0 in the result of a run, and
	// also in dumps from its first two seconds and its last seconds.
	SecondsLeft int64
	// Jobs has one entry per reporting group. With group_reporting, a group contains several jobs.
	Jobs []Job
	// ClientServer is true for the output of fio's own client/server mode.
	ClientServer bool
	// Offset and Length are the document's position and size in the output, in bytes.
	Offset int64
	Length int
	// Racy describes a slight disagreement between figures, which occurs if fio was still counting while it printed. It
	// is nil in the last document of a run that ended normally.
	Racy error
}

// Job is an entry of the list "jobs" in fio's output, or of "client_stats" in client/server mode.
type Job struct {
	Name string
	// Host is the name of the client's host; empty except in client/server mode.
	Host  string
	Group int64
	// Errno is the job's error number, or 0 if there was no error. For a group of jobs, it is the error number of the
	// first failed job.
	Errno int
	// Continued is true if the job was set to continue after errors (continue_on_error). TotalErrors then counts these
	// errors.
	Continued   bool
	TotalErrors uint64
	// JobRuntimeMilliseconds is the sum of the runtimes of the group's jobs. The runtime of a job counts from its start,
	// or from the end of its warm-up.
	JobRuntimeMilliseconds uint64
	Operations             [measure.NumOperations]OperationTotal
}

// OperationTotal holds the figures of one kind of operation, for one reporting group or summed over all groups.
type OperationTotal struct {
	// Counter holds io_bytes and total_ios. fio counts total_ios when it issues an operation and bytes when an
	// operation completes, so the two can differ by the operations in flight.
	measure.Counter
	// RuntimeMilliseconds is the longest runtime of any job; 0 for Sync.
	RuntimeMilliseconds int64
	ShortOperations     uint64
	// Total is the latency from the start of the submission to the completion ("lat_ns"). Completion is the part of
	// Total after the end of the submission ("clat_ns"). Sync operations have only Total.
	Total      measure.Latency
	Completion measure.Latency
	// SubmissionMeanNanoseconds is the mean time of a submission ("slat_ns"), and SubmissionCount is the number of
	// submissions.
	SubmissionMeanNanoseconds float64
	SubmissionCount           uint64
}

// Completed returns the number of completed operations, which equals the number of recorded latencies. In contrast,
// total_ios counts issued operations: it omits operations that were issued during the warm-up and completed after it,
// and includes failed operations. If fio records no latencies (gtod_reduce=1), total_ios is the only count.
func (t *OperationTotal) Completed() uint64 {
	if timed := max(t.Total.Count, t.Completion.Count); timed > 0 {
		return timed
	}
	return t.Operations
}
