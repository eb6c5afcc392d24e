package model

import (
	"math"
	"slices"
	"time"
)

// active reports whether the schedule is active at a time.
func (s Schedule) active(now time.Duration) bool {
	since := now - s.At
	if since < 0 {
		return false
	}
	if s.Every > 0 {
		since %= s.Every
	}
	return s.For == 0 || since < s.For
}

// next returns the time of the schedule's next change, or the largest duration if there is none.
func (s Schedule) next(now time.Duration) time.Duration {
	since := now - s.At
	switch {
	case since < 0:
		return s.At
	case s.For == 0:
		return math.MaxInt64
	case s.Every == 0 && since >= s.For:
		return math.MaxInt64
	case s.Every == 0:
		return s.At + s.For
	}
	start := now - since%s.Every
	if since%s.Every < s.For {
		return start + s.For
	}
	return start + s.Every
}

func (t Tenant) uses(bucket string) bool {
	return len(t.Buckets) == 0 || slices.Contains(t.Buckets, bucket)
}

// nextSchedule returns the time, in seconds, at which the next tenant starts or stops. Failures need no event, because
// they are checked when a request is submitted.
func (m *Model) nextSchedule() float64 {
	next := time.Duration(math.MaxInt64)
	for _, t := range m.config.Tenants {
		next = min(next, t.next(m.moment()))
	}
	if next == math.MaxInt64 {
		return math.Inf(1)
	}
	return next.Seconds()
}

// share sets the shares that tenants currently take of every bucket.
func (m *Model) share() {
	m.tenantShare = 0
	for _, b := range m.buckets {
		b.taken, b.spent = 0, 0
		for _, t := range m.config.Tenants {
			if !t.active(m.moment()) || !t.uses(b.Name) {
				continue
			}
			b.taken += t.Share
			if !t.SparesCredits {
				b.spent += t.Share
			}
		}
		b.taken = min(b.taken, 1)
		m.tenantShare = max(m.tenantShare, b.taken)
	}
}
