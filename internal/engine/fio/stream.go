package fio

import (
	"errors"
	"fmt"
	"io"
)

// maxDamages bounds how many unreadable parts are told apart.
const maxDamages = 16

// Damage is a part of the output that began like a document and is none.
type Damage struct {
	// Offset of its first byte in the output.
	Offset int64
	Err    error
}

func (d Damage) String() string { return fmt.Sprintf("at byte %d: %v", d.Offset, d.Err) }

// Output is what a Stream found.
type Output struct {
	// Documents is the number of documents, Last the last of them, nil when there was none.
	Documents int
	Last      *Document
	// Damaged are the first parts that began like a document and are none; DamagedAfterLast
	// tells that one of all of them came after Last, so that Last may not be the final one.
	Damaged          []Damage
	DamagedAfterLast bool
	// Partial tells that the output ended inside of a document.
	Partial bool
	// Noise is the text outside of documents, NoiseAfterLast that after Last: head and tail
	// of it where it is long.
	Noise          string
	NoiseAfterLast string
	// Bytes of the output.
	Bytes int64
}

// Stream takes fio's standard output as it comes and gives each document as soon as its last
// byte is there. It is an io.Writer that never fails. Memory is bounded by the largest
// document, at most 64 MiB. The zero value is ready to use.
type Stream struct {
	output    Output
	found     []*Document
	noise     clippedText
	afterLast clippedText

	// candidate holds the bytes of what may become a document, from offset start on.
	candidate []byte
	start     int64
	live      bool
	scan      scanner
	// again ends the part of the output that was read before: there only a "{" at the start
	// of a line can begin a document, as fio writes it. That bounds the work.
	again     int64
	lineStart bool
	begun     bool
}

// Write takes the next bytes of the output.
func (s *Stream) Write(p []byte) (int, error) {
	if !s.begun {
		s.begun, s.lineStart = true, true
	}
	at := s.output.Bytes
	s.output.Bytes += int64(len(p))
	s.feed(p, at)
	return len(p), nil
}

// Documents gives the documents that were completed since the last call.
func (s *Stream) Documents() []*Document {
	found := s.found
	s.found = nil
	return found
}

// Close tells that the output has ended and gives all that is known of it.
func (s *Stream) Close() Output {
	if s.live {
		s.output.Partial = true
		s.damaged(s.start, errors.New("the output ends inside of it"))
		s.text(s.candidate)
		s.drop()
	}
	output := s.output
	output.Noise = s.noise.String()
	output.NoiseAfterLast = s.afterLast.String()
	return output
}

// ReadOutput reads a whole output. Errors are those of r.
func ReadOutput(r io.Reader) (Output, error) {
	var stream Stream
	if _, err := io.Copy(&stream, r); err != nil {
		return Output{}, fmt.Errorf("read the output of fio: %w", err)
	}
	return stream.Close(), nil
}

// feed takes bytes that stand at an offset of the output. The bytes of a candidate that
// failed are taken again before the rest. That nests no deeper than a document may.
func (s *Stream) feed(p []byte, at int64) {
	for len(p) > 0 {
		if !s.live {
			skipped := s.skip(p, at)
			p, at = p[skipped:], at+int64(skipped)
			continue
		}
		used, done, err := s.follow(p)
		s.candidate = append(s.candidate, p[:used]...)
		p, at = p[used:], at+int64(used)
		switch {
		case done:
			s.complete()
		case err != nil:
			// All but its "{" is looked at again.
			s.damaged(s.start, err)
			failed, start := s.candidate, s.start
			s.candidate = nil
			s.drop()
			s.text(failed[:1])
			s.lineStart = false
			s.again = max(s.again, start+int64(len(failed)))
			s.feed(failed[1:], start+1)
		case int64(len(s.candidate)) > maxDocumentBytes:
			s.damaged(s.start, errTooLarge)
			s.drop()
			s.lineStart = false
		}
	}
}

// skip takes noise up to the next "{" that may begin a document.
func (s *Stream) skip(p []byte, at int64) int {
	for i, c := range p {
		if c == '{' && (s.lineStart || at+int64(i) >= s.again) {
			s.text(p[:i])
			s.live, s.start = true, at+int64(i)
			return i
		}
		s.lineStart = c == '\n'
	}
	s.text(p)
	return len(p)
}

func (s *Stream) follow(p []byte) (used int, done bool, err error) {
	for i, c := range p {
		done, err = s.scan.next(c)
		if err != nil {
			// The byte that can not be there is not part of the candidate.
			return i, false, err
		}
		if done {
			return i + 1, true, nil
		}
	}
	return len(p), false, nil
}

func (s *Stream) complete() {
	document, err := Decode(s.candidate)
	if err != nil {
		s.damaged(s.start, err)
		s.text(s.candidate)
		s.drop()
		return
	}
	document.Offset = s.start
	s.output.Documents++
	s.output.Last = document
	s.output.DamagedAfterLast = false
	s.afterLast = clippedText{}
	s.found = append(s.found, document)
	s.drop()
}

func (s *Stream) drop() {
	s.live, s.scan, s.lineStart = false, scanner{open: s.scan.open[:0]}, false
	if cap(s.candidate) > 1<<20 {
		s.candidate = nil
	}
	s.candidate = s.candidate[:0]
}

func (s *Stream) damaged(at int64, err error) {
	s.output.DamagedAfterLast = true
	if len(s.output.Damaged) < maxDamages {
		s.output.Damaged = append(s.output.Damaged, Damage{Offset: at, Err: err})
	}
}

func (s *Stream) text(p []byte) {
	s.noise.add(p)
	s.afterLast.add(p)
}
