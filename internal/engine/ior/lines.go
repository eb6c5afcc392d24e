package ior

import (
	"bytes"
	"strings"
	"unicode"
)

// maxLineBytes is the maximum length of a line. IOR's own lines are a few hundred bytes long at most. A line can also
// contain a path, of up to 4096 bytes.
const maxLineBytes = 64 << 10

// lineSplitter splits bytes into lines. It passes on each line, without its line break and trailing white space, as
// soon as the line is complete. If a line is too long, it passes on only the beginning, and sets textLine.long.
type lineSplitter struct {
	pending []byte
	// skipping is true while the rest of an overlong line is discarded.
	skipping bool
	number   int
}

type textLine struct {
	number int
	text   string
	// long is true if text is only the beginning of the line.
	long bool
}

// add splits p into lines, and calls take for each complete line.
func (s *lineSplitter) add(p []byte, take func(textLine)) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		if !s.skipping {
			room := maxLineBytes - len(s.pending)
			s.pending = append(s.pending, part[:min(room, len(part))]...)
			if len(part) > room {
				s.skipping = true
				take(s.line(true))
			}
		}
		if end < 0 {
			return
		}
		if !s.skipping {
			take(s.line(false))
		}
		s.skipping = false
		p = p[end+1:]
	}
}

// rest returns the text after the last line break, if any.
func (s *lineSplitter) rest() (textLine, bool) {
	if s.skipping || len(s.pending) == 0 {
		return textLine{}, false
	}
	return s.line(false), true
}

func (s *lineSplitter) line(long bool) textLine {
	s.number++
	text := strings.ToValidUTF8(string(s.pending), "?")
	if cap(s.pending) > 4<<10 {
		s.pending = nil
	}
	s.pending = s.pending[:0]
	return textLine{number: s.number, text: untagged(strings.TrimRightFunc(text, unicode.IsSpace)), long: long}
}

// untagged removes the prefix that mpirun adds to a line with --tag-output and --timestamp-output: "Sat Nov 21
// 07:13:54 2026[1,0]<stdout>:".
func untagged(line string) string {
	const stamp = len("Sat Nov 21 07:13:54 2026")
	rest := line
	if len(rest) > stamp && rest[stamp] == '[' && rest[13] == ':' && rest[16] == ':' {
		rest = rest[stamp:]
	}
	if !strings.HasPrefix(rest, "[") {
		return line
	}
	rank, after, found := strings.Cut(rest[1:], "]<std")
	job, number, comma := strings.Cut(rank, ",")
	if !found || !comma || !digits(job) || !digits(number) {
		return line
	}
	for _, name := range []string{"out>:", "err>:"} {
		if text, ok := strings.CutPrefix(after, name); ok {
			return text
		}
	}
	return line
}

func digits(text string) bool {
	if text == "" || len(text) > 18 {
		return false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
