package fio

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/storagebench/storagebench/internal/measure"
)

// Exit describes how the fio process ended.
type Exit struct {
	// Code is the exit code. It is meaningful only if Signal is 0.
	Code int
	// Signal is the signal that killed the process, or 0 if none did.
	Signal syscall.Signal
}

// stoppedCode is fio's exit code after SIGINT or SIGTERM. fio also exits with this code if 128 jobs failed.
const stoppedCode = 128

// Expectation contains the requirements for a complete run. The zero value requires nothing.
type Expectation struct {
	// MeasuredMilliseconds is the time for which each job must run after its warm-up, or 0 if the jobs do a fixed
	// amount of work.
	MeasuredMilliseconds int64
	WarmUpMilliseconds   int64
	// Jobs is the number of jobs in all sections, with numjobs applied. It is needed only with MeasuredMilliseconds.
	Jobs int
	// MaxOutstanding is the maximum number of operations outstanding at any time.
	MaxOutstanding uint64
	// WrittenBytes is the number of bytes that the run must have written. It is 0 unless the run writes a fixed amount,
	// as a prepare step does.
	WrittenBytes uint64
	// Operations is the number of operations that a job with one operation per file must have completed, or 0 for other
	// jobs.
	Operations uint64
}

// Result describes how a step ended and what it measured.
type Result struct {
	Outcome Outcome
	// Failure is set if the outcome is Failed; Message then explains the failure and quotes fio's reason. Message is
	// also set for Stopped.
	Failure Failure
	Message string
	// Snapshot holds the measured totals. For a failed step it holds the last readable document, for diagnosis only; it
	// is nil if there was none.
	Snapshot *Snapshot
	Warnings []Warning
	// ToolMessages holds fio's messages from standard error and standard output, clipped.
	ToolMessages string
}

// Final evaluates a run by its output, its exit status and its standard error. None of these is sufficient alone. The
// exit code is the number of failed jobs modulo 256, and does not count killed jobs. It is 128 if fio was stopped, even
// if no figures were lost, and it can be 0 for a run that printed no document.
//
// The outcome is Complete or Stopped only if the last document is final and consistent, and nothing else contradicts
// it.
func Final(output Output, exit Exit, stderr string, expected Expectation) Result {
	result := Result{ToolMessages: joinLines(clipLines(stderr), output.Noise)}
	j := judge{output: output, exit: exit, stderrText: joinLines(stderr, output.Noise), expected: expected, result: &result}
	if output.Last != nil {
		snapshot, err := output.Last.Snapshot()
		if err != nil {
			j.fail(FailureInvalidOutput, err.Error())
			return result
		}
		result.Snapshot = &snapshot
	}
	for _, check := range []func() bool{
		j.killed, j.jobErrors, j.complaints, j.noDocument, j.notFinal, j.exitCode, j.nothingDone, j.incomplete,
	} {
		if check() {
			return result
		}
	}
	result.Outcome = Complete
	if exit.Code == stoppedCode {
		result.Outcome = Stopped
		result.Message = "fio was stopped early; the figures up to that point are used"
		if expected.WarmUpMilliseconds > 0 && !result.Snapshot.measured() {
			// Discard the figures of the warm-up, as fio itself does when the warm-up ends.
			result.Message = "fio was stopped during the warm-up: nothing was measured"
			result.Snapshot.Operations = [measure.NumOperations]OperationTotal{}
		}
	}
	j.warn()
	return result
}

// judge evaluates a run. Each of its check methods returns true if that check decided the outcome.
type judge struct {
	output     Output
	exit       Exit
	stderrText string
	expected   Expectation
	result     *Result
}

func (j *judge) fail(failure Failure, reason string) bool {
	j.result.Outcome, j.result.Failure = Failed, failure
	j.result.Message = "fio: " + failureText[failure]
	if reason = strings.TrimPrefix(strings.TrimSpace(reason), "fio: "); reason != "" {
		j.result.Message += " (" + reason + ")"
	}
	return true
}

func (j *judge) killed() bool {
	if j.exit.Signal == 0 {
		return false
	}
	reason := fmt.Sprintf("signal %d, %v", int(j.exit.Signal), j.exit.Signal)
	switch j.exit.Signal {
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGABRT, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSYS:
		return j.fail(FailureCrashed, reason)
	}
	return j.fail(FailureKilled, reason)
}

// jobErrors checks the error of each job (jobs[].error). An error after which fio continued (continue_on_error) is not
// a failure if the exit code is 0 or 128.
func (j *judge) jobErrors() bool {
	if j.result.Snapshot == nil {
		return false
	}
	for _, failed := range j.result.Snapshot.Errors {
		if failed.Continued && (j.exit.Code == 0 || j.exit.Code == stoppedCode) {
			continue
		}
		failure, line, known := ofText(j.stderrText, false)
		byErrno := ofErrno(errno(failed.Errno))
		if !known || byErrno != FailureOther && failed.Name() != "EPERM" && failed.Name() != "ENOSYS" {
			failure, line = byErrno, firstComplaint(j.stderrText)
		}
		return j.fail(failure, joinReasons(failed.String(), strings.TrimPrefix(line, "fio: ")))
	}
	return false
}

// complaints marks a run as failed if fio printed a message that means failure regardless of the exit code.
func (j *judge) complaints() bool {
	failure, line, ok := ofText(j.stderrText, true)
	return ok && j.fail(failure, line)
}

