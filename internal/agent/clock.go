package agent

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// Clock reads the clocks of this machine, in nanoseconds.
type Clock interface {
	// Monotonic returns the time of a clock that never jumps. Its zero point is arbitrary.
	Monotonic() int64
	// Wall returns the time since the Unix epoch. The tool's timestamps use this clock.
	Wall() int64
}

// SystemClock reads CLOCK_MONOTONIC and CLOCK_REALTIME.
type SystemClock struct{}

// Monotonic implements Clock.
func (SystemClock) Monotonic() int64 { return read(unix.CLOCK_MONOTONIC) }

// Wall implements Clock.
func (SystemClock) Wall() int64 { return read(unix.CLOCK_REALTIME) }

func read(id int32) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(id, &now); err != nil {
		// Both clocks exist on every Linux; the call cannot fail with a valid pointer.
		panic(err)
	}
	return now.Nano()
}

// wallOffset returns how far the wall clock is currently ahead of the monotonic clock. It reads both clocks three
// times and uses the fastest reading, because that was interrupted least.
func wallOffset(clock Clock) int64 {
	const readings = 3
	var offset, shortest int64
	for i := range readings {
		before := clock.Monotonic()
		wall := clock.Wall()
		took := clock.Monotonic() - before
		if i == 0 || took < shortest {
			shortest, offset = took, wall-before-took/2
		}
	}
	return offset
}

// evenWall is a wall clock that ignores clock changes: it is read once and then follows the monotonic clock. The
// tool stamps its status dumps with the real wall clock. Without evenWall, a jump of that clock between two dumps
// would shift one of them, and with it all samples of the step, by hours.
type evenWall struct {
	clock  Clock
	offset int64
}

func newEvenWall(clock Clock) evenWall { return evenWall{clock: clock, offset: wallOffset(clock)} }

// milliseconds converts a timestamp that the tool has just written, in milliseconds of the real wall clock, to the
// evenWall clock.
func (e evenWall) milliseconds(stamp int64) int64 {
	jumped := time.Duration(wallOffset(e.clock) - e.offset)
	return stamp - jumped.Round(time.Millisecond).Milliseconds()
}

// monotonic converts an instant of the evenWall clock to the monotonic clock.
func (e evenWall) monotonic(evenNanoseconds int64) int64 { return evenNanoseconds - e.offset }

// sleepUntil returns at an instant of the monotonic clock, or when the context ends if that is earlier.
func sleepUntil(ctx context.Context, clock Clock, at int64) error {
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
