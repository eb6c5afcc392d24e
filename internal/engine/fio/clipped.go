package fio

import "strings"

// clippedHalf is how much is kept of the head and of the tail of a long text.
const clippedHalf = 8 << 10

// clippedText keeps the head and the tail of a text of any length.
type clippedText struct {
	head []byte
	tail []byte
	cut  bool
}

func (t *clippedText) add(p []byte) {
	if room := clippedHalf - len(t.head); room > 0 {
		taken := min(room, len(p))
		t.head = append(t.head, p[:taken]...)
		p = p[taken:]
	}
	if len(p) > clippedHalf {
		p, t.cut, t.tail = p[len(p)-clippedHalf:], true, t.tail[:0]
	}
	t.tail = append(t.tail, p...)
	if len(t.tail) > 2*clippedHalf {
		t.tail = append(t.tail[:0], t.tail[len(t.tail)-clippedHalf:]...)
		t.cut = true
	}
}

// String gives the text without the space around it.
func (t *clippedText) String() string {
	tail := string(t.tail)
	if len(tail) > clippedHalf {
		tail, t.cut = tail[len(tail)-clippedHalf:], true
	}
	middle := ""
	if t.cut {
		middle = "\n[...]\n"
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(t.head)+middle+tail, "?"))
}