func (j *judge) noDocument() bool {
	switch {
	case j.output.Last != nil:
		return false
	case j.output.Partial:
		return j.fail(FailureTruncated, fmt.Sprintf("it ends within a JSON document after %d bytes, exit code %d", j.output.Bytes, j.exit.Code))
	case len(j.output.Damaged) > 0:
		return j.fail(FailureInvalidOutput, j.output.Damaged[0].String())
	}
	reason := fmt.Sprintf("exit code %d", j.exit.Code)
	return j.fail(FailureNoOutput, joinReasons(firstComplaint(j.stderrText), reason))
}

// notFinal marks a run as failed if its last readable document may be a dump instead of the result.
func (j *judge) notFinal() bool {
	switch {
	case j.output.Partial:
		return j.fail(FailureTruncated, "it ends within a JSON document")
	case j.output.DamagedAfterLast:
		last := j.output.Damaged[len(j.output.Damaged)-1]
		return j.fail(FailureInvalidOutput, "the last JSON document is unreadable, "+last.String())
	case j.output.Documents > 1 && hasUnexpectedOutput(j.output.NoiseAfterLast):
		// The text may be part of a damaged document. That document, and not the last readable one, would be the result.
		return j.fail(FailureInvalidOutput, "unexpected output after the last JSON document: "+clip(j.output.NoiseAfterLast))
	case j.output.Last.Racy != nil:
		return j.fail(FailureInvalidOutput, j.output.Last.Racy.Error())
	}
	return false
}

// hasUnexpectedOutput reports whether the text after fio's result contains anything other than fio's response to a
// second signal, which is the only text that fio prints there.
func hasUnexpectedOutput(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, expectedMessages[0]) {
			return true
		}
	}
	return false
}

func (j *judge) exitCode() bool {
	if j.exit.Code == 0 || j.exit.Code == stoppedCode {
		return false
	}
	failure, line, ok := ofText(j.stderrText, false)
	if !ok {
		failure, line = FailureOther, firstComplaint(j.stderrText)
	}
	return j.fail(failure, joinReasons(line, fmt.Sprintf("exit code %d", j.exit.Code)))
}

func (j *judge) nothingDone() bool {
	if j.result.Snapshot.hasOperations() || j.exit.Code == stoppedCode {
		return false
	}
	return j.fail(FailureNoIO, firstComplaint(j.stderrText))
}

// incomplete marks a run as failed if it ended normally but too early.
func (j *judge) incomplete() bool {
	if j.exit.Code == stoppedCode {
		return false
	}
	if j.expected.MeasuredMilliseconds > 0 && !j.result.Snapshot.measured() {
		return j.fail(FailureTruncated, "it ended during the warm-up: nothing was measured")
	}
	var longest int64
	for i := range j.result.Snapshot.Operations {
		longest = max(longest, j.result.Snapshot.Operations[i].RuntimeMilliseconds)
	}
	if wanted := j.expected.MeasuredMilliseconds; longest < wanted-tolerated(wanted) {
		return j.fail(FailureTruncated, fmt.Sprintf("it ran for only %d of %d ms", longest, wanted))
	}
	if ran, wanted := j.result.Snapshot.JobRuntimeMilliseconds, j.jobsRuntime(); ran < wanted {
		return j.fail(FailureTruncated, fmt.Sprintf("its %d jobs ran for %d ms in total instead of %d ms: at least one job ended early", j.expected.Jobs, ran, wanted))
	}
	if written := j.result.Snapshot.Operations[measure.Write].Bytes; written < j.expected.WrittenBytes {
		return j.cutShort(written)
	}
	if wanted, did := j.expected.Operations, j.result.Snapshot.operations(); wanted > 0 && did != wanted {
		return j.fail(FailureTruncated, fmt.Sprintf("it completed %d operations on %d files instead of one per file", did, wanted))
	}
	return false
}

// cutShort marks a layout as failed because it wrote too few bytes. On a full volume, a write can be short. fio then
// tries to write the rest and gets ENOSPC. But if the very last write is short, fio has already issued all writes and
// ends normally (io_issue_bytes_exceeded in its backend.c, seen with 3.33 on two of 60 full volumes).
func (j *judge) cutShort(written uint64) bool {
	lacks := fmt.Sprintf("it wrote only %d of %d bytes", written, j.expected.WrittenBytes)
	if cut := j.result.Snapshot.Operations[measure.Write].ShortOperations; cut > 0 {
		return j.fail(FailureNoSpace, fmt.Sprintf("No space left on device, or a quota is exceeded: %d writes were short, the last one "+
			"without an error; %s", cut, lacks))
	}
	return j.fail(FailureTruncated, lacks)
}

// jobsRuntime returns the minimum sum of the jobs' runtimes in a complete run, in milliseconds.
func (j *judge) jobsRuntime() uint64 {
	if j.expected.Jobs < 1 || j.expected.MeasuredMilliseconds < 1 {
		return 0
	}
	each := uint64(j.expected.MeasuredMilliseconds)
	return uint64(j.expected.Jobs) * (each - min(each, tolerated(each)))
}

// tolerated returns the time by which a complete run may be shorter than requested: 2 % plus 250 ms. fio starts its
// deadline timer shortly before the clock for its figures; on a fully loaded node, the difference was 141 ms. The
// figures cover the measured time and remain valid.
func tolerated[T int64 | uint64](milliseconds T) T { return milliseconds/50 + 250 }
