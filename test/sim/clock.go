package sim

import (
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
)

// Clock is a machine's clock: its monotonic time has its own origin and its own speed, and its wall clock is off.
type Clock struct {
	origin time.Time
	// driftPPM is by how many parts per million the monotonic time is fast.
	driftPPM int64
	// WallOff is how far the wall clock is ahead.
	WallOff time.Duration
}

var _ tool.Clock = Clock{}

// Monotonic implements tool.Clock.
func (c Clock) Monotonic() int64 { return c.At(time.Now()) }

// Wall implements tool.Clock.
func (c Clock) Wall() int64 { return time.Now().Add(c.WallOff).UnixNano() }

// At returns an instant in monotonic time.
func (c Clock) At(t time.Time) int64 {
	since := int64(t.Sub(c.origin))
	return since + since/1_000_000*c.driftPPM
}
