package v1alpha1

import (
	"fmt"
	"regexp"
	"time"
)

// Duration is a length of time as a string: whole numbers of h, m, s and ms, in that order, such as
// "90s", "1h30m" or "250ms". It is a string and not a number so that the unit is always visible.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') && duration(self) <= duration('168h')",message="use whole numbers with the units h, m, s, ms in that order, such as 1h30m; at most 168h"
type Duration string

// durationPattern is the pattern of a Duration in the CRDs. It limits the number of digits, so that the duration in
// nanoseconds fits into an int64.
var durationPattern = regexp.MustCompile(`^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$`)

// Parse returns the length of time. An empty Duration is zero. For text that the API server rejects, Parse returns an
// error that describes the correct format.
func (d Duration) Parse() (time.Duration, error) {
	if d == "" {
		return 0, nil
	}
	if !durationPattern.MatchString(string(d)) {
		return 0, fmt.Errorf("duration %q: use whole numbers with the units h, m, s, ms in that order, such as 1h30m or 90s", string(d))
	}
	length, err := time.ParseDuration(string(d))
	if err != nil {
		return 0, fmt.Errorf("duration %q: %w", string(d), err)
	}
	return length, nil
}

// DurationOf formats d for the API, rounded down to whole milliseconds. It returns "0s" for a negative d, because no
// field of the API is negative.
func DurationOf(d time.Duration) Duration {
	if d < time.Millisecond {
		return "0s"
	}
	d = d.Truncate(time.Millisecond)
	var text string
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if count := d / unit.length; count > 0 {
			text += fmt.Sprintf("%d%s", int64(count), unit.name)
			d -= count * unit.length
		}
	}
	return Duration(text)
}

// ShortDuration is a length of time as a string: whole numbers of s, ms and us,
// in that order, such as "250ms" or "500us".
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}s)?([0-9]{1,9}ms)?([0-9]{1,9}us)?$') && self.matches('[1-9]')",message="use whole numbers above zero with the units s, ms, us in that order, such as 250ms or 500us"
type ShortDuration string

var shortDurationPattern = regexp.MustCompile(`^([0-9]{1,6}s)?([0-9]{1,9}ms)?([0-9]{1,9}us)?$`)

// Parse returns the length of time. For text that the API server rejects, it returns an error that describes the
// correct format.
func (d ShortDuration) Parse() (time.Duration, error) {
	length, err := time.ParseDuration(string(d))
	if err != nil || length <= 0 || !shortDurationPattern.MatchString(string(d)) {
		return 0, fmt.Errorf("%q: use whole numbers above zero with the units s, ms, us in that order, such as 250ms or 500us", string(d))
	}
	return length, nil
}
