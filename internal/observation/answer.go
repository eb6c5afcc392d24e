package observation

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Answer is the answer to one query.
type Answer struct {
	Query
	Series []Series
	// Problem says why there is no answer. Refused is true if the server refused the query, which asking again does
	// not change.
	Problem string
	Refused bool
}

// Series is one series of an answer.
type Series struct {
	// Name is the name of the metric, if the query selects series without changing them. Labels are all labels in
	// PromQL's notation, including the name.
	Name, Labels string
	Points       []Point
	// Newest is the time of the newest sample up to the end of the step. It is zero if only the server knows it,
	// because the query computes its values.
	Newest time.Time
}

// Point is the value at an instant.
type Point struct {
	At    time.Time
	Value float64
}

// figures summarize the values of a series in the measured time.
type figures struct {
	first, last, least, most, mean float64
	points, resets                 int
	// missing is the time without a value; atEnd is the part of it at the end.
	missing, atEnd time.Duration
}

// figuresOf computes the figures of a series; ok is false if it has no value in the measured time. Values that are not
// finite, such as 0/0, count as missing.
func figuresOf(q *Query, s *Series) (f figures, ok bool) {
	want, sum := 0, 0.0
	last := time.Time{}
	at := 0
	for i := range q.Evaluations() {
		instant := q.Start.Add(time.Duration(i) * q.Resolution)
		if instant.Before(q.Measured) {
			continue
		}
		want++
		for at < len(s.Points) && s.Points[at].At.Before(instant) {
			at++
		}
		if at == len(s.Points) || !s.Points[at].At.Equal(instant) || !finite(s.Points[at].Value) {
			continue
		}
		value := s.Points[at].Value
		if f.points == 0 {
			f.first, f.least, f.most = value, value, value
		} else if isCounter(s.Name) && value < f.last {
			f.resets++
		}
		f.points++
		f.last, f.least, f.most = value, min(f.least, value), max(f.most, value)
		sum += value
		last = instant
	}
	if f.points == 0 {
		return f, false
	}
	f.mean = sum / float64(f.points)
	f.missing = time.Duration(want-f.points) * q.Resolution
	f.atEnd = q.End.Sub(last)
	if f.atEnd < q.Resolution {
		f.atEnd = 0
	}
	return f, true
}

func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

// isCounter reports whether a metric is a counter by its name. The name is empty for values that a query computes, such
// as a rate, for which Prometheus has accounted for resets.
func isCounter(name string) bool {
	return slices.ContainsFunc([]string{"_total", "_count", "_sum", "_bucket"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// late returns the age of the newest sample at the end of the step if it is more than two scrape intervals old, else 0.
func (s *Series) late(q *Query, interval time.Duration) time.Duration {
	if age := q.End.Sub(s.Newest); !s.Newest.IsZero() && age > 2*interval {
		return age
	}
	return 0
}
