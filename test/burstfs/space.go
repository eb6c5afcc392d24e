package burstfs

import (
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// lateSpace reports the space of files late, as an attribute cache does: until delay after the last write, it reports
// the earlier value. With a zero delay it changes nothing.
type lateSpace struct {
	delay time.Duration

	mu    sync.Mutex
	files map[uint64]*shownSpace
}

// shownSpace is the reported space of a file.
type shownSpace struct {
	written time.Time
	blocks  uint64
}

func (l *lateSpace) of(file uint64) *shownSpace {
	if l.files == nil {
		l.files = map[uint64]*shownSpace{}
	}
	if l.files[file] == nil {
		l.files[file] = &shownSpace{}
	}
	return l.files[file]
}

// wrote records the time of a write to a file.
func (l *lateSpace) wrote(file uint64) {
	if l.delay == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(file).written = time.Now()
}

// show sets the space in a file's attributes to the reported value.
func (l *lateSpace) show(file uint64, attributes *fuse.Attr) {
	if l.delay == 0 || attributes.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	shown := l.of(file)
	if time.Since(shown.written) >= l.delay {
		shown.blocks = attributes.Blocks
	}
	attributes.Blocks = shown.blocks
}

// forget removes the state of a removed file.
func (l *lateSpace) forget(file uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.files, file)
}
