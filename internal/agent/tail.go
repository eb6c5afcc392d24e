package agent

import "sync"

// stderrBytes limits the bytes that are kept of a tool's messages.
const stderrBytes = 16 << 10

// tail keeps the beginning and the end of its input, each up to half of a limit: the first message usually names
// the cause, and the last one how the tool ended.
type tail struct {
	limit int

	mu         sync.Mutex
	head, rest []byte
	cut        bool
}

// Write implements io.Writer; it never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	written := len(p)
	if room := t.limit/2 - len(t.head); room > 0 {
		n := min(room, len(p))
		t.head = append(t.head, p[:n]...)
		p = p[n:]
	}
	t.rest = append(t.rest, p...)
	if over := len(t.rest) - t.limit/2; over > 0 {
		t.rest = append(t.rest[:0], t.rest[over:]...)
		t.cut = true
	}
	return written, nil
}

// note appends a message of the agent itself.
func (t *tail) note(line string) { _, _ = t.Write([]byte("storagebench: " + line + "\n")) }

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return string(t.head) + "\n[...]\n" + string(t.rest)
	}
	return string(t.head) + string(t.rest)
}
