package ior

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// Limits on how many repetitions, rows of the summary, and messages of one kind are stored.
const (
	maxRepetitions = 1 << 16
	maxSummaries   = 256
	maxKept        = 32
)

// Stream reads the output of IOR as it arrives, in any of its formats, and returns each repetition as soon as its line
// is complete. It is an io.Writer that never fails, and tolerates interleaved text from standard error. It stores at
// most 65,536 repetitions, so its memory is bounded. The zero value is ready to use.
type Stream struct {
	// Segments is the number of segments of each rank, for example from SegmentsOf, or 0 if unknown. The output in table
	// or JSON format contains this number, but CSV does not. Without the number, the bytes of a repetition shorter than a
	// millisecond cannot be derived from its CSV figures.
	Segments int64

	lines  lineSplitter
	output Output
	given  int
	noise  engine.ClippedText

	section section
	columns []column
	facts   facts
	// next is the index of the next repetition of each operation in the current test.
	next [measure.NumOperations]int
	// moved is the number of bytes that the latest warning reported. It applies to the next row.
	moved int64
	json  jsonObject
	// rows is true once the output contains a row of the current test.
	rows bool
}

// section is the part of IOR's output to which a line belongs: the head, the rows of a test, or the summary.
type section int

const (
	sectionHead section = iota
	sectionRows
	sectionSummary
)

// facts holds the parameters that IOR printed for a test.
type facts struct {
	tasks, segments int64
}

// Write consumes the next bytes of the output.
func (s *Stream) Write(p []byte) (int, error) {
	s.output.Bytes += int64(len(p))
	s.lines.add(p, s.line)
	return len(p), nil
}

// Repetitions returns the repetitions that ended since the last call. In the JSON format, Close may complete another
// repetition, which the next call of Repetitions returns.
func (s *Stream) Repetitions() []Repetition {
	found := s.output.Repetitions[s.given:]
	s.given = len(s.output.Repetitions)
	return slices.Clip(found)
}

// Close marks the end of the output and returns everything that was found in it.
func (s *Stream) Close() Output {
	if last, ok := s.lines.rest(); ok {
		s.lastLine(last)
	}
	if s.json.open {
		s.output.Partial = true
		s.json = jsonObject{}
	}
	if s.output.Format != "" {
		s.output.Tests++
	}
	output := s.output
	output.Noise = s.noise.String()
	return output
}

// ReadOutput reads a whole output. It returns an error only if reading from r fails.
func ReadOutput(r io.Reader) (Output, error) {
	var stream Stream
	if _, err := io.Copy(&stream, r); err != nil {
		return Output{}, fmt.Errorf("read the output of IOR: %w", err)
	}
	return stream.Close(), nil
}

// lastLine processes a last line without a line break. It ignores a line that could be a truncated row.
func (s *Stream) lastLine(line textLine) {
	if s.isVersion33CSV(line) || s.message(line) {
		return
	}
	name, _, isFact := splitFact(line.text)
	if isFact && name == "Finished" || s.output.Format == FormatJSON && strings.Trim(line.text, "]} ") == "" {
		s.line(line)
		return
	}
	s.output.Partial = true
}

func (s *Stream) line(line textLine) {
	switch {
	case line.long:
		s.damaged(line.number, "a line exceeds %d bytes", maxLineBytes)
	case line.text == "", s.isVersion33CSV(line), s.message(line), s.heading(line):
	case s.output.Format == FormatJSON:
		s.jsonLine(line)
	case s.section == sectionRows && s.row(line):
	case s.section == sectionSummary && s.summary(line):
	case s.fact(line):
	default:
		s.foreign(line)
	}
}

// isVersion33CSV reports whether a line is the CSV of IOR 3.3.0, which consists of one line with the version, dates and
// parameters, and has no rows.
func (s *Stream) isVersion33CSV(line textLine) bool {
	if s.output.Format != "" || line.number > 8 {
		return false
	}
	digit := strings.IndexFunc(line.text, func(c rune) bool { return c < '0' || c > '9' })
	if digit <= 0 || line.text[digit] != '.' {
		return false
	}
	for _, day := range []string{"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "} {
		if at := strings.Index(line.text, day); at > 0 && at < 32 && !strings.Contains(line.text[:at], " ") {
			s.output.Format, s.output.Version = FormatEmptyCSV, line.text[:at]
			return true
		}
	}
	return false
}

