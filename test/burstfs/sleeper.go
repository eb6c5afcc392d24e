package burstfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper sleeps for a duration or until it is woken, with a precision of some ten microseconds. Timers of the Go
// runtime are up to a millisecond late, a quarter of the latency of a cloud disk.
type sleeper struct{ event int }

// processors is the minimum GOMAXPROCS of a process with a store. It exceeds the number of threads that wait in system
// calls: the library's readers of requests, at most 16, and the sleeper. Such a thread keeps its processor until the
// runtime's monitor takes it, up to 10 ms later. With two processors, due answers had to wait for a free processor: 1 %
// of the requests of a store with 1,000 operations per second were 3 ms to 15 ms late.
const processors = 32

func newSleeper() (*sleeper, error) {
	if runtime.GOMAXPROCS(0) < processors {
		runtime.GOMAXPROCS(processors)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making an event to wake the store with: %w", err)
	}
	return &sleeper{event: event}, nil
}

// prepare binds the calling goroutine to a thread with minimal timer slack.
func (s *sleeper) prepare() {
	runtime.LockOSThread()
	// If this fails, timers are up to 50 us late, which is acceptable.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

func (s *sleeper) sleep(d time.Duration) {
	timeout := unix.NsecToTimespec(max(0, d.Nanoseconds()))
	fds := []unix.PollFd{{Fd: int32(s.event), Events: unix.POLLIN}}
	// The caller checks the clock, so an interrupted sleep may end early.
	if n, err := unix.Ppoll(fds, &timeout, nil); err == nil && n > 0 {
		var count [8]byte
		_, _ = unix.Read(s.event, count[:])
	}
}

// wake ends the current sleep, or the next one if there is none.
func (s *sleeper) wake() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	// EAGAIN: the counter is full, so a wake-up is already pending.
	if _, err := unix.Write(s.event, one); err != nil && !errors.Is(err, unix.EAGAIN) {
		panic(fmt.Sprintf("waking the store: %v", err))
	}
}

func (s *sleeper) close() { _ = unix.Close(s.event) }
