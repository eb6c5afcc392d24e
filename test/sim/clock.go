package sim

import (
	"time"

	"github.com/storagebench/storagebench/internal/agent"
)

// Clock is that of a machine: its monotonic time began at any instant, and its wall clock is off.
type Clock struct {
	origin time.Time
	// WallOff is how far the wall clock is ahead.
	WallOff time.Duration
}

var _ agent.Clock = Clock{}

// Monotonic implements agent.Clock.
func (c Clock) Monotonic() int64 { return c.At(time.Now()) }

// Wall implements agent.Clock.
func (c Clock) Wall() int64 { return time.Now().Add(c.WallOff).UnixNano() }

// At is an instant in monotonic time.
func (c Clock) At(t time.Time) int64 { return int64(t.Sub(c.origin)) }
