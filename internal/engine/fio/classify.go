package fio

import (
	"cmp"
	"regexp"
	"strings"
)

// complaint describes a fio message that identifies a failure.
type complaint struct {
	pattern *regexp.Regexp
	failure Failure
	// certain is true for messages that mean failure regardless of the exit status. fio may exit as if it had succeeded
	// even if a job was killed or never started.
	certain bool
}

// complaints lists the fio messages that identify a failure, the most specific first. The texts are from fio 3.33 and
// from fio's source code as of August 2026.
var complaints = []complaint{
	{regexp.MustCompile(`got signal=(4|6|7|8|11)\b`), FailureCrashed, true},
	{regexp.MustCompile(`got signal=[0-9]+`), FailureKilled, true},
	{regexp.MustCompile(`pid=[0-9]+ disappeared`), FailureKilled, true},
	{regexp.MustCompile(`appears to be stuck\. Doing forceful exit`), FailureStuck, true},
	{regexp.MustCompile(`job startup hung`), FailureStuck, true},
	// fio holds the semaphore stat_sem while it writes a dump, and may meanwhile wait for a job to return from an I/O
	// call. Another job that ends during that time waits for stat_sem and gives up after 5 s (EDEADLK).
	{regexp.MustCompile(`stuck grabbing stat_sem`), FailureStuck, true},
	{regexp.MustCompile(`file creation disallowed by allow_file_create=0`), FailureNoSuchFile, true},
	{regexp.MustCompile(`does not (seem to )?support direct( IO|=1)`), FailureDirect, true},
	{regexp.MustCompile(`first direct IO errored\. File system may not support direct`), FailureDirect, false},
	// The kernel refuses asynchronous direct I/O if the block size is not a multiple of the sector size. fio's message
	// then does not mention direct I/O.
	{regexp.MustCompile(`io_u error.*: Invalid argument: (read|write) offset=`), FailureDirect, false},
	{regexp.MustCompile(`engine \S* not loadable|failed to load engine|IO engine \S* not found`), FailureBadEngine, true},
	{regexp.MustCompile(`Bad option <|failed parsing |option <.*> outside of|job \S+ dropped`), FailureBadOption, true},
	{regexp.MustCompile(`is mutually exclusive|mutually exclusive|requires a runtime|size too small|blocksize is larger than`), FailureBadOption, true},
	{regexp.MustCompile(`you need to specify (size|valid offset)=`), FailureBadOption, true},
	{regexp.MustCompile(`No job\(s\) defined`), FailureBadOption, true},
	{regexp.MustCompile(`kernel doesn't support io_uring`), FailureEngineBlocked, true},
	{regexp.MustCompile(`aio appears to be stalled, giving up`), FailureStuck, true},
	{regexp.MustCompile(`io_queue_init|io_setup|func=io_queue`), FailureEngineBlocked, false},
	{regexp.MustCompile(`failed allocating random map|realloc OOM|smalloc pool exhausted|error=Cannot allocate memory`), FailureMemory, true},
	{regexp.MustCompile(`jobs? failed to start`), FailureOther, true},
	{regexp.MustCompile(`end_fsync failed for file`), FailureIO, true},
}

// ofText returns the failure that the most significant complaint in the text indicates, and the line that contains the
// complaint. ok is false if the text contains no complaint. If the argument certain is true, ofText ignores complaints
// whose field certain is false.
func ofText(text string, certain bool) (failure Failure, line string, ok bool) {
	for _, known := range complaints {
		if certain && !known.certain {
			continue
		}
		for line := range strings.Lines(text) {
			if known.pattern.MatchString(line) {
				return known.failure, strings.TrimSpace(line), true
			}
		}
	}
	return "", "", false
}

// errnoFailures maps error symbols, such as ENOSPC, to the failures that they indicate.
var errnoFailures = map[string]Failure{
	"ENOSPC": FailureNoSpace, "EDQUOT": FailureQuota, "EROFS": FailureReadOnly,
	"ENOENT": FailureNoSuchFile, "ENOTDIR": FailureNotADirectory, "EISDIR": FailureIsADirectory,
	"EACCES": FailurePermission, "EPERM": FailurePermission,
	"ENFILE": FailureTooManyFiles, "EMFILE": FailureTooManyFiles, "ENOMEM": FailureMemory, "ENOSYS": FailureEngineBlocked,
	"EIO": FailureIO, "EREMOTEIO": FailureIO, "ESTALE": FailureIO, "ETIMEDOUT": FailureIO, "ENXIO": FailureIO, "ENODEV": FailureIO,
	"ENOTCONN": FailureIO, "EHOSTDOWN": FailureIO, "EHOSTUNREACH": FailureIO, "ECONNRESET": FailureIO, "EILSEQ": FailureIO,
}

// ofErrno returns the failure that a job's errno indicates.
func ofErrno(number errno) Failure { return cmp.Or(errnoFailures[errnos[number].name], FailureOther) }

// failureText maps each failure to an explanation for users who do not know fio's own terms.
var failureText = map[Failure]string{
	FailureNoSpace:       "the volume is full: enlarge it, or lower datasetSize",
	FailureQuota:         "a quota on the volume is exceeded: raise it, or lower datasetSize",
	FailureReadOnly:      "the volume is mounted read-only",
	FailureNoSuchFile:    "a data file is missing: run a prepare phase with the same workload first",
	FailureNotADirectory: "a component of the data path is not a directory",
	FailureIsADirectory:  "a data file's path is a directory",
	FailurePermission:    "permission denied: check the pod's user and the permissions on the volume",
	FailureBadOption:     "fio rejected an option of the workload",
	FailureBadEngine:     "this fio build does not have the workload's I/O engine",
	FailureEngineBlocked: "the kernel or the container's seccomp profile blocks the I/O engine: use libaio or psync; " +
		"for libaio, check that the node's fs.aio-max-nr covers jobs x queueDepth of all its clients",
	FailureDirect: "the file system does not support direct I/O of this size: " +
		"make blockSize a multiple of the sector size, or set direct to false",
	FailureIO:            "the storage reported an error",
	FailureTooManyFiles:  "too many open files: use fewer jobs or files, or set openfiles",
	FailureMemory:        "not enough memory: raise the client's limit, or use fewer jobs, a smaller queueDepth or blockSize",
	FailureKilled:        "it was killed, probably because it ran out of memory",
	FailureCrashed:       "it crashed",
	FailureStuck:         "a job did not end: the storage may not be responding",
	FailureNoOutput:      "it printed no result",
	FailureTruncated:     "its output is incomplete",
	FailureInvalidOutput: "its output is inconsistent",
	FailureNoIO:          "it ended without an error, but did no I/O",
	FailureOther:         "it failed",
}
