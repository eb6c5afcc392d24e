package ior

import "strings"

var failureText = map[Failure]string{
	FailureNoSpace:       "the volume is full",
	FailureQuota:         "a quota on the volume is exceeded",
	FailureReadOnly:      "the volume is mounted read-only",
	FailureNoSuchFile:    "a file or directory is missing",
	FailurePermission:    "permission denied",
	FailureDirect:        "the file system does not support direct I/O of this size",
	FailureIO:            "the storage reported an error",
	FailureBadOption:     "an option was rejected",
	FailureMPI:           "MPI could not start the ranks",
	FailureKilled:        "a rank or mpirun was killed, or a client was lost",
	FailureCrashed:       "a rank crashed",
	FailureDataErrors:    "data that was read differs from data that was written",
	FailureOperations:    "operations failed, but are counted in the rates",
	FailureNoOutput:      "it printed no results",
	FailureTruncated:     "it ended early",
	FailureInvalidOutput: "its output is unreadable or inconsistent",
	FailureOther:         "it failed",
}

// words lists substrings of the tools' messages, each with the failure that it indicates, the most specific first.
var words = []struct {
	text    string
	failure Failure
}{
	{"No space left on device", FailureNoSpace},
	{"Disk quota exceeded", FailureQuota},
	{"Read-only file system", FailureReadOnly},
	{"Permission denied", FailurePermission},
	{"Operation not permitted", FailurePermission},
	{"Input/output error", FailureIO},
	{"Stale file handle", FailureIO},
	{"Transport endpoint", FailureIO},
	{"No such file or directory", FailureNoSuchFile},
	{"Not a directory", FailureNoSuchFile},
	{"WARNING: fsync(", FailureIO}, // only warnings about failed calls are searched; see failedCall
	{"WARNING: write(", FailureIO},
	{"WARNING: read(", FailureIO},
	{"Segmentation fault", FailureCrashed},
	{"received signal", FailureCrashed},
	{"exited on signal 11", FailureCrashed},
	{" exited on", FailureKilled}, // Open MPI 5 continues the message on the next line
	{"lost communication", FailureKilled},
	{"killing job", FailureKilled},
	{"daemon has unexpectedly failed", FailureMPI},
	{"not enough slots", FailureMPI},
	{"was unable to", FailureMPI},
	{"Error invalid argument", FailureBadOption},
	{"argument missing", FailureBadOption},
	{"Error: Missing", FailureBadOption},
	{"Unrecognized", FailureBadOption},
	{"Syntax error", FailureBadOption},
	{"Could not load backend", FailureBadOption},
	{"Invalid option", FailureBadOption},
	{"block size must", FailureBadOption},
	{"transfer size must", FailureBadOption},
	{"only sensible", FailureBadOption},
	{"Choose one and resubmit", FailureBadOption},
	{"parse_options.c", FailureBadOption},
}

// killedCode is the exit code of mpirun if a rank was killed: 128 plus the number of the signal.
const killedCode = 128 + 9

// badSizes is part of IOR 3.3.0's message about an invalid size, which ends with the text of an unrelated errno.
const badSizes = " size must be "

// classify returns the failure that the tool's messages indicate, and the message that indicates it. If no message is
// known, it returns the first one, because MPI prints its messages about an abort only after the tool's own message.
// The failure is then FailureKilled if mpirun exited with killedCode, because mpirun may end before it prints that a
// rank was killed. Otherwise, it is FailureOther.
func classify(lines []string, exit Exit) (Failure, string) {
	for _, line := range lines {
		if strings.Contains(line, badSizes) {
			return FailureBadOption, line
		}
	}
	for _, word := range words {
		for _, line := range lines {
			if strings.Contains(line, word.text) {
				return word.failure, line
			}
		}
	}
	if exit.Code == killedCode {
		return FailureKilled, lines[0]
	}
	return FailureOther, lines[0]
}
