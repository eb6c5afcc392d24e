package command

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Exit is how a program ended.
type Exit struct {
	// Code is its exit code where Signal is 0.
	Code   int
	Signal syscall.Signal
}

// killed is what is added to a signal for an exit code, as shells do.
const killed = 128

// ExitCode is one number for both: 128 and the signal of one that was killed.
func (e Exit) ExitCode() int {
	if e.Signal != 0 {
		return killed + int(e.Signal)
	}
	return e.Code
}

// Succeeded reports whether the exit is that of a run that counts; no codes are 0 alone. One that was killed
// by a signal never counts, also not for a code such as 137.
func (e Exit) Succeeded(codes []int32) bool {
	if e.Signal != 0 {
		return false
	}
	if len(codes) == 0 {
		return e.Code == 0
	}
	return slices.Contains(codes, int32(e.Code)) //nolint:gosec // Exit codes have eight bits.
}

// String says it in words.
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("was killed by signal %d (%s)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("ended with exit code %d", e.Code)
}

// causes are what programs say of errors of the storage, because the C library says it for them.
var causes = []struct{ said, reason string }{
	{"no space left on device", "NoSpace"},
	{"disk quota exceeded", "QuotaExceeded"},
	{"read-only file system", "ReadOnly"},
	{"input/output error", "IOError"},
	{"i/o error", "IOError"},
	{"stale file handle", "IOError"},
	{"too many open files", "TooManyFiles"},
	{"cannot allocate memory", "NoMemory"},
}

// Cause gives the reason of a failure that a program's own words tell, or the usual one.
func Cause(said, usual string) string {
	said = strings.ToLower(said)
	for _, cause := range causes {
		if strings.Contains(said, cause.said) {
			return cause.reason
		}
	}
	return usual
}
