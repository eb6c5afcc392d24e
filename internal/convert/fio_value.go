package convert

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// fioIEC matches sizes such as 4KiB, which fio reads as powers of 1000. For compatibility with old job files, fio's
// default kb_base=1024 swaps the meanings of KiB and KB.
var fioIEC = regexp.MustCompile(`(?i)([0-9]{1,12})([kmgtp])ib`)

// fioBytes replaces each size that matches fioIEC with its number of bytes as fio interprets it. changed is true if any
// size was replaced.
func fioBytes(value string) (written string, changed bool) {
	written = fioIEC.ReplaceAllStringFunc(value, func(text string) string {
		parts := fioIEC.FindStringSubmatch(text)
		number, err := strconv.ParseUint(parts[1], 10, 64)
		if err != nil {
			return text
		}
		for range strings.Index("kmgtp", strings.ToLower(parts[2])) + 1 {
			if number > 1<<53 {
				return text
			}
			number *= 1000
		}
		return strconv.FormatUint(number, 10)
	})
	return written, written != value
}

var fioTimePattern = regexp.MustCompile(`^([0-9]{1,9})(us|usec|ms|msec|s|sec|m|min|h|hr|d|)$`)

// fioTime parses a time. A number without a unit is in seconds.
func fioTime(value string) (time.Duration, error) {
	parts := fioTimePattern.FindStringSubmatch(strings.ToLower(value))
	if parts == nil {
		return 0, errors.New("use a time such as 60, 60s or 5m")
	}
	number, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, errors.New("the time is too long")
	}
	units := map[string]time.Duration{
		"us": time.Microsecond, "usec": time.Microsecond, "ms": time.Millisecond, "msec": time.Millisecond, "": time.Second, "s": time.Second,
		"sec": time.Second, "m": time.Minute, "min": time.Minute, "h": time.Hour, "hr": time.Hour, "d": 24 * time.Hour,
	}
	unit := units[parts[2]]
	if number > int64(7*24*time.Hour/unit) {
		return 0, errors.New("exceeds one week, the limit of a run: lower it")
	}
	return time.Duration(number) * unit, nil
}
