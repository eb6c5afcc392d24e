package engine

import "strings"

// ClippedHalf is the number of bytes kept from each end of a long text.
const ClippedHalf = 8 << 10

// ClippedText collects output of any length from a tool, but stores only the beginning and the end of long output. The
// zero value is empty.
type ClippedText struct {
	head []byte
	tail []byte
	cut  bool
}

// Add appends p to the text.
func (t *ClippedText) Add(p []byte) {
	if room := ClippedHalf - len(t.head); room > 0 {
		taken := min(room, len(p))
		t.head = append(t.head, p[:taken]...)
		p = p[taken:]
	}
	if len(p) > ClippedHalf {
		p, t.cut, t.tail = p[len(p)-ClippedHalf:], true, t.tail[:0]
	}
	t.tail = append(t.tail, p...)
	if len(t.tail) > 2*ClippedHalf {
		t.tail = append(t.tail[:0], t.tail[len(t.tail)-ClippedHalf:]...)
		t.cut = true
	}
}

// String returns the text without surrounding white space. It marks dropped text with [...].
func (t *ClippedText) String() string {
	tail := string(t.tail)
	if len(tail) > ClippedHalf {
		tail, t.cut = tail[len(tail)-ClippedHalf:], true
	}
	middle := ""
	if t.cut {
		middle = "\n[...]\n"
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(t.head)+middle+tail, "?"))
}
