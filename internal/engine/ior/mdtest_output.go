package ior

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// MdtestRate is a row of mdtest's summary. It summarizes the total operations per second of all ranks over the
// iterations. In 3.3.0, the maximum, minimum and deviation also include the differences between ranks. In 4.0.0 and
// later, they include only the differences between iterations.
type MdtestRate struct {
	// Operation is mdtest's own name, such as "File creation".
	Operation string
	// MaxMilli, MinMilli, MeanMilli and StdDevMilli are operations per second, times 1000.
	MaxMilli, MinMilli, MeanMilli, StdDevMilli int64
}

// MdtestOutput is everything that an MdtestStream found in mdtest's output.
type MdtestOutput struct {
	Version, CommandLine     string
	Tasks, Nodes, Iterations int
	// Rates are the rows of the summary, which mdtest prints once, when it ends. The lines per iteration that -V 1 adds
	// cover only rank 0 and are ignored.
	Rates []MdtestRate
	// NotMeasured lists the operations that mdtest did not perform, or whose rate is not a number.
	NotMeasured []string
	// Times is true if mdtest printed a summary of times, in addition to the summary of rates or instead of it.
	Times bool
	// Warnings holds mdtest's warnings without duplicates. It excludes warnings about failed operations, which mdtest
	// counts as completed: FailedOperations is the number of these warnings, and FirstFailed is the first of them.
	Warnings         []string
	MoreWarnings     int
	FailedOperations int64
	FirstFailed      string
	Errors           []string
	Usage            bool
	Finished         bool
	Partial          bool
	Damaged          []Damage
	Bytes            int64
}

// MdtestStream reads the output of mdtest as it arrives. It is an io.Writer that never fails, and its memory is
// bounded. The zero value is ready to use.
type MdtestStream struct {
	lines   lineSplitter
	output  MdtestOutput
	section mdtestSection
	// figures is the number of figures in a row of mdtest's summary.
	figures int
}

type mdtestSection int

const (
	mdtestHead mdtestSection = iota
	mdtestRates
	mdtestTimes
)

const maxMdtestRates = 64

// Write consumes the next bytes of the output.
func (s *MdtestStream) Write(p []byte) (int, error) {
	s.output.Bytes += int64(len(p))
	s.lines.add(p, s.line)
	return len(p), nil
}

// Close marks the end of the output and returns everything that was found in it.
func (s *MdtestStream) Close() MdtestOutput {
	if last, ok := s.lines.rest(); ok {
		_, failed := failureLine(last.text)
		if failed || strings.HasPrefix(last.text, mdtestFinished) {
			s.line(last)
		} else {
			s.output.Partial = true
		}
	}
	return s.output
}

// ReadMdtestOutput reads a whole output. It returns an error only if reading from r fails.
func ReadMdtestOutput(r io.Reader) (MdtestOutput, error) {
	var stream MdtestStream
	if _, err := io.Copy(&stream, r); err != nil {
		return MdtestOutput{}, fmt.Errorf("read the output of mdtest: %w", err)
	}
	return stream.Close(), nil
}

const mdtestFinished = "-- finished at "

func (s *MdtestStream) line(line textLine) {
	text := line.text
	if line.long {
		s.damaged(line.number, fmt.Sprintf("a line exceeds %d bytes", maxLineBytes))
		return
	}
	if failed, ok := failureLine(text); ok {
		s.output.Errors = appendOnce(s.output.Errors, failed)
		return
	}
	warning, isWarning := warningIn(text)
	switch {
	case text == "":
	case isWarning:
		s.warning(warning)
	case strings.HasPrefix(text, "mdtest-") && strings.Contains(text, " was launched with "):
		s.launched(text)
	case strings.HasPrefix(text, "Command line used: "):
		s.output.CommandLine = clip(strings.TrimPrefix(text, "Command line used: "))
	case text == "Invalid options", strings.HasPrefix(text, "Synopsis "):
		s.output.Usage = true
	case strings.HasPrefix(text, "SUMMARY "):
		s.begin(line)
	case strings.HasPrefix(text, mdtestFinished):
		s.output.Finished, s.section = true, mdtestHead
	case s.section != mdtestHead:
		s.row(line)
	}
}

// launched parses the line "mdtest-4.0.0 was launched with 4 total task(s) on 1 node(s)".
func (s *MdtestStream) launched(text string) {
	fields := strings.Fields(text)
	if len(fields) != 10 || len(fields[0]) > 40 {
		return
	}
	s.output.Version = strings.TrimPrefix(fields[0], "mdtest-")
	if tasks, ok := parseCount(fields[4]); ok && tasks < 1<<30 {
		s.output.Tasks = int(tasks)
	}
	if nodes, ok := parseCount(fields[8]); ok && nodes < 1<<30 {
		s.output.Nodes = int(nodes)
	}
}

// begin parses the heading "SUMMARY rate: (of 3 iterations)" or, in 4.1, "SUMMARY rate (in ops/sec): (of ...".
func (s *MdtestStream) begin(line textLine) {
	s.figures = 4
	fields := strings.Fields(line.text)
	if strings.HasPrefix(fields[1], "time") {
		s.section, s.output.Times = mdtestTimes, true
		return
	}
	if !strings.HasPrefix(fields[1], "rate") {
		s.damaged(line.number, "the summary has neither rates nor times")
		return
	}
	if len(s.output.Rates) > 0 || len(s.output.NotMeasured) > 0 {
		s.damaged(line.number, "the output contains a second summary of rates")
	}
	s.section = mdtestRates
	if len(fields) > 3 {
		if iterations, ok := parseCount(fields[len(fields)-2]); ok && iterations < 1<<30 {
			s.output.Iterations = int(iterations)
		}
	}
}

