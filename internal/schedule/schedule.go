package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the images have no zones

	"github.com/robfig/cron/v3"
)

// ManyMissed is how many missed times are counted; more are a sign of a clock that is wrong, or of a
// deadline that is missing.
const ManyMissed = 100

// Schedule is a cron line in a zone. The zero value is not usable.
type Schedule struct {
	line     cron.Schedule
	location *time.Location
}

// Parse reads a cron line of five fields (minute, hour, day of the month, month, day of the week) and the
// name of a zone; "" is UTC. Errors name the field and the remedy.
func Parse(line, zone string) (Schedule, error) {
	if strings.Contains(strings.ToUpper(line), "TZ=") {
		return Schedule{}, fmt.Errorf("schedule %q: a zone has no place in the line: set timeZone", line)
	}
	if strings.HasPrefix(strings.TrimSpace(line), "@") || len(strings.Fields(line)) != 5 {
		return Schedule{}, fmt.Errorf("schedule %q: write five fields, such as \"0 3 * * 1\" for Mondays at three", line)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(line)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w", line, err)
	}
	if zone == "Local" {
		return Schedule{}, errors.New("timeZone \"Local\": the zone of the operator is nobody's: write a name such as Europe/Berlin, or UTC")
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Schedule{}, fmt.Errorf("timeZone %q: write a name of the IANA database, such as Europe/Berlin: %w", zone, err)
	}
	s := Schedule{line: parsed, location: location}
	if s.Next(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, fmt.Errorf("schedule %q: no day is like that: it would never run", line)
	}
	return s, nil
}

// Next is the first time after another, in the zone of the schedule; zero when there is none in five years.
func (s Schedule) Next(after time.Time) time.Time {
	return s.line.Next(after.In(s.location))
}

// Due is what a schedule asks for at a moment.
type Due struct {
	// At is the newest time that has come and was not handled. Zero: none.
	At time.Time
	// Missed is how many times have come since what was handled, At with them. Where TooMany they were
	// not all counted.
	Missed  int
	TooMany bool
	// Expired is the newest time that has come, was not handled, and may not start any more, where nothing
	// is due. Zero: none.
	Expired time.Time
	// Next is the first time that is still to come.
	Next time.Time
}

// Due tells what has to be done at a moment. handled is the newest time that was handled before, or when
// the schedule was made. deadline is how late a run may start; 0 is any delay.
func (s Schedule) Due(handled, now time.Time, deadline time.Duration) Due {
	due := Due{Next: s.Next(now)}
	first, last := handled, now
	if deadline > 0 {
		if earliest := now.Add(-deadline); earliest.After(handled) {
			handled = earliest.Add(-time.Nanosecond) // a time of exactly the deadline ago may still start
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

// newest finds the last time up to now, by looking back further and further, so that years of missed
// minutes cost no more than one of them.
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
