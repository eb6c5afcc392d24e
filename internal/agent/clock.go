package agent

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agent/tool"
)

// SystemClock is a tool.Clock that reads CLOCK_MONOTONIC and CLOCK_REALTIME.
type SystemClock struct{}

// Monotonic implements tool.Clock.
func (SystemClock) Monotonic() int64 { return read(unix.CLOCK_MONOTONIC) }

// Wall implements tool.Clock.
func (SystemClock) Wall() int64 { return read(unix.CLOCK_REALTIME) }

func read(id int32) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(id, &now); err != nil {
		// CLOCK_MONOTONIC and CLOCK_REALTIME exist on every Linux system, so clock_gettime cannot fail with a valid
		// pointer.
		panic(err)
	}
	return now.Nano()
}

// sleepUntil returns when the monotonic clock has reached the given time, or when ctx is done.
func sleepUntil(ctx context.Context, clock tool.Clock, at int64) error {
	for {
		left := time.Duration(at - clock.Monotonic())
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
