package ior

import (
	"regexp"
	"slices"
	"strings"
)

// failures lists the prefixes of lines in which IOR, mdtest and MPI report a failure.
var failures = []string{
	"ERROR: ", "ior ERROR: ", "ERROR [", "Error invalid argument: ", "Error, ", "Error: ", "Unrecognized parameter ",
	"Syntax error in configuration options: ", "Could not load backend API ", "Invalid option substring string: ",
	"MPI_ABORT was invoked", "mpirun noticed that ", "mpirun was unable to ", "mpirun detected that one or more processes exited with non-zero status",
	"prterun noticed that ", "prterun was unable to ", "prterun detected that one or more processes exited with non-zero status",
	"PRTE has lost communication ", "ORTE has lost communication ", "ORTE was unable to ", "There are not enough slots available in the system",
	"An ORTE daemon has unexpectedly failed", "mpirun: killing job",
	"Primary job  terminated normally, but ",
}

// message processes a line with a warning or an error. Such lines appear between rows and, in the JSON format, inside
// objects. For other lines, message returns false.
func (s *Stream) message(line textLine) bool {
	text := strings.TrimLeft(line.text, "[]{}, ")
	if failed, ok := failureLine(text); ok {
		s.output.Errors = appendOnce(s.output.Errors, failed)
		return true
	}
	warning, isWarning := warningIn(text)
	switch {
	case isWarning:
		s.warning(warning)
	case strings.HasPrefix(text, "stonewalling pairs accessed min: "):
		s.stonewalled(text)
	default:
		return false
	}
	return true
}

// warningIn returns the text of a warning. IOR 3.3.0 begins some warnings with its own name.
func warningIn(line string) (string, bool) {
	text, found := strings.CutPrefix(strings.TrimPrefix(line, "ior "), "WARNING: ")
	return strings.TrimSpace(text), found
}

// failedCall matches the warnings about a failed call. After a failed write or read, IOR 4 aborts with a message that
// does not contain the reason. After a failed fsync, IOR continues and counts the data as written.
var failedCall = regexp.MustCompile(`^(?:write|read|fsync)\([^)]*\) failed`)

// failureLine returns a tool's error message, which may start in the middle of a line.
func failureLine(text string) (string, bool) {
	if warning, ok := warningIn(text); ok {
		return text, failedCall.MatchString(warning)
	}
	found := slices.ContainsFunc(failures, func(beginning string) bool { return strings.HasPrefix(text, beginning) })
	if !found {
		at := strings.Index(text, "ior ERROR: ")
		found = at >= 0 || strings.Contains(text, ": FAILED in ") && strings.Contains(text, ": Process ")
		text = text[max(at, 0):]
	}
	return text, found
}

// appendOnce clips a line and appends it to lines, unless lines already contains it or has maxKept entries.
func appendOnce(lines []string, line string) []string {
	if line = clip(line); len(lines) >= maxKept || slices.Contains(lines, line) {
		return lines
	}
	return append(lines, line)
}

// These prefixes identify IOR's warnings. All except wrongData are about a repetition that moved a different number of
// bytes than its parameters imply. IOR 3.3.0 ends these warnings with a full stop.
const (
	expectedBytes = "Expected aggregate file size "
	statBytes     = "Stat() of aggregate file size "
	movedBytes    = "Using actual aggregate bytes moved "
	byStonewall   = "maybe caused by deadlineforstonewalling"
	wrongData     = "incorrect data on "
)

func (s *Stream) warning(text string) {
	switch lower := strings.ToLower(text); {
	case strings.HasPrefix(text, expectedBytes), strings.HasPrefix(text, statBytes):
	case strings.HasPrefix(text, movedBytes):
		_, value, _ := strings.Cut(text, "=")
		moved, ok := parseCount(strings.TrimSuffix(strings.TrimSpace(value), "."))
		if !ok || moved > maxNumber {
			s.warn(text)
			return
		}
		s.moved = moved
	case strings.HasPrefix(lower, byStonewall):
		s.output.StonewallHit++
	case strings.HasPrefix(lower, wrongData):
		_, count, _ := strings.Cut(text, "(")
		count, _, _ = strings.Cut(count, " ")
		errors, ok := parseCount(count)
		if !ok {
			errors = 1
		}
		s.output.DataErrors += min(max(errors, 1), maxNumber)
		s.output.DataErrors = min(s.output.DataErrors, maxNumber)
		s.warn(text)
	default:
		s.warn(text)
	}
}

func (s *Stream) warn(text string) { s.output.warn(text) }

// stonewalled parses the line "stonewalling pairs accessed min: 288 max: 467 -- min data: 0.1 GiB mean data: 0.1 GiB
// time: 1.0s". The figures in GiB are too coarse to be useful.
func (s *Stream) stonewalled(text string) {
	fields := strings.Fields(text)
	if len(fields) != 18 || len(s.output.Stonewalled) >= maxRepetitions {
		s.warn(text)
		return
	}
	least, okLeast := parseCount(fields[4])
	most, okMost := parseCount(fields[6])
	took, okTook := parseNumber(strings.TrimSuffix(fields[17], "s"))
	if !okLeast || !okMost || !okTook {
		s.warn(text)
		return
	}
	s.output.Stonewalled = append(s.output.Stonewalled, Stonewalled{MinTransfers: least, MaxTransfers: most, Nanoseconds: took.scaled(second)})
}
