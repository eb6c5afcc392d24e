package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the images have no time zone database

	"github.com/robfig/cron/v3"
)

// ManyMissed is the maximum number of missed times that are counted. More misses indicate a wrong clock or a missing
// deadline.
const ManyMissed = 100

// Schedule is a cron schedule in a time zone. The zero value is not usable.
type Schedule struct {
	line     cron.Schedule
	location *time.Location
}

// Parse parses a cron schedule of five fields (minute, hour, day of month, month, day of week) and the name of a
// time zone; "" means UTC. Errors name the field and the remedy.
func Parse(line, zone string) (Schedule, error) {
	if strings.Contains(strings.ToUpper(line), "TZ=") {
		return Schedule{}, fmt.Errorf("schedule %q: a time zone is not allowed here: set timeZone", line)
	}
	if strings.HasPrefix(strings.TrimSpace(line), "@") || len(strings.Fields(line)) != 5 {
		return Schedule{}, fmt.Errorf("schedule %q: write five fields, such as \"0 3 * * 1\" for Mondays at three", line)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(line)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w", line, err)
	}
	if zone == "Local" {
		return Schedule{}, errors.New("timeZone \"Local\": would be the operator's time zone: write a name such as Europe/Berlin, or UTC")
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Schedule{}, fmt.Errorf("timeZone %q: write a name of the IANA time zone database, such as Europe/Berlin: %w", zone, err)
	}
	s := Schedule{line: parsed, location: location}
	if s.Next(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, fmt.Errorf("schedule %q: it never occurs: correct the day or month", line)
	}
	return s, nil
}

// Next returns the first time after the given one, in the schedule's time zone, or the zero time if there is none
// within five years.
func (s Schedule) Next(after time.Time) time.Time {
	return s.line.Next(after.In(s.location))
}

// Due describes what a schedule requires at a moment.
type Due struct {
	// At is the newest time that has passed, was not handled, and may still start. It is zero if there is none.
	At time.Time
	// Missed is the number of such times, including At. TooMany is true if there are more than ManyMissed, so that
	// Missed does not count them all.
	Missed  int
	TooMany bool
	// Expired is the newest time that has passed, was not handled, and may no longer start. It is zero if there is
	// none or if a time is due.
	Expired time.Time
	// Next is the first time in the future.
	Next time.Time
}

// Due returns what the schedule requires at the moment now. handled is the newest time that was already handled, or
// the time at which the schedule was created. deadline is how late a run may start; 0 means any delay.
func (s Schedule) Due(handled, now time.Time, deadline time.Duration) Due {
	due := Due{Next: s.Next(now)}
	first, last := handled, now
	if deadline > 0 {
		if earliest := now.Add(-deadline); earliest.After(handled) {
			handled = earliest.Add(-time.Nanosecond) // a time exactly the deadline ago may still start
			last = handled
		}
	}
	for at := s.Next(handled); !at.IsZero() && !at.After(now); at = s.Next(at) {
		due.At = at
		if due.Missed++; due.Missed > ManyMissed {
			due.TooMany = true
			due.At = s.newest(handled, now)
			break
		}
	}
	if due.At.IsZero() && !last.Equal(now) {
		due.Expired = s.newest(first, last)
	}
	return due
}

// newest returns the last time after earliest and up to now. It searches backwards in growing intervals, so that the
// cost hardly grows with the number of missed times.
func (s Schedule) newest(earliest, now time.Time) time.Time {
	var newest time.Time
	for back := time.Minute; newest.IsZero(); back *= 2 {
		from := now.Add(-back)
		if from.Before(earliest) {
			from = earliest
		}
		for at := s.Next(from); !at.IsZero() && !at.After(now); at = s.Next(at) {
			newest = at
		}
		if !from.After(earliest) {
			break
		}
	}
	return newest
}
