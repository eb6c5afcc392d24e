// Package output captures what a program prints, for tests that read it while the program runs.
package output

import (
	"bytes"
	"sync"
)

// Buffer is a bytes.Buffer that can be read while it is written.
type Buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

// Write appends p to the buffer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

// String returns everything that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}
