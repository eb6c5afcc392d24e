package conductor

import "time"

// Reference is a clock that takes the wall clock's time when it is created and then follows the monotonic clock, so
// that it never jumps.
type Reference struct {
	base time.Time
}

// NewReference returns a reference clock that starts at the wall clock's time.
func NewReference() Reference { return Reference{base: time.Now()} }

// Now returns the current instant, in UTC and without a monotonic reading.
func (r Reference) Now() time.Time {
	return r.base.Round(0).Add(time.Since(r.base)).UTC()
}
