package fio

import (
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
)

// wallOffset returns the current lead of the wall clock over the monotonic clock. It reads both clocks three times
// and uses the reading that took the least time, because interruptions delayed that reading the least.
func wallOffset(clock tool.Clock) int64 {
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

// evenWall is a wall clock that ignores clock changes: it reads the real clock once and then follows the monotonic
// clock. The tool stamps its status dumps with the real wall clock. Without evenWall, a jump of that clock between two
// dumps would shift all later samples of the step, possibly by hours.
type evenWall struct {
	clock  tool.Clock
	offset int64
}

func newEvenWall(clock tool.Clock) evenWall { return evenWall{clock: clock, offset: wallOffset(clock)} }

// milliseconds converts a timestamp that the tool has just written, in milliseconds of the real wall clock, to the
// evenWall clock.
func (e evenWall) milliseconds(stamp int64) int64 {
	jumped := time.Duration(wallOffset(e.clock) - e.offset)
	return stamp - jumped.Round(time.Millisecond).Milliseconds()
}

// monotonic converts an instant of the evenWall clock to the monotonic clock.
func (e evenWall) monotonic(evenNanoseconds int64) int64 { return evenNanoseconds - e.offset }
