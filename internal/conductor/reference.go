package conductor

import "time"

// Reference is a clock that starts at the wall clock's time and then advances with the monotonic clock, so that it
// never jumps.
type Reference struct {
	base time.Time
}

// NewReference returns a reference clock that starts at the wall clock's time.
func NewReference() Reference { return Reference{base: time.Now()} }

// Now returns the current instant, in UTC and without a monotonic reading.
func (r Reference) Now() time.Time {
	return r.base.Round(0).Add(time.Since(r.base)).UTC()
}
