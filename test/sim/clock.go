package sim

import (
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
)

// Clock is a machine's clock. Its monotonic time has its own origin and speed, and its wall clock has an offset.
type Clock struct {
	origin time.Time
	// driftPPM is the drift of the monotonic time in parts per million. It is positive if the clock is fast.
	driftPPM int64
	// WallOff is the time by which the wall clock is ahead.
	WallOff time.Duration
}

var _ tool.Clock = Clock{}

// Monotonic implements tool.Clock.
func (c Clock) Monotonic() int64 { return c.At(time.Now()) }

// Wall implements tool.Clock.
func (c Clock) Wall() int64 { return time.Now().Add(c.WallOff).UnixNano() }

// At converts a time to the clock's monotonic time.
func (c Clock) At(t time.Time) int64 {
	since := int64(t.Sub(c.origin))
	return since + since/1_000_000*c.driftPPM
}
