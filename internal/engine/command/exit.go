package command

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Exit describes how a program ended.
type Exit struct {
	// Code is the exit code. It is meaningful only if Signal is 0.
	Code   int
	Signal syscall.Signal
}

// killed is the offset that shells add to a signal's number to report it as an exit code.
const killed = 128

// ExitCode returns the exit code, or 128 plus the number of the signal that killed the program.
func (e Exit) ExitCode() int {
	if e.Signal != 0 {
		return killed + int(e.Signal)
	}
	return e.Code
}

// Succeeded reports whether the exit code is one of codes, or is 0 if codes is empty. It returns false for a program
// that was killed by a signal, even if codes contains a value such as 137.
func (e Exit) Succeeded(codes []int32) bool {
	if e.Signal != 0 {
		return false
	}
	if len(codes) == 0 {
		return e.Code == 0
	}
	return slices.Contains(codes, int32(e.Code)) //nolint:gosec // Exit codes have eight bits.
}

// String returns a clause such as "ended with exit code 1".
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("was killed by signal %d (%s)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("ended with exit code %d", e.Code)
}

// causes maps the C library's messages about storage errors, which programs print, to failure reasons.
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

// Cause returns the failure reason that the program's output indicates, or `usual` if the output indicates none.
func Cause(said, usual string) string {
	said = strings.ToLower(said)
	for _, cause := range causes {
		if strings.Contains(said, cause.said) {
			return cause.reason
		}
	}
	return usual
}
