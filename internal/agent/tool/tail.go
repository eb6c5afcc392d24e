package tool

import "sync"

// MessageBytes limits how much of a tool's messages is kept.
const MessageBytes = 16 << 10

// Tail keeps the beginning and the end of its input, each up to half of a limit. The first message usually states the
// cause, and the last message states how the tool ended.
type Tail struct {
	// Limit is the maximum number of bytes that are kept.
	Limit int

	mu         sync.Mutex
	head, rest []byte
	cut        bool
}

// Write implements io.Writer; it never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	written := len(p)
	if room := t.Limit/2 - len(t.head); room > 0 {
		n := min(room, len(p))
		t.head = append(t.head, p[:n]...)
		p = p[n:]
	}
	t.rest = append(t.rest, p...)
	if over := len(t.rest) - t.Limit/2; over > 0 {
		t.rest = append(t.rest[:0], t.rest[over:]...)
		t.cut = true
	}
	return written, nil
}

// Note appends a message of the agent itself.
func (t *Tail) Note(line string) { _, _ = t.Write([]byte("storagebench: " + line + "\n")) }

// String returns the part of the input that was kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return string(t.head) + "\n[...]\n" + string(t.rest)
	}
	return string(t.head) + string(t.rest)
}
