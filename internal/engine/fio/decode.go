package fio

import (
	"errors"
	"fmt"
	"math"
	"regexp"

	"github.com/storagebench/storagebench/internal/measure"
)

// ErrNotFio is wrapped by the error that Decode returns if the JSON is not fio's output.
var ErrNotFio = errors.New("not the JSON output of fio")

// ErrNoResult is wrapped by the error that Decode returns if fio printed a document without jobs.
var ErrNoResult = errors.New("fio printed no result")

var versionPattern = regexp.MustCompile(`^fio-[3-9]\.[0-9]{1,4}([-.+][0-9A-Za-z.+-]{1,80})?$`)

// Decode reads one JSON object of fio's output. It returns an error if a figure is missing, out of range, duplicate, or
// inconsistent with the figures that fio computed from it.
func Decode(raw []byte) (*Document, error) {
	root, err := parse(raw)
	if err != nil {
		return nil, err
	}
	version := root.member("fio version")
	if version == nil || version.kind != '"' {
		return nil, fmt.Errorf("%w: \"fio version\" is missing", ErrNotFio)
	}
	if !versionPattern.MatchString(version.text) {
		return nil, fmt.Errorf("%w: version %q, want fio 3", ErrNotFio, clip(version.text))
	}
	document := &Document{Version: version.text, Length: len(raw)}
	if stamp := root.member("timestamp_ms"); stamp != nil {
		if document.TimestampMilliseconds, err = stamp.signed(); err != nil {
			return nil, fmt.Errorf("timestamp_ms %w", err)
		}
		if document.TimestampMilliseconds < 0 {
			return nil, fmt.Errorf("timestamp_ms %w", errNegative)
		}
	}
	jobs := root.member("jobs")
	if stats := root.member("client_stats"); stats != nil {
		if jobs != nil {
			return nil, fmt.Errorf("%w: it contains both jobs and client_stats", ErrNotFio)
		}
		jobs, document.ClientServer = stats, true
	}
	if jobs == nil || jobs.kind != '[' {
		return nil, fmt.Errorf("%w: the list of jobs is missing", ErrNotFio)
	}
	for i, item := range jobs.items {
		if document.ClientServer && isClientSum(item, len(jobs.items)) {
			continue
		}
		job, racy, err := decodeJob(item)
		if err != nil {
			return nil, fmt.Errorf("jobs[%d] (%s): %w", i, clip(job.Name), err)
		}
		document.SecondsLeft = max(document.SecondsLeft, secondsLeft(item))
		if racy != nil && document.Racy == nil {
			document.Racy = fmt.Errorf("jobs[%d] (%s): %w", i, clip(job.Name), racy)
		}
		document.Jobs = append(document.Jobs, job)
	}
	if len(document.Jobs) == 0 {
		return nil, fmt.Errorf("%w: the list of jobs is empty", ErrNoResult)
	}
	return document, nil
}

// secondsLeft returns the "eta" of a job, or 0 if it is absent or unknown. If fio does not know the eta, it prints
// the largest int or a greater number. In client/server mode it prints no eta.
func secondsLeft(job *value) int64 {
	seconds, err := job.member("eta").signed()
	if err != nil || seconds < 0 || seconds >= math.MaxInt32 {
		return 0
	}
	return seconds
}

// isClientSum reports whether an entry in the output of fio's client/server mode holds the totals of all clients.
func isClientSum(item *value, entries int) bool {
	name := item.member("jobname")
	return entries > 1 && name != nil && name.text == "All clients"
}

// decoder reads the members of one object and keeps the first error.
type decoder struct {
	object *value
	where  string
	err    error
	// binned is true once a latency with bins has been read. unbinned is true once a latency with percentiles but
	// without bins has been read.
	binned, unbinned bool
}

func (d *decoder) fail(name string, err error) {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("%s%s %w", d.where, name, err)
	}
}

func (d *decoder) unsigned(name string) uint64 {
	number, err := d.object.member(name).unsigned()
	d.fail(name, err)
	return number
}

func (d *decoder) signed(name string) int64 {
	number, err := d.object.member(name).signed()
	d.fail(name, err)
	return number
}

func (d *decoder) float(name string) float64 {
	number, err := d.object.member(name).float()
	if err == nil && number < 0 {
		err = fmt.Errorf("%w: %v", errNegative, number)
	}
	d.fail(name, err)
	return number
}

