package burstfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper sleeps until a moment or until it is woken, to some ten microseconds. The timers of the Go runtime
// are late by up to a millisecond, which is a quarter of the latency of a cloud disk.
type sleeper struct{ event int }

// processors is the least GOMAXPROCS of a process with a store. It exceeds the number of threads that wait in system
// calls: the library's readers of requests, at most 16, and the sleeper. Such a thread keeps its processor until the
// runtime's monitor takes it, up to 10 ms later. With two processors, an answer that was due found none: 1 % of the
// requests of a store of 1,000/s were 3 ms to 15 ms late.
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

// prepare binds the calling goroutine to a thread whose timers the kernel does not put off.
func (s *sleeper) prepare() {
	runtime.LockOSThread()
	// Without it timers are up to 50 us late; that is no error.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

func (s *sleeper) sleep(d time.Duration) {
	timeout := unix.NsecToTimespec(max(0, d.Nanoseconds()))
	fds := []unix.PollFd{{Fd: int32(s.event), Events: unix.POLLIN}}
	// An interrupted sleep is a short one; who sleeps looks at the clock.
	if n, err := unix.Ppoll(fds, &timeout, nil); err == nil && n > 0 {
		var count [8]byte
		_, _ = unix.Read(s.event, count[:])
	}
}

// wake ends a sleep, or the next one if nobody sleeps.
func (s *sleeper) wake() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	// EAGAIN: it has been woken very often and still is to wake up.
	if _, err := unix.Write(s.event, one); err != nil && !errors.Is(err, unix.EAGAIN) {
		panic(fmt.Sprintf("waking the store: %v", err))
	}
}

func (s *sleeper) close() { _ = unix.Close(s.event) }