// heading processes a line that starts another part of the output. It returns false for other lines.
func (s *Stream) heading(line textLine) bool {
	text := line.text
	switch {
	case strings.HasPrefix(text, "access,bw(MiB/s),"):
		s.begin(FormatCSV, readHeading(strings.Split(text, ",")), line.number)
	case strings.HasPrefix(text, "access ") && strings.Contains(text, " bw(MiB/s) "):
		s.begin(FormatTable, readHeading(strings.Fields(text)), line.number)
	case strings.HasPrefix(text, "Operation ") && strings.Contains(text, " Max(MiB) "):
		s.section, s.columns = sectionSummary, nil
		if !slices.Equal(strings.Fields(text), summaryHeading) {
			s.section = sectionHead
			s.warn("the summary of this IOR version has an unknown format and is ignored")
		}
	case strings.HasPrefix(text, "IOR-") && s.output.Version == "":
		version, rest, _ := strings.Cut(strings.TrimPrefix(text, "IOR-"), ":")
		if !strings.Contains(rest, "MPI Coordinated Test") || len(version) > 32 {
			return false
		}
		s.output.Version, s.output.Format = version, FormatTable
	case s.output.Format == "" && strings.HasPrefix(strings.TrimLeft(text, "{ "), `"Version": "`):
		s.output.Format = FormatJSON
		s.jsonLine(line)
	case text == "Invalid options", strings.HasPrefix(text, "Synopsis "):
		s.output.Usage = true
	default:
		return false
	}
	return true
}

// begin processes the column headings, which precede the rows of a test.
func (s *Stream) begin(format Format, columns []column, line int) {
	if columns == nil {
		s.damaged(line, "unknown headings in the %s", format)
		s.section = sectionHead
		return
	}
	if s.rows {
		s.nextTest()
	}
	s.output.Format, s.section, s.columns = format, sectionRows, columns
}

func (s *Stream) nextTest() {
	s.output.Tests++
	s.rows = false
	s.next = [measure.NumOperations]int{}
}

// row processes a line with the figures of a repetition. It returns false for other lines.
func (s *Stream) row(line textLine) bool {
	var fields []string
	if s.output.Format == FormatCSV {
		fields = strings.Split(line.text, ",")
	} else {
		fields = strings.Fields(line.text)
	}
	operation, isRow := operationOf(fields[0])
	if !isRow {
		if fields[0] == "remove" || fields[0] == "------" {
			return true
		}
		if at, ok := embeddedRow(line.text); ok && s.output.Format == FormatCSV {
			s.damaged(line.number, "a row starts in the middle of a line: %q", clip(line.text[at:]))
			return true
		}
		return false
	}
	read, err := readRow(s.columns, fields)
	if err != nil {
		if s.output.Format == FormatTable && len(fields) > 1 && !digits(fields[1][:1]) {
			// The line is a sentence that begins with "read" or "write", not a row of figures.
			return false
		}
		s.damaged(line.number, "%v: %q", err, clip(line.text))
		return true
	}
	s.repetition(&read, operation, line.number)
	return true
}

// embeddedRow finds a CSV row that starts in the middle of a line.
func embeddedRow(text string) (int, bool) {
	for _, word := range []string{"write,", "read,"} {
		at := strings.Index(text, word)
		if at > 0 && len(text) > at+len(word) && digits(text[at+len(word):at+len(word)+1]) {
			return at, true
		}
	}
	return 0, false
}

// repetition checks the figures of a row and adds the repetition to the output.
func (s *Stream) repetition(read *row, operation measure.Operation, line int) {
	moved := s.moved
	s.moved = 0
	if read.index < 0 {
		read.index = s.next[operation]
	}
	if read.tasks == 0 {
		read.tasks = int(min(s.facts.tasks, 1<<30))
	}
	segments := cmp.Or(s.facts.segments, s.Segments)
	// If no warning precedes its row, a repetition moved the number of bytes that its parameters imply.
	if block, ok := read.blockBytes(); ok && moved == 0 && segments > 0 && read.tasks > 0 {
		if whole := float64(block) * float64(segments) * float64(read.tasks); whole < maxNumber {
			moved = rounded(whole)
		}
	}
	result, err := read.repetition(operation, moved)
	switch {
	case err != nil:
		s.damaged(line, "%v", err)
		return
	case read.index < s.next[operation]:
		s.damaged(line, "duplicate repetition %d of %s", read.index, read.access)
		return
	case read.index > s.next[operation]:
		s.damaged(line, "repetition %d of %s is followed by repetition %d", s.next[operation]-1, read.access, read.index)
	}
	s.next[operation] = read.index + 1
	s.rows = true
	if read.tasks > 0 {
		s.output.Tasks = read.tasks
	}
	if len(s.output.Repetitions) >= maxRepetitions {
		s.damaged(line, "more than %d repetitions: the rest is ignored", maxRepetitions)
		return
	}
	result.Test = s.output.Tests
	s.output.Repetitions = append(s.output.Repetitions, result)
}

func (s *Stream) damaged(line int, format string, arguments ...any) {
	if len(s.output.Damaged) < maxKept {
		s.output.Damaged = append(s.output.Damaged, Damage{Line: line, Reason: fmt.Sprintf(format, arguments...)})
	}
}

func (s *Stream) foreign(line textLine) {
	s.noise.Add([]byte(line.text + "\n"))
}