func decodeJob(item *value) (job Job, racy, err error) {
	if item.kind != '{' {
		return job, nil, errors.New("not an object")
	}
	if name := item.member("jobname"); name != nil {
		job.Name = name.text
	}
	if host := item.member("hostname"); host != nil {
		job.Host = host.text
	}
	d := &decoder{object: item}
	job.Group = d.signed("groupid")
	errno := d.unsigned("error")
	if errno > math.MaxInt32 {
		d.fail("error", errInteger)
	}
	job.Errno = int(errno & math.MaxInt32)
	job.JobRuntimeMilliseconds = d.unsigned("job_runtime")
	if item.member("total_err") != nil {
		job.Continued = true
		job.TotalErrors = d.unsigned("total_err")
	}
	if d.err != nil {
		return job, nil, d.err
	}
	if item.member("mixed") != nil && item.member("read") == nil {
		return job, nil, errors.New("reads and writes are not reported separately: remove unified_rw_reporting=mixed")
	}
	for operation, name := range directions {
		direction, flaw, err := decodeDirection(item.member(name), measure.Operation(operation))
		if err != nil {
			return job, nil, fmt.Errorf("%s: %w", name, err)
		}
		if flaw != nil && racy == nil {
			racy = fmt.Errorf("%s: %w", name, flaw)
		}
		job.Operations[operation] = direction
	}
	countDataSyncs(&job)
	err = checkBinned(&job)
	if countFileOperations(&job, item.member("job options").member("ioengine")) {
		racy = nil
	}
	return job, racy, err
}

// countFileOperations corrects the counts of a job whose I/O engine works on file names (fileEngines). fio counts such
// operations as reads or writes although they move no data, and reports the time of each call as completion latency.
// countFileOperations assigns them to the operation that the engine performs, sets their bytes to 0, and uses the
// completion latency as the total latency. instant is true if all operations together took less than a millisecond,
// which would be implausible for real reads and writes.
func countFileOperations(job *Job, ioengine *value) (instant bool) {
	if ioengine == nil {
		return false
	}
	operation, known := fileEngines[ioengine.text]
	if !known {
		return false
	}
	for _, direction := range []measure.Operation{measure.Read, measure.Write} {
		did := job.Operations[direction]
		if did.Operations == 0 && did.Completion.Count == 0 {
			continue
		}
		if did.RuntimeMilliseconds == 0 {
			did.RuntimeMilliseconds, instant = 1, true
		}
		did.Bytes, did.Total, did.Completion = 0, did.Completion, measure.Latency{}
		job.Operations[direction], job.Operations[operation] = OperationTotal{}, did
	}
	return instant
}

// countDataSyncs moves fdatasync operations from the short reads to the syncs, and sync_file_range operations from the
// short writes. fio's array of operation counts has no elements for these two kinds, so each such operation increments
// a field after the array, which counts short reads or short writes (tested with 3.33; 3.14 and other versions behave
// the same). If the job does not read, all short reads are fdatasync operations. Otherwise, some of them may be real
// short reads, so countDataSyncs moves no more than the difference between the timed and the counted syncs. The same
// applies to short writes.
func countDataSyncs(job *Job) {
	sync := &job.Operations[measure.Sync]
	for _, operation := range []measure.Operation{measure.Read, measure.Write} {
		if sync.Total.Count <= sync.Operations {
			return
		}
		from := &job.Operations[operation]
		moved := from.ShortOperations
		if from.Operations > 0 {
			moved = min(moved, sync.Total.Count-sync.Operations)
		}
		sync.Operations += moved
		from.ShortOperations -= moved
	}
}

// checkBinned returns an error if a latency histogram is missing in one direction but present in another. fio prints it
// for all directions or for none.
func checkBinned(job *Job) error {
	missing := func(latency *measure.Latency) bool { return latency.Count > 0 && latency.Histogram.Count() == 0 }
	var total, completion bool
	for i := range job.Operations[:measure.Sync] {
		total = total || job.Operations[i].Total.Histogram.Count() > 0
		completion = completion || job.Operations[i].Completion.Histogram.Count() > 0
	}
	for i := range job.Operations {
		operation := &job.Operations[i]
		expected := total || completion && measure.Operation(i) == measure.Sync
		if expected && missing(&operation.Total) || completion && missing(&operation.Completion) {
			return fmt.Errorf("%s: latency bins are missing, but other latencies have them", measure.Operation(i))
		}
	}
	return nil
}
