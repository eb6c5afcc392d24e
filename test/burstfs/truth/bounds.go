package truth

import (
	"fmt"
	"math"
	"time"

	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// Edge is the maximum error of each edge of a run's window: one sample interval, because a run interpolates between
// samples, and the maximum clock uncertainty of a valid run.
const Edge = result.SampleInterval + 50*time.Millisecond

// Bounds holds the minimum and maximum of a figure according to a store's record.
type Bounds struct{ Least, Most float64 }

// Hold reports whether a figure is within the bounds.
func (b Bounds) Hold(figure float64) bool { return b.Least <= figure && figure <= b.Most }

// String formats the bounds.
func (b Bounds) String() string { return fmt.Sprintf("%.6g to %.6g", b.Least, b.Most) }

// Span is the time to which a figure of a run applies.
type Span struct {
	From, To time.Time
	// Edge is the maximum error of each end.
	Edge time.Duration
}

// Quantity is a counted quantity: functions that return its count in a bin, its count in a second whose bins are not
// kept, and its maximum in flight in a second.
type Quantity struct {
	bin      func(model.Bin) int64
	second   func(model.Second) int64
	inFlight func(model.Second) int64
}

func flyingBytes(s model.Second) int64 { return s.MostInFlightBytes }

func flyingOperations(s model.Second) int64 { return int64(s.MostInFlight) }

// Quantities that can be bounded.
var (
	ReadBytes       = Quantity{func(b model.Bin) int64 { return b.ReadBytes }, func(s model.Second) int64 { return s.ReadBytes }, flyingBytes}
	WriteBytes      = Quantity{func(b model.Bin) int64 { return b.WriteBytes }, func(s model.Second) int64 { return s.WriteBytes }, flyingBytes}
	Bytes           = Quantity{func(b model.Bin) int64 { return b.ReadBytes + b.WriteBytes }, model.Second.Bytes, flyingBytes}
	ReadOperations  = Quantity{func(b model.Bin) int64 { return b.ReadOperations }, func(s model.Second) int64 { return s.ReadOperations }, flyingOperations}
	WriteOperations = Quantity{func(b model.Bin) int64 { return b.WriteOperations }, func(s model.Second) int64 { return s.WriteOperations }, flyingOperations}
	Operations      = Quantity{func(b model.Bin) int64 { return b.ReadOperations + b.WriteOperations }, model.Second.Operations, flyingOperations}
)

// Rate returns bounds for a rate per second in a span.
//
// A run interpolates the amount up to an edge between the samples on both sides of it. So its rate is a weighted mean
// of the rates between four pairs of samples, and lies between the lowest and the highest rate of all spans whose edges
// are moved by at most Edge. If the store's rate is constant, the two are equal; any disturbance widens the bounds. The
// amount in flight is added to the bounds, because the store may have answered requests that the client had not counted
// yet.
//
// The edges are also moved by the longest time in which the store answered nothing, because the same delay may have
// affected a sample.
func (r Record) Rate(of Quantity, span Span) Bounds {
	c := r.count(of, span)
	seconds := span.To.Sub(span.From).Seconds()
	// The bounds of the amount, divided by the length that the run reports, are valid for a span of any length.
	bounds := Bounds{Least: max(0, c.least(c.from.last, c.to.first)) / seconds, Most: c.most(c.from.first, c.to.last) / seconds}
	if c.from.last < c.to.first {
		moved := Bounds{Least: math.Inf(1), Most: math.Inf(-1)}
		for from := c.from.first; from <= c.from.last; from++ {
			for to := c.to.first; to <= c.to.last; to++ {
				length := float64(to-from) / model.BinsPerSecond
				moved.Least = min(moved.Least, c.least(from, to)/length)
				moved.Most = max(moved.Most, c.most(from, to)/length)
			}
		}
		bounds = Bounds{max(bounds.Least, moved.Least), min(bounds.Most, moved.Most)}
	}
	flying := float64(c.inFlight) / seconds
	return Bounds{max(0, bounds.Least-flying), bounds.Most + flying}
}

// Amount returns bounds for the amount in a span, minus the amount that flows back meanwhile at the rate back per
// second, such as a bucket's refill.
func (r Record) Amount(of Quantity, span Span, back float64) Bounds {
	c := r.count(of, span)
	bounds := Bounds{Least: math.Inf(1), Most: math.Inf(-1)}
	for from := c.from.first; from <= c.from.last; from++ {
		for to := max(from, c.to.first); to <= c.to.last; to++ {
			flown := back * float64(to-from) / model.BinsPerSecond
			bounds.Least = min(bounds.Least, c.least(from, to)-flown)
			bounds.Most = max(bounds.Most, c.most(from, to)-flown)
		}
	}
	return Bounds{bounds.Least - float64(c.inFlight), bounds.Most + float64(c.inFlight)}
}

// counted holds cumulative amounts at each boundary between bins around a span.
type counted struct {
	// For a second whose bins are not kept, early counts its whole amount at its beginning, and late at its end.
	early, late []int64
	base        int // number of the first boundary
	// from and to are the ranges of boundaries at which the span may begin and end.
	from, to edges
	inFlight int64 // maximum in flight
}

type edges struct{ first, last int }

func (c *counted) least(from, to int) float64 {
	return float64(c.late[to-c.base] - c.early[from-c.base])
}

func (c *counted) most(from, to int) float64 {
	return float64(c.early[to-c.base] - c.late[from-c.base])
}

func (r Record) count(of Quantity, span Span) counted {
	last := len(r.Seconds) * model.BinsPerSecond
	around := func(at time.Time, edge float64) edges {
		first := math.Floor((r.since(at) - edge) * model.BinsPerSecond)
		end := math.Ceil((r.since(at) + edge) * model.BinsPerSecond)
		return edges{min(last, max(0, int(first))), min(last, max(0, int(end)))}
	}
	edge := span.Edge.Seconds()
	edge += float64(r.silence(around(span.From, edge).first, around(span.To, edge).last)) / model.BinsPerSecond
	c := counted{from: around(span.From, edge), to: around(span.To, edge)}
	begin, end := c.from.first/model.BinsPerSecond, min(len(r.Seconds), c.to.last/model.BinsPerSecond+1)
	c.base = begin * model.BinsPerSecond
	length := (end-begin)*model.BinsPerSecond + 1
	c.early, c.late = make([]int64, length), make([]int64, length)
	for i, s := range r.Seconds[begin:end] {
		c.inFlight = max(c.inFlight, of.inFlight(s))
		at := i * model.BinsPerSecond
		done, bins := c.late[at], s.Bins
		for bin := range model.BinsPerSecond {
			if len(bins) > 0 && bins[0].Index == bin {
				done += of.bin(bins[0])
				bins = bins[1:]
			}
			c.early[at+bin+1], c.late[at+bin+1] = done, done
		}
		if len(s.Bins) == 0 && of.second(s) > 0 {
			for bin := range model.BinsPerSecond {
				c.early[at+bin+1] += of.second(s)
			}
			c.late[at+model.BinsPerSecond] += of.second(s)
		}
	}
	return c
}

// silence returns the length, in bins, of the longest time between two boundaries in which requests were outstanding
// and none was answered.
func (r Record) silence(from, to int) int {
	longest, last := 0, from
	for second := from / model.BinsPerSecond; second < min(len(r.Seconds), to/model.BinsPerSecond+1); second++ {
		s := r.Seconds[second]
		if s.MostInFlight == 0 || len(s.Bins) == 0 && s.Bytes() > 0 { // there was no request, or the bins are not kept
			last = (second + 1) * model.BinsPerSecond
			continue
		}
		for _, bin := range s.Bins {
			at := second*model.BinsPerSecond + bin.Index
			if at >= from && at < to {
				longest, last = max(longest, at-last), at+1
			}
		}
	}
	return longest
}

// end returns bounds for the time from an instant to the end of the credits. The record contains only the second in
// which they ended.
func (r Record) end(from, end time.Time) Bounds {
	second, edge := math.Floor(r.since(end)), Edge.Seconds()
	begin, last := int((second-edge)*model.BinsPerSecond), int((second+1+edge)*model.BinsPerSecond)
	edge += float64(r.silence(max(0, begin), max(0, last))) / model.BinsPerSecond
	return Bounds{second - edge - r.since(from), second + 1 + edge - r.since(from)}
}
