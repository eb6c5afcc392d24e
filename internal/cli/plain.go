package cli

import (
	"io"
	"sync"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// plainWriter replaces control characters and characters that hide or reorder text in all output, because names,
// files, error messages and responses from a cluster can contain anything.
type plainWriter struct {
	mu sync.Mutex
	to *transform.Writer
}

func newPlainWriter(w io.Writer) *plainWriter {
	return &plainWriter{to: transform.NewWriter(w, runes.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}))}
}

func (p *plainWriter) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to.Write(text)
}

// close writes a replacement for a character that is still incomplete at the end of the output.
func (p *plainWriter) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.to.Close() // ignore the error, which concerns only this last character: Write has reported all other errors
}
