package fio

import "fmt"

// Outcome is how a step ended.
type Outcome int

// The outcomes. The zero value is none of them, so that a forgotten outcome is no success.
const (
	// Complete: fio did all that its job asked for.
	Complete Outcome = iota + 1
	// Stopped: fio was told to stop, did, and what it printed covers what it did.
	Stopped
	// Failed: see Failure. What was measured, if anything, is no result.
	Failed
)

// String gives the name: "Complete", "Stopped" or "Failed".
func (o Outcome) String() string {
	switch o {
	case Complete:
		return "Complete"
	case Stopped:
		return "Stopped"
	case Failed:
		return "Failed"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}

// Failure says why a step failed: a short word that does not change.
type Failure string

// The failures.
const (
	// FailureNoSpace: the volume is full.
	FailureNoSpace Failure = "NoSpace"
	// FailureQuota: a quota of the volume is used up.
	FailureQuota Failure = "QuotaExceeded"
	// FailureReadOnly: the volume can not be written.
	FailureReadOnly Failure = "ReadOnly"
	// FailureNoSuchFile: a file or directory is not there; nobody laid the data out.
	FailureNoSuchFile Failure = "NoSuchFile"
	// FailureNotADirectory: a part of the path is a file.
	FailureNotADirectory Failure = "NotADirectory"
	// FailureIsADirectory: a data file is a directory.
	FailureIsADirectory Failure = "IsADirectory"
	// FailurePermission: the file system refuses the agent's user.
	FailurePermission Failure = "PermissionDenied"
	// FailureBadOption: fio does not know an option or its value.
	FailureBadOption Failure = "BadOption"
	// FailureBadEngine: this fio has no such I/O engine.
	FailureBadEngine Failure = "BadEngine"
	// FailureEngineBlocked: the I/O engine is there, the kernel or the container refuses it.
	FailureEngineBlocked Failure = "EngineBlocked"
	// FailureDirect: the file system does not take direct I/O, or not of this size.
	FailureDirect Failure = "DirectNotSupported"
	// FailureIO: the storage reported an error.
	FailureIO Failure = "IOError"
	// FailureTooManyFiles: a limit on open files.
	FailureTooManyFiles Failure = "TooManyFiles"
	// FailureMemory: not enough memory.
	FailureMemory Failure = "NoMemory"
	// FailureKilled: fio, or one of its jobs, was killed from outside.
	FailureKilled Failure = "Killed"
	// FailureCrashed: fio, or one of its jobs, died of a fault of its own.
	FailureCrashed Failure = "Crashed"
	// FailureStuck: fio gave up on a job that did not end.
	FailureStuck Failure = "Stuck"
	// FailureNoOutput: fio printed no result at all.
	FailureNoOutput Failure = "NoOutput"
	// FailureTruncated: the output ends inside of a document, or the run ended early.
	FailureTruncated Failure = "Truncated"
	// FailureInvalidOutput: what fio printed can not be true.
	FailureInvalidOutput Failure = "InvalidOutput"
	// FailureNoIO: fio ended well and did nothing.
	FailureNoIO Failure = "NoIO"
	// FailureOther: the message says all that is known.
	FailureOther Failure = "Other"
)

// Warning is something about a result that a reader has to know.
type Warning struct {
	Kind    WarningKind
	Message string
}

// WarningKind is a short word that does not change.
type WarningKind string

// The warnings.
const (
	// WarnToolErrors: I/O errors on which fio went on (continue_on_error).
	WarnToolErrors WarningKind = "ToolErrors"
	// WarnToolMessages: fio said something that nobody here understands.
	WarnToolMessages WarningKind = "ToolMessages"
	// WarnDamagedOutput: parts of the output before the result are unreadable.
	WarnDamagedOutput WarningKind = "DamagedOutput"
	// WarnCountsDisagree: operations issued and operations timed are further apart than what
	// was outstanding explains.
	WarnCountsDisagree WarningKind = "CountsDisagree"
	// WarnNoBins: there is no histogram, so there are no percentiles.
	WarnNoBins WarningKind = "NoBins"
	// WarnShortOperations: the storage did less of an operation than it was asked for.
	WarnShortOperations WarningKind = "ShortOperations"
)
