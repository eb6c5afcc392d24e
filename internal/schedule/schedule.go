package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // embeds the time zone database, which the container images lack

	"github.com/robfig/cron/v3"
)

// ManyMissed is the maximum number of missed times that are counted. More missed times indicate a wrong clock or a
// missing deadline.
const ManyMissed = 100

// Schedule is a cron schedule in a time zone. The zero value is not usable.
type Schedule struct {
	line     cron.Schedule
	location *time.Location
}

// Error describes an invalid cron line or time zone.
type Error struct {
	// Field is the invalid field: schedule or timeZone.
	Field string
	Value string
	// Message describes the error and the remedy.
	Message string
}

// Error formats the error, for example `schedule "@daily": use 0 0 * * *`.
func (e *Error) Error() string { return fmt.Sprintf("%s %q: %s", e.Field, e.Value, e.Message) }

// Parse parses a cron schedule of five fields (minute, hour, day of month, month, day of week) and the name of a
// time zone; "" means UTC. Errors are of type *Error.
func Parse(line, zone string) (Schedule, error) {
	wrong := func(message string) (Schedule, error) {
		return Schedule{}, &Error{Field: "schedule", Value: line, Message: message}
	}
	if strings.Contains(strings.ToUpper(line), "TZ=") {
		return wrong("a time zone is not allowed here: use the field timeZone")
	}
	if fields := macros[strings.ToLower(strings.TrimSpace(line))]; fields != "" {
		return wrong("use " + fields)
	}
	if strings.HasPrefix(strings.TrimSpace(line), "@") || len(strings.Fields(line)) != 5 {
		return wrong("must have five fields, such as \"0 3 * * 1\" for Mondays at 3:00")
	}
	parsed, err := parser.Parse(line)
	if err != nil {
		return wrong(explain(line, err))
	}
	location, err := Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{line: parsed, location: location}
	if s.Next(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return wrong("never occurs: correct the day or the month")
	}
	return s, nil
}

// Zone returns the time zone with the given name; "" means UTC. Errors are of type *Error.
func Zone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, &Error{Field: "timeZone", Value: name, Message: "means the operator's time zone: use a name such as Europe/Berlin, or UTC"}
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, &Error{Field: "timeZone", Value: name, Message: "no such time zone: use a name from the IANA time zone database, such as Europe/Berlin, or UTC"}
	}
	return location, nil
}

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// macros maps cron's shorthands, such as @daily, to lines of five fields.
var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// fields describes the fields of a cron line, in order.
var fields = [5]struct{ name, values string }{
	{"minute", "0 to 59"}, {"hour", "0 to 23"}, {"day of the month", "1 to 31"}, {"month", "1 to 12 or JAN to DEC"},
	{"day of the week", "0 (Sunday) to 6 or SUN to SAT"},
}

// explain returns the reason why a line was rejected: the invalid field and the values that are valid there.
func explain(line string, err error) string {
	for i, text := range strings.Fields(line) {
		alone := [5]string{"*", "*", "*", "*", "*"}
		alone[i] = text
		if _, wrong := parser.Parse(strings.Join(alone[:], " ")); wrong != nil {
			return fmt.Sprintf("%q is not a valid %s: use %s, or * for all", text, fields[i].name, fields[i].values)
		}
	}
	return err.Error()
}

// Next returns the first scheduled time after the given time, in the schedule's time zone, or the zero time if there
// is none within five years.
func (s Schedule) Next(after time.Time) time.Time {
	return s.line.Next(after.In(s.location))
}

// Due describes the missed and the future starts of a schedule at a given time.
type Due struct {
	// At is the newest scheduled time that has passed, was not handled, and may still start a run. It is zero if
	// there is none.
	At time.Time
	// Missed is the number of scheduled times that have passed, were not handled, and may still start a run. It
	// includes At. TooMany is true if there are more than ManyMissed such times; Missed then does not count all of
	// them.
	Missed  int
	TooMany bool
	// Expired is the newest scheduled time that has passed, was not handled, and may no longer start a run. It is zero
	// if there is none or if At is set.
	Expired time.Time
	// Next is the first scheduled time in the future.
	Next time.Time
}

// Due returns the missed starts at the time now, and the next start. handled is the newest scheduled time that was
// already handled or, if there is none, the creation time of the schedule. deadline is the maximum delay of a start; 0
// means no maximum.
func (s Schedule) Due(handled, now time.Time, deadline time.Duration) Due {
	due := Due{Next: s.Next(now)}
	first, last := handled, now
	if deadline > 0 {
		if earliest := now.Add(-deadline); earliest.After(handled) {
			handled = earliest.Add(-time.Nanosecond) // a run may still start exactly at its deadline
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

// newest returns the last scheduled time that is after earliest and not after now. It searches backwards in growing
// intervals, so that the cost hardly depends on the number of missed times.
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
