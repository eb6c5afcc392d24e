package observation

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/series"
)

// Answer holds the series that one query returned, or the reason why there are none.
type Answer struct {
	Query
	// Series holds the series that Add has kept. More is the number of series that Add has dropped although they have a
	// value.
	Series []Series
	More   int
	// leastStart is the lowest value that any series had at the start of the step, including the series that Add has
	// dropped; nil if no series had a value then.
	leastStart *float64
	// Problem explains why there is no answer. Refused is true if the server rejected the query; do not repeat it.
	Problem string
	Refused bool
}

// Series is one time series that a query returned.
type Series struct {
	// Name is the name of the metric, if the query selects series without changing them. Labels are all labels in
	// PromQL's notation, including the name.
	Name, Labels string
	Points       []Point
	// Newest is the time of the newest sample up to the end of the step. It is zero if the query computes its values,
	// because the time is then unknown.
	Newest time.Time
	// summary replaces Points when the series is added to an Answer.
	summary *summary
}

// summary holds the figures that a result contains for a series. They are computed from the series' points.
type summary struct {
	figures
	// start is the value at the start of the step; nil if there is none.
	start *float64
	over  []series.ObservedPoint
}

// Add adds a series if it has a value in the measured time. To bound the size of the answer, it replaces the points
// with a summary and keeps at most maxSeries series.
func (a *Answer) Add(s Series) {
	if s.summary == nil {
		s.Points = inOrder(&a.Query, s.Points)
		f, ok := figuresOf(&a.Query, &s)
		if !ok {
			return
		}
		s.summary = &summary{figures: f, over: thin(s.Points)}
		if first := s.Points[0]; first.At.Equal(a.Start) && finite(first.Value) {
			s.summary.start = &first.Value
		}
		s.Points = nil
	}
	if start := s.summary.start; start != nil && (a.leastStart == nil || *start < *a.leastStart) {
		a.leastStart = start
	}
	if len(a.Series) == maxSeries {
		a.More++
		return
	}
	s.Labels = shorten(s.Labels)
	a.Series = append(a.Series, s)
}

// inOrder drops points outside the time of a query, and points that are not later than their predecessor. The series
// package cannot read back stored points whose times decrease.
func inOrder(q *Query, points []Point) []Point {
	before := q.Start.Add(-1)
	return slices.DeleteFunc(points, func(p Point) bool {
		if !p.At.After(before) || p.At.After(q.End) {
			return true
		}
		before = p.At
		return false
	})
}

// OmitPoints drops the points of all series and keeps their figures. Call it for each answer after the run has reached
// MaxOver series with points.
func (a *Answer) OmitPoints() {
	for i := range a.Series {
		a.Series[i].summary.over = nil
	}
}

// shorten shortens the labels of a series. It appends a hash to keep different labels different, because series with
// equal labels count as one series.
func shorten(labels string) string {
	if utf8.RuneCountInString(labels) <= maxLabels {
		return strings.ToValidUTF8(labels, "\uFFFD")
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(labels)) // a hash's Write never fails
	return fmt.Sprintf("%s#%016x", v1alpha1.Truncate(labels, maxLabels-17), sum.Sum64())
}

// Point is the value of a series at an instant.
type Point struct {
	At    time.Time
	Value float64
}

// figures summarizes the values of a series in the measured time.
type figures struct {
	first, last, least, most, mean float64
	points, resets                 int
	// missing is the total time without a value; atEnd is the part of missing at the end of the measured time.
	missing, atEnd time.Duration
}

// figuresOf computes the figures of a series; ok is false if it has no value in the measured time. Values that are not
// finite, such as 0/0, and values of 1e300 and more count as missing.
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

// finite reports whether a value is a number and small enough that sums over all steps do not overflow.
func finite(value float64) bool { return math.Abs(value) < 1e300 }

// isCounter reports whether a metric is a counter, judging by its name. Values that a query computes, such as a rate,
// have no name. They do not count as counters, because Prometheus has already accounted for resets in them.
func isCounter(name string) bool {
	return slices.ContainsFunc([]string{"_total", "_count", "_sum", "_bucket"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// late returns the age of the newest sample at the end of the step if it is more than two scrape intervals old,
// otherwise 0.
func (s *Series) late(q *Query, interval time.Duration) time.Duration {
	if age := q.End.Sub(s.Newest); !s.Newest.IsZero() && age > 2*interval {
		return age
	}
	return 0
}
