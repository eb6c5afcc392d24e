package fio

import "github.com/storagebench/storagebench/internal/measure"

// Document is one JSON object of fio's output that was understood and is consistent in
// itself. Whether it is the result of a run or a dump of a running one is not written in it.
type Document struct {
	// Version as fio writes it, such as "fio-3.33".
	Version string
	// TimestampMilliseconds is the wall clock of fio's machine when the document was
	// written; 0 where fio gives none (client/server mode of 3.33).
	TimestampMilliseconds int64
	// Jobs are the reporting groups: with group_reporting one entry stands for many jobs.
	Jobs []Job
	// ClientServer marks the output of fio's own client/server mode.
	ClientServer bool
	// Offset and Length tell where in the output the document stood, in bytes.
	Offset int64
	Length int
	// Racy names figures that disagree by little, as they do when fio counts on while it
	// prints. It is nil in the last document of a run that ended as it should.
	Racy error
}

// Job is an entry of "jobs" (or of "client_stats").
type Job struct {
	Name string
	// Host is set in client/server mode.
	Host  string
	Group int64
	// Errno is the job's error, 0 for none. Of many jobs in a group it is the first one.
	Errno int
	// Continued tells that the job ran on after errors (continue_on_error). Then
	// TotalErrors counts them.
	Continued   bool
	TotalErrors uint64
	// JobRuntimeMilliseconds is the sum, over the jobs of the group, of the time since each
	// began, or since its ramp ended.
	JobRuntimeMilliseconds uint64
	ElapsedSeconds         uint64
	// UserCPUPercent and SystemCPUPercent are shares of JobRuntimeMilliseconds.
	UserCPUPercent   float64
	SystemCPUPercent float64
	Operations       [measure.NumOperations]JobOperation
}

// JobOperation is what a group did in one direction.
type JobOperation struct {
	// Counter holds io_bytes and total_ios. fio counts total_ios when it issues an operation
	// and bytes when it completes, so the two can be a queue apart.
	measure.Counter
	// RuntimeMilliseconds is the longest of the group's jobs.
	RuntimeMilliseconds int64
	ShortOperations     uint64
	DroppedOperations   uint64
	// Total is submission to completion ("lat_ns"), Completion is from the end of the
	// submission on ("clat_ns"). Sync has only Total.
	Total      measure.Latency
	Completion measure.Latency
	// SubmissionMeanNanoseconds of SubmissionCount submissions ("slat_ns").
	SubmissionMeanNanoseconds float64
	SubmissionCount           uint64
}
