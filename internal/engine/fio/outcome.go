package fio

// Outcome describes how a step ended.
type Outcome string

// Outcomes of a step. None of them is the zero value, so an outcome that was never set does not count as a success.
const (
	// Complete means that fio did everything that its job file requested.
	Complete Outcome = "Complete"
	// Stopped means that fio was stopped early, and its output covers the work until then.
	Stopped Outcome = "Stopped"
	// Failed means that the step failed for the reason in Failure. Its figures, if any, are not a result.
	Failed Outcome = "Failed"
)

// Failure is a stable identifier of the reason why a step failed.
type Failure string

const (
	// FailureNoSpace means that the volume is full.
	FailureNoSpace Failure = "NoSpace"
	// FailureQuota means that a quota on the volume is exhausted.
	FailureQuota Failure = "QuotaExceeded"
	// FailureReadOnly means that the volume is mounted read-only.
	FailureReadOnly Failure = "ReadOnly"
	// FailureNoSuchFile means that a file or directory does not exist, usually because the data was not laid out.
	FailureNoSuchFile Failure = "NoSuchFile"
	// FailureNotADirectory means that a component of the path is a file.
	FailureNotADirectory Failure = "NotADirectory"
	// FailureIsADirectory means that a data file is a directory.
	FailureIsADirectory Failure = "IsADirectory"
	// FailurePermission means that the agent's user lacks a permission on the file system.
	FailurePermission Failure = "PermissionDenied"
	// FailureBadOption means that fio does not accept an option or its value.
	FailureBadOption Failure = "BadOption"
	// FailureBadEngine means that this build of fio does not have the I/O engine.
	FailureBadEngine Failure = "BadEngine"
	// FailureEngineBlocked means that fio has the I/O engine, but the kernel or the container does not allow its
	// use.
	FailureEngineBlocked Failure = "EngineBlocked"
	// FailureDirect means that the file system does not support direct I/O, or does not support it with the block size
	// of the job.
	FailureDirect Failure = "DirectNotSupported"
	// FailureIO means that the storage reported an error.
	FailureIO Failure = "IOError"
	// FailureTooManyFiles means that a limit on open files was reached.
	FailureTooManyFiles Failure = "TooManyFiles"
	// FailureMemory means that memory ran out.
	FailureMemory Failure = "NoMemory"
	// FailureKilled means that fio, or one of its jobs, was killed from outside.
	FailureKilled Failure = "Killed"
	// FailureCrashed means that fio, or one of its jobs, crashed.
	FailureCrashed Failure = "Crashed"
	// FailureStuck means that fio gave up on a job that did not end.
	FailureStuck Failure = "Stuck"
	// FailureNoOutput means that fio printed no result.
	FailureNoOutput Failure = "NoOutput"
	// FailureTruncated means that the output ends inside a document, or the run ended early.
	FailureTruncated Failure = "Truncated"
	// FailureInvalidOutput means that fio's output cannot be read, or contradicts itself.
	FailureInvalidOutput Failure = "InvalidOutput"
	// FailureNoIO means that fio ended normally but did no I/O.
	FailureNoIO Failure = "NoIO"
	// FailureOther is any other failure. Only the message explains it.
	FailureOther Failure = "Other"
)

// Warning describes something that affects how a result must be interpreted.
type Warning struct {
	Kind    WarningKind
	Message string
}

// WarningKind is the stable identifier of a kind of warning.
type WarningKind string

const (
	// WarnToolErrors means that fio continued after I/O errors (continue_on_error).
	WarnToolErrors WarningKind = "ToolErrors"
	// WarnToolMessages means that fio printed an unknown message.
	WarnToolMessages WarningKind = "ToolMessages"
	// WarnDamagedOutput means that parts of the output before the result are unreadable.
	WarnDamagedOutput WarningKind = "DamagedOutput"
	// WarnCountsDisagree means that the numbers of issued and timed operations differ by more than the outstanding
	// operations explain.
	WarnCountsDisagree WarningKind = "CountsDisagree"
	// WarnNoBins means that fio printed no histogram of the total latency (lat), so its percentiles are unknown.
	WarnNoBins WarningKind = "NoBins"
	// WarnShortOperations means that operations moved fewer bytes than requested.
	WarnShortOperations WarningKind = "ShortOperations"
)
