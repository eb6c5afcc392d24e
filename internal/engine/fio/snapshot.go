package fio

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/internal/measure"
)

// Snapshot is the sum of all jobs in a document. It counts from the start of fio or, once the warm-up (ramp_time) has
// ended, from the end of the warm-up.
type Snapshot struct {
	Version               string
	TimestampMilliseconds int64
	Operations            [measure.NumOperations]OperationTotal
	// JobRuntimeMilliseconds is the sum of the runtimes of all jobs.
	JobRuntimeMilliseconds uint64
	// Errors has an entry for each reporting group with a failed job.
	Errors []JobError
}

// HasBins reports whether percentiles can be computed from a histogram. It is also true if no operation was timed. fio
// prints the histogram only with --output-format=json+ and lat_percentiles=1.
func (t *OperationTotal) HasBins() bool { return t.Total.Histogram.Count() > 0 || t.Total.Count == 0 }

// JobError is the error of a reporting group.
type JobError struct {
	Job   string
	Group int64
	Errno int
	// Continued is true if the jobs continued after errors (continue_on_error); Total is the number of errors.
	Continued bool
	Total     uint64
}

// Name returns the error's symbol, such as ENOSPC.
func (e JobError) Name() string {
	if name := errnoName(errno(e.Errno)); name != "" {
		return name
	}
	return fmt.Sprintf("errno %d", e.Errno)
}

func (e JobError) String() string {
	text := fmt.Sprintf("job %s: %v (%s)", e.Job, errno(e.Errno), e.Name())
	if e.Continued {
		text += fmt.Sprintf(", but fio continued (errors: %d)", e.Total)
	}
	return text
}

// Snapshot adds up the jobs of the document. It returns an error if the bytes, the operations or the timed operations
// do not fit into 64 bits.
func (d *Document) Snapshot() (Snapshot, error) {
	snapshot := Snapshot{Version: d.Version, TimestampMilliseconds: d.TimestampMilliseconds}
	for i := range d.Jobs {
		job := &d.Jobs[i]
		for operation := range snapshot.Operations {
			if err := snapshot.Operations[operation].add(&job.Operations[operation]); err != nil {
				return Snapshot{}, fmt.Errorf("add job %s: %s: %w", clip(job.Name), measure.Operation(operation), err)
			}
		}
		snapshot.JobRuntimeMilliseconds += job.JobRuntimeMilliseconds
		if job.Errno != 0 {
			snapshot.Errors = append(snapshot.Errors, JobError{
				Job: strings.ToValidUTF8(clip(job.Name), "?"), Group: job.Group, Errno: job.Errno,
				Continued: job.Continued && job.TotalErrors > 0, Total: job.TotalErrors,
			})
		}
	}
	return snapshot, nil
}

func (t *OperationTotal) add(job *OperationTotal) error {
	if job.Bytes > math.MaxUint64-t.Bytes || job.Operations > math.MaxUint64-t.Operations ||
		job.Total.Count > math.MaxUint64-t.Total.Count {
		return errInteger
	}
	t.Bytes += job.Bytes
	t.Operations += job.Operations
	t.RuntimeMilliseconds = max(t.RuntimeMilliseconds, job.RuntimeMilliseconds)
	t.ShortOperations += job.ShortOperations
	t.Total.Merge(&job.Total)
	t.Completion.Merge(&job.Completion)
	if job.SubmissionCount > 0 {
		before, added := float64(t.SubmissionCount), float64(job.SubmissionCount)
		t.SubmissionMeanNanoseconds = (t.SubmissionMeanNanoseconds*before + job.SubmissionMeanNanoseconds*added) / (before + added)
		t.SubmissionCount += job.SubmissionCount
	}
	return nil
}

// HasBins reports whether there is a histogram for each kind of operation that was timed.
func (s *Snapshot) HasBins() bool {
	for i := range s.Operations {
		if !s.Operations[i].HasBins() {
			return false
		}
	}
	return true
}

// hasOperations reports whether any operation was issued or completed.
func (s *Snapshot) hasOperations() bool {
	for i := range s.Operations {
		if s.Operations[i].Counter != (measure.Counter{}) {
			return true
		}
	}
	return false
}

// operations returns the number of completed operations other than flushes.
func (s *Snapshot) operations() uint64 {
	var sum uint64
	for i := range s.Operations {
		if measure.Operation(i) != measure.Sync {
			sum = measure.Sum(sum, s.Operations[i].Completed())
		}
	}
	return sum
}

// measured reports whether any latency was recorded. fio records none during a warm-up.
func (s *Snapshot) measured() bool {
	for i := range s.Operations {
		if s.Operations[i].Total.Count > 0 || s.Operations[i].Completion.Count > 0 || s.Operations[i].SubmissionCount > 0 {
			return true
		}
	}
	return false
}

// named lists the errors that storage can cause. Messages show other errors by their number.
var named = strings.Fields("EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EBUSY EEXIST ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE " +
	"ETXTBSY EFBIG ENOSPC EROFS EPIPE ENOSYS ELOOP EILSEQ EREMOTEIO ESTALE EDQUOT ETIMEDOUT ENOTSUP ENOTCONN EHOSTDOWN EHOSTUNREACH " +
	"ECONNRESET ENODATA")

// errnoName returns the symbol of an error that storage can cause. For any other error it returns "".
func errnoName(number errno) string {
	if name := errnos[number].name; slices.Contains(named, name) {
		return name
	}
	return ""
}