// row reads a row of the summary. A row consists of a name of several words, which ends with a colon in 3.3.0, and of
// figures.
func (s *MdtestStream) row(line textLine) {
	fields := strings.Fields(line.text)
	if fields[0] == "Operation" {
		if strings.Contains(line.text, " per Rank: ") {
			s.figures = 7
		}
		return
	}
	if strings.HasPrefix(fields[0], "---") || s.section == mdtestTimes {
		return
	}
	kind := fields[0]
	if !slices.Contains([]string{"Directory", "File", "Tree"}, kind) || strings.Contains(line.text, "(stonewall)") {
		// Ignore the row that mdtest 3.3.0 adds for the files created before the stonewall. It contains only a mean.
		return
	}
	if len(fields) < s.figures+2 || len(fields) > s.figures+4 {
		s.damaged(line.number, fmt.Sprintf("want %d figures: %q", s.figures, clip(line.text)))
		return
	}
	figures := fields[len(fields)-s.figures:][s.figures-4:]
	name := strings.TrimSpace(strings.TrimSuffix(strings.Join(fields[:len(fields)-s.figures], " "), ":"))
	if !plainName(name) {
		s.damaged(line.number, fmt.Sprintf("%q is not an operation", clip(name)))
		return
	}
	s.rate(line.number, name, figures)
}

// plainName reports whether a name has the form of mdtest's names of operations, such as "File creation": at least two
// words, in lower case except for the first letter.
func plainName(name string) bool {
	return strings.Contains(name, " ") && len(name) < 48 && strings.IndexFunc(name[1:], func(c rune) bool { return (c < 'a' || c > 'z') && c != ' ' }) < 0
}

func (s *MdtestStream) rate(line int, name string, figures []string) {
	if len(s.output.Rates)+len(s.output.NotMeasured) >= maxMdtestRates {
		s.damaged(line, fmt.Sprintf("more than %d rows in the summary", maxMdtestRates))
		return
	}
	if slices.ContainsFunc(s.output.Rates, func(r MdtestRate) bool { return r.Operation == name }) || slices.Contains(s.output.NotMeasured, name) {
		s.damaged(line, fmt.Sprintf("duplicate row %q", name))
		return
	}
	var values [4]number
	for i, text := range figures {
		value, ok := parseNumber(text)
		switch {
		case ok:
			values[i] = value
		case i == 3 || !notMeasured(text):
			if !notMeasured(text) {
				s.damaged(line, fmt.Sprintf("%q is not a rate", clip(text)))
				return
			}
			values[i].absent = true
		default:
			s.output.NotMeasured = append(s.output.NotMeasured, name)
			return
		}
	}
	highest, lowest, mean := values[0], values[1], values[2]
	if mean.value == 0 && highest.value == 0 {
		s.output.NotMeasured = append(s.output.NotMeasured, name)
		return
	}
	if lowest.value > mean.value+2*mean.half || mean.value > highest.value+2*highest.half {
		s.damaged(line, fmt.Sprintf("the mean of %q is not between its minimum and maximum", name))
		return
	}
	s.output.Rates = append(s.output.Rates, MdtestRate{
		Operation: name, MaxMilli: highest.scaled(1000), MinMilli: lowest.scaled(1000), MeanMilli: mean.scaled(1000), StdDevMilli: max(values[3].scaled(1000), 0),
	})
}

// notMeasured reports whether text represents a missing figure. mdtest prints nan, inf or NA, or 1e308, which is the
// initial value of its search for the minimum.
func notMeasured(text string) bool {
	text = strings.TrimPrefix(text, "-")
	if text == "nan" || text == "inf" || text == "NA" {
		return true
	}
	whole, _, _ := strings.Cut(text, ".")
	return len(whole) > 300 && len(whole) < 320 && strings.Trim(whole, "0123456789") == ""
}

// harmless lists warnings that contain "unable" but do not concern a measured operation.
var harmless = []string{"unable to create test directory path", "unable to use realpath", "unable to reset"}

func (s *MdtestStream) warning(text string) {
	lower := strings.ToLower(text)
	failed := strings.Contains(lower, "unable to ") || strings.HasSuffix(lower, " failed")
	if failed && !slices.ContainsFunc(harmless, func(words string) bool { return strings.HasPrefix(lower, words) }) {
		s.output.FailedOperations++
		if s.output.FirstFailed == "" {
			s.output.FirstFailed = clip(text)
		}
		return
	}
	before := len(s.output.Warnings)
	if s.output.Warnings = appendOnce(s.output.Warnings, text); len(s.output.Warnings) == before && before >= maxKept {
		s.output.MoreWarnings++
	}
}

func (s *MdtestStream) damaged(line int, reason string) {
	if len(s.output.Damaged) < maxKept {
		s.output.Damaged = append(s.output.Damaged, Damage{Line: line, Reason: reason})
	}
}
