package schedule_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/schedule"
)

func parse(t *testing.T, line, zone string) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(line, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestDue(t *testing.T) {
	for name, one := range map[string]struct {
		line, zone, handled, now string
		deadline                 time.Duration
		at, next, expired        string
		missed                   int
		tooMany                  bool
	}{
		"not yet":           {line: "0 3 * * *", handled: "2026-03-01T03:00:00Z", now: "2026-03-02T02:59:59Z", next: "2026-03-02T03:00:00Z"},
		"now":               {line: "0 3 * * *", handled: "2026-03-01T03:00:00Z", now: "2026-03-02T03:00:00Z", at: "2026-03-02T03:00:00Z", next: "2026-03-03T03:00:00Z", missed: 1},
		"late":              {line: "0 3 * * *", handled: "2026-03-01T03:00:00Z", now: "2026-03-02T09:00:00Z", at: "2026-03-02T03:00:00Z", next: "2026-03-03T03:00:00Z", missed: 1},
		"three missed":      {line: "0 3 * * *", handled: "2026-03-01T03:00:00Z", now: "2026-03-04T09:00:00Z", at: "2026-03-04T03:00:00Z", next: "2026-03-05T03:00:00Z", missed: 3},
		"in the deadline":   {line: "0 3 * * *", handled: "2026-03-01T03:00:00Z", now: "2026-03-04T03:30:00Z", deadline: time.Hour, at: "2026-03-04T03:00:00Z", next: "2026-03-05T03:00:00Z", missed: 1},
		"at the deadline":   {line: "0 3 * * *", handled: "2026-03-01T03:00:00Z", now: "2026-03-04T04:00:00Z", deadline: time.Hour, at: "2026-03-04T03:00:00Z", next: "2026-03-05T03:00:00Z", missed: 1},
		"after it":          {line: "0 3 * * *", handled: "2026-03-01T03:00:00Z", now: "2026-03-04T04:00:01Z", deadline: time.Hour, expired: "2026-03-04T03:00:00Z", next: "2026-03-05T03:00:00Z"},
		"all of it handled": {line: "0 3 * * *", handled: "2026-03-04T03:00:00Z", now: "2026-03-04T09:00:00Z", deadline: time.Hour, next: "2026-03-05T03:00:00Z"},
		"a deadline that is shorter than a second":       {line: "0 3 * * *", handled: "2026-03-03T03:00:00Z", now: "2026-03-04T03:00:00Z", deadline: time.Millisecond, at: "2026-03-04T03:00:00Z", next: "2026-03-05T03:00:00Z", missed: 1},
		"handled less than a second before the deadline": {line: "* * * * *", handled: "2026-03-04T03:00:00Z", now: "2026-03-04T03:00:40.5Z", deadline: 40 * time.Second, next: "2026-03-04T03:01:00Z"},
		"handled in it":     {line: "0 3 * * *", handled: "2026-03-04T03:00:00Z", now: "2026-03-04T03:30:00Z", deadline: time.Hour, next: "2026-03-05T03:00:00Z"},
		"a zone":            {line: "0 3 * * *", zone: "Asia/Tokyo", handled: "2026-03-01T00:00:00Z", now: "2026-03-01T18:00:00Z", at: "2026-03-02T03:00:00+09:00", next: "2026-03-03T03:00:00+09:00", missed: 1},
		"years of minutes":  {line: "* * * * *", handled: "2020-01-01T00:00:00Z", now: "2026-03-01T00:00:30Z", at: "2026-03-01T00:00:00Z", next: "2026-03-01T00:01:00Z", missed: 101, tooMany: true},
		"centuries of days": {line: "0 3 1 1 *", handled: "1700-01-01T00:00:00Z", now: "2026-03-01T00:00:00Z", at: "2026-01-01T03:00:00Z", next: "2027-01-01T03:00:00Z", missed: 101, tooMany: true},
		"a clock set back":  {line: "0 3 * * *", handled: "2026-03-05T03:00:00Z", now: "2026-03-02T09:00:00Z", next: "2026-03-03T03:00:00Z"},
		// Germany switches to summer time on 2026-03-29 at 2:00 and back on 2026-10-25 at 3:00.
		"the hour that is not": {line: "30 2 * * *", zone: "Europe/Berlin", handled: "2026-03-28T02:30:00+01:00", now: "2026-03-29T12:00:00+02:00", next: "2026-03-30T02:30:00+02:00"},
		"before that hour":     {line: "30 1 * * *", zone: "Europe/Berlin", handled: "2026-03-28T01:30:00+01:00", now: "2026-03-29T03:10:00+02:00", at: "2026-03-29T01:30:00+01:00", next: "2026-03-30T01:30:00+02:00", missed: 1},
		"each hour, one short": {line: "0 * * * *", zone: "Europe/Berlin", handled: "2026-03-29T00:00:00+01:00", now: "2026-03-29T04:00:00+02:00", at: "2026-03-29T04:00:00+02:00", next: "2026-03-29T05:00:00+02:00", missed: 3},
		"twice that hour":      {line: "30 2 * * *", zone: "Europe/Berlin", handled: "2026-10-24T02:30:00+02:00", now: "2026-10-25T12:00:00+01:00", at: "2026-10-25T02:30:00+01:00", next: "2026-10-26T02:30:00+01:00", missed: 2},
		"each hour, one more":  {line: "0 * * * *", zone: "Europe/Berlin", handled: "2026-10-25T00:00:00+02:00", now: "2026-10-25T04:00:00+01:00", at: "2026-10-25T04:00:00+01:00", next: "2026-10-25T05:00:00+01:00", missed: 5},
		"the day of 23 hours":  {line: "0 3 * * *", zone: "Europe/Berlin", handled: "2026-03-28T03:00:00+01:00", now: "2026-03-29T03:00:00+02:00", at: "2026-03-29T03:00:00+02:00", next: "2026-03-30T03:00:00+02:00", missed: 1},
		"a zone of half hours": {line: "15 * * * *", zone: "Australia/Lord_Howe", handled: "2026-04-04T12:00:00Z", now: "2026-04-04T13:50:00Z", at: "2026-04-05T00:15:00+11:00", next: "2026-04-05T01:15:00+11:00", missed: 2},
		"the 29th of February": {line: "0 0 29 2 *", handled: "2025-01-01T00:00:00Z", now: "2026-01-01T00:00:00Z", next: "2028-02-29T00:00:00Z"},
		"a day of both kinds":  {line: "0 0 13 * 5", handled: "2026-02-10T00:00:00Z", now: "2026-02-20T00:00:00Z", at: "2026-02-20T00:00:00Z", next: "2026-02-27T00:00:00Z", missed: 2},
	} {
		s := parse(t, one.line, one.zone)
		got := s.Due(moment(t, one.handled), moment(t, one.now), one.deadline)
		text := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.Format(time.RFC3339)
		}
		if text(got.At) != one.at || text(got.Next) != one.next || text(got.Expired) != one.expired || got.Missed != one.missed || got.TooMany != one.tooMany {
			t.Errorf("%s: due %q (missed %d, too many %v), next %q, expired %q; want %q (%d, %v), %q, %q", name, text(got.At), got.Missed, got.TooMany,
				text(got.Next), text(got.Expired), one.at, one.missed, one.tooMany, one.next, one.expired)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, one := range []struct{ line, zone, says string }{
		{"0 3 * *", "", "five fields"}, {"0 0 3 * * *", "", "five fields"}, {"@daily", "", "use 0 0 * * *"}, {"@Weekly ", "", "use 0 0 * * 0"}, {"@every 1h", "", "five fields"}, {"", "", "five fields"},
		{"TZ=Asia/Tokyo 0 3 * * *", "", "timeZone"}, {"CRON_TZ=UTC 0 3 * * *", "", "timeZone"}, {"60 3 * * *", "", `"60" is not a valid minute: use 0 to 59`}, {"0 3 * * 8", "", "8"}, {"a b c d e", "", "is not a valid minute"}, {"0 0 1 JAN MON,x", "", "SUN to SAT"},
		{"0 0 30 2 *", "", "never"}, {"0 3 * * *", "Mars/Olympus", "IANA"}, {"0 3 * * *", "Local", "Local"}, {"0 3 * * *", "../etc/passwd", "IANA"},
	} {
		if _, err := schedule.Parse(one.line, one.zone); err == nil || !strings.Contains(err.Error(), one.says) {
			t.Errorf("%q in %q: %v, want one that says %q", one.line, one.zone, err, one.says)
		}
	}
}

// TestEachTimeIsDueOnce checks an operator that looks at random times and remembers the last time that it handled. It
// starts each scheduled time at most once and in order, and skips one only if a later one is due as well.
func TestEachTimeIsDueOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, zone := range []string{"", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Africa/Casablanca"} {
		s := parse(t, "17 */5 * * *", zone)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		handled, now := start, start
		started, missed, all := 0, 0, 0
		for at := s.Next(start); at.Before(start.AddDate(1, 0, 0)); at = s.Next(at) {
			all++
		}
		for now.Before(start.AddDate(1, 0, 0)) {
			due := s.Due(handled, now, 0)
			if !due.At.IsZero() {
				if !due.At.After(handled) || due.At.After(now) {
					t.Fatalf("%s: %v is due at %v, and %v was handled", zone, due.At, now, handled)
				}
				handled = due.At
				started++
				missed += due.Missed - 1
			}
			if !due.Next.After(now) {
				t.Fatalf("%s: the next time %v is not after %v", zone, due.Next, now)
			}
			now = now.Add(time.Duration(r.Int64N(int64(8 * time.Hour))))
		}
		if last := s.Due(handled, start.AddDate(1, 0, 0).Add(-time.Nanosecond), 0); !last.At.IsZero() {
			started, missed = started+1, missed+last.Missed-1
		}
		if started+missed != all {
			t.Errorf("%s: %d started and %d superseded, of %d", zone, started, missed, all)
		}
	}
}
