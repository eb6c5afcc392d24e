package conductor

import "time"

// Reference is a clock that reads like the wall clock but goes on evenly: it is set once, when the
// conductor starts, and follows the monotonic clock from there.
type Reference struct {
	base time.Time
}

// NewReference sets a reference clock by the wall clock.
func NewReference() Reference { return Reference{base: time.Now()} }

// Now is the present instant, in UTC and without a monotonic reading of its own.
func (r Reference) Now() time.Time {
	return r.base.Round(0).Add(time.Since(r.base)).UTC()
}
