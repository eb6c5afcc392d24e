package fio

import (
	"errors"
	"fmt"
	"io"

	"github.com/storagebench/storagebench/internal/engine"
)

// maxDamages is the maximum number of unreadable documents in Output.Damaged.
const maxDamages = 16

// Damage is a document that cannot be read.
type Damage struct {
	// Offset is the position of the document's first byte in the output.
	Offset int64
	Err    error
}

func (d Damage) String() string { return fmt.Sprintf("at byte %d: %v", d.Offset, d.Err) }

// Output holds everything that a Stream found in fio's output.
type Output struct {
	// Documents is the number of documents that were read. Last is the last document, or nil if there was none.
	Documents int
	Last      *Document
	// Damaged lists the first maxDamages documents that cannot be read. DamagedAfterLast is true if an unreadable
	// document followed Last. Last is then not the final document.
	Damaged          []Damage
	DamagedAfterLast bool
	// Partial is true if the output ended inside a document.
	Partial bool
	// Noise is the text outside of documents. NoiseAfterLast is the noise after Last. Only the beginning and the end of
	// a long text are stored.
	Noise          string
	NoiseAfterLast string
	// Bytes is the length of the output.
	Bytes int64
}

// Stream reads fio's standard output as it arrives and returns each document as soon as its last byte has arrived. It
// is an io.Writer that never fails. It buffers at most one document, of up to 64 MiB, and finds documents in a single
// pass. The zero value is ready to use.
//
// A fio document begins with "{" and the key "fio version". These bytes cannot occur within a document, because
// quotes in strings are escaped. So they always begin a document, and a document that is still open when they arrive is
// truncated.
type Stream struct {
	output    Output
	found     []*Document
	noise     engine.ClippedText
	afterLast engine.ClippedText

	// pending holds the bytes of an incomplete document, which begins at offset start, or bytes that may be the
	// beginning of a document.
	pending []byte
	start   int64
	live    bool
	scan    scanner
	head    headMatcher
}

// Write consumes the next bytes of the output.
func (s *Stream) Write(p []byte) (int, error) {
	for _, c := range p {
		s.next(c)
	}
	return len(p), nil
}

// Documents returns the documents that were completed since the last call.
func (s *Stream) Documents() []*Document {
	found := s.found
	s.found = nil
	return found
}

// Close marks the end of the output and returns everything that was found in it.
func (s *Stream) Close() Output {
	if s.live {
		s.output.Partial = true
		s.damaged(errors.New("the output ends before the JSON document is complete"))
	}
	s.live = false
	s.flush(0)
	output := s.output
	output.Noise = s.noise.String()
	output.NoiseAfterLast = s.afterLast.String()
	return output
}

// ReadOutput reads a whole output. It returns an error only if reading from r fails.
func ReadOutput(r io.Reader) (Output, error) {
	var stream Stream
	if _, err := io.Copy(&stream, r); err != nil {
		return Output{}, fmt.Errorf("read the output of fio: %w", err)
	}
	return stream.Close(), nil
}

func (s *Stream) next(c byte) {
	s.output.Bytes++
	s.pending = append(s.pending, c)
	switch matched := s.head.next(c); {
	case matched > 0:
		s.begin(matched)
	case s.live:
		s.follow(c)
	case s.head.length != len(s.pending):
		s.drop()
	}
}

// begin starts a document when its head is complete. The head is the beginning of the document, up to and including its
// first key. The parameter is the length of the head in bytes; pending ends with the head.
func (s *Stream) begin(head int) {
	if s.live {
		s.damaged(errors.New("another JSON document starts before this one is complete"))
	}
	s.flush(head)
	s.live, s.start = true, s.output.Bytes-int64(head)
	s.scan = scanner{open: s.scan.open[:0]}
	for _, c := range s.pending {
		// The scanner cannot fail, because a head is the beginning of valid JSON.
		_, _ = s.scan.next(c)
	}
}

func (s *Stream) follow(c byte) {
	done, err := s.scan.next(c)
	switch {
	case done:
		s.complete()
	case err != nil:
		s.damaged(err)
		s.drop()
	case len(s.pending) > maxDocumentBytes:
		s.damaged(errTooLarge)
		s.drop()
	}
}

func (s *Stream) complete() {
	document, err := Decode(s.pending)
	if err != nil {
		s.damaged(err)
		s.drop()
		return
	}
	document.Offset = s.start
	s.output.Documents++
	s.output.Last = document
	s.output.DamagedAfterLast = false
	s.afterLast = engine.ClippedText{}
	s.found = append(s.found, document)
	s.live = false
	s.pending = s.pending[:0]
}

// drop abandons the current document and moves its bytes to the noise, except for bytes at the end that may be the
// beginning of another document.
func (s *Stream) drop() {
	s.live = false
	s.flush(s.head.length)
}

// flush moves the pending bytes to the noise, except for the last `kept` bytes.
func (s *Stream) flush(kept int) {
	given := len(s.pending) - kept
	s.noise.Add(s.pending[:given])
	s.afterLast.Add(s.pending[:given])
	rest := s.pending[given:]
	if cap(s.pending) > 1<<20 {
		s.pending = nil
	}
	s.pending = append(s.pending[:0], rest...)
}

func (s *Stream) damaged(err error) {
	s.output.DamagedAfterLast = true
	if len(s.output.Damaged) < maxDamages {
		s.output.Damaged = append(s.output.Damaged, Damage{Offset: s.start, Err: err})
	}
}

// headKey is the first key of every fio document.
const headKey = `"fio version"`

// maxHeadSpace limits the white space between the "{" and the first key of a document. fio itself writes "\n  ".
const maxHeadSpace = 64

// headMatcher finds the beginning of documents.
type headMatcher struct {
	// length is the number of bytes matched so far: the "{", the white space after it, and the matched part of the key. It
	// is 0 if there is no match.
	length int
	inKey  int
}

// next consumes a byte. It returns the length of the head if the byte completes a head, or 0 otherwise.
func (h *headMatcher) next(c byte) int {
	space := c == ' ' || c == '\n' || c == '\t' || c == '\r'
	switch {
	case h.length > 0 && c == headKey[h.inKey]:
		h.length++
		if h.inKey++; h.inKey == len(headKey) {
			matched := h.length
			h.length, h.inKey = 0, 0
			return matched
		}
	case h.length > 0 && h.inKey == 0 && space && h.length < maxHeadSpace:
		h.length++
	case c == '{':
		h.length, h.inKey = 1, 0
	default:
		h.length, h.inKey = 0, 0
	}
	return 0
}
