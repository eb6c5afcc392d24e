package truth_test

import (
	"math"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// steadyRecord returns a record of ten seconds with 1 MB in each bin. change, if not nil, returns the megabytes of a
// bin.
func steadyRecord(change func(bin int) int64) truth.Record {
	r := truth.Record{Start: start}
	for second := range 10 {
		s := model.Second{Index: second, MostInFlight: 4, MostInFlightBytes: 4e6}
		for index := range model.BinsPerSecond {
			megabytes := int64(1)
			if change != nil {
				megabytes = change(second*model.BinsPerSecond + index)
			}
			if megabytes == 0 {
				continue
			}
			s.Bins = append(s.Bins, model.Bin{Index: index, WriteBytes: megabytes * 1e6, WriteOperations: megabytes})
			s.WriteBytes += megabytes * 1e6
			s.WriteOperations += megabytes
		}
		r.Seconds = append(r.Seconds, s)
	}
	return r
}

func near(t *testing.T, what string, got, want truth.Bounds) {
	t.Helper()
	if math.Abs(got.Least-want.Least) > 1 || math.Abs(got.Most-want.Most) > 1 {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestRateBounds(t *testing.T) {
	span := truth.Span{From: at(3), To: at(7), Edge: time.Second}
	// At a constant rate, only the amount in flight is uncertain: 4 MB in 4 s.
	near(t, "steady", steadyRecord(nil).Rate(truth.WriteBytes, span), truth.Bounds{Least: 99e6, Most: 101e6})
	near(t, "operations", steadyRecord(nil).Rate(truth.Operations, span), truth.Bounds{Least: 99, Most: 101})
	near(t, "reads", steadyRecord(nil).Rate(truth.ReadBytes, span), truth.Bounds{Least: 0, Most: 1e6})

	// A stall of half a second moves the edges by another half second, so the span may be 1 s to 7 s long. All such spans
	// contain the stall; it lowers the rate of the shortest one most.
	stall := steadyRecord(func(bin int) int64 {
		if bin >= 500 && bin < 550 {
			return 0
		}
		return 1
	})
	near(t, "a stall", stall.Rate(truth.WriteBytes, span), truth.Bounds{Least: 50e6 - 1e6, Most: 650e6/7 + 1e6})

	// The rate doubles for the second before the end, which the span may include or not.
	rise := steadyRecord(func(bin int) int64 {
		if bin >= 600 && bin < 700 {
			return 2
		}
		return 1
	})
	near(t, "at an edge", rise.Rate(truth.WriteBytes, span), truth.Bounds{Least: 99e6, Most: 400e6/3 + 1e6})

	// The two edges of a short span may meet. Then only the amount within the edges bounds the rate.
	short := truth.Span{From: at(5), To: at(6), Edge: time.Second}
	near(t, "short", steadyRecord(nil).Rate(truth.WriteBytes, short), truth.Bounds{Least: 0, Most: 304e6})
}

// TestRateBoundsHoldSampledRates requires that a rate interpolated between samples is within the bounds, whenever the
// samples are taken, and that, before the credits end, a rate that lacks one sample is not.
func TestRateBoundsHoldSampledRates(t *testing.T) {
	m, err := model.New(disk)
	if err != nil {
		t.Fatal(err)
	}
	answers := model.Load{Kind: model.Write, Bytes: 256 << 10, Depth: 16, FileBytes: 128 << 20}.Run(m, 500*time.Millisecond, 40*time.Second)
	r := truth.Record{Start: start, Seconds: m.Truth(0), Buckets: []string{"disk"}}
	done := func(seconds float64) (sum float64) {
		for _, a := range answers {
			if a.At.Seconds() <= seconds {
				sum += float64(a.Bytes)
			}
		}
		return sum
	}
	for phase := range 10 {
		offset := float64(phase) / 10
		between := func(seconds float64) float64 { // interpolates between the samples around it
			before := math.Floor(seconds-offset) + offset
			return done(before) + (done(before+1)-done(before))*(seconds-before)
		}
		for _, window := range [][2]float64{{2.33, 12.33}, {12, 20}, {24.7, 38.1}, {18, 26}} { // the credits end at 20.5 s
			from, to := window[0], window[1]
			bounds := r.Rate(truth.WriteBytes, truth.Span{From: at(from), To: at(to), Edge: time.Second})
			rate := (between(to) - between(from)) / (to - from)
			if !bounds.Hold(rate) {
				t.Errorf("samples at .%d s, %g to %g s: %g is not within %s", phase, from, to, rate, bounds)
			}
			if to < 20 && bounds.Hold(rate*(1-1/(to-from))) {
				t.Errorf("samples at .%d s, %g to %g s: without a sample %g is within %s", phase, from, to, rate*(1-1/(to-from)), bounds)
			}
		}
	}
}

func TestAmountBounds(t *testing.T) {
	span := truth.Span{From: at(3), To: at(7), Edge: time.Second}
	near(t, "amount", steadyRecord(nil).Amount(truth.WriteBytes, span, 0), truth.Bounds{Least: 196e6, Most: 604e6})
	near(t, "above a refill", steadyRecord(nil).Amount(truth.WriteBytes, span, 100e6), truth.Bounds{Least: -4e6, Most: 4e6})
}

// TestBoundsWithoutBins requires that, for a second whose bins are not kept, the bounds allow for its whole amount at
// its start or at its end.
func TestBoundsWithoutBins(t *testing.T) {
	r := steadyRecord(nil)
	for i := range r.Seconds {
		r.Seconds[i].Bins = nil
	}
	whole := truth.Span{From: at(3), To: at(7)}
	near(t, "whole seconds", r.Rate(truth.WriteBytes, whole), truth.Bounds{Least: 99e6, Most: 101e6})
	parts := truth.Span{From: at(3.5), To: at(7.5)}
	near(t, "parts", r.Rate(truth.WriteBytes, parts), truth.Bounds{Least: 74e6, Most: 126e6})
}

// TestBins requires that the bins of a second add up to its counts, and that only the last hour keeps its bins.
func TestBins(t *testing.T) {
	m, err := model.New(disk)
	if err != nil {
		t.Fatal(err)
	}
	model.Load{Kind: model.Write, Bytes: 1 << 20, Depth: 4}.Run(m, 0, 10*time.Second)
	m.Advance(3605 * time.Second)
	seconds := m.Truth(0)
	for _, s := range seconds[:10] {
		var bytes, operations int64
		for i, bin := range s.Bins {
			bytes, operations = bytes+bin.WriteBytes, operations+bin.WriteOperations
			if bin.Index < 0 || bin.Index >= model.BinsPerSecond || i > 0 && bin.Index <= s.Bins[i-1].Index {
				t.Errorf("second %d has the bins %+v", s.Index, s.Bins)
			}
		}
		if kept := s.Index >= 5; kept && (bytes != s.WriteBytes || operations != s.WriteOperations) || !kept && len(s.Bins) > 0 {
			t.Errorf("second %d: %d bytes and %d operations in its bins, %d and %d in its counts", s.Index, bytes, operations, s.WriteBytes, s.WriteOperations)
		}
		if s.MostInFlight != 4 || s.MostInFlightBytes != 4<<20 {
			t.Errorf("second %d: %d in flight, %d bytes", s.Index, s.MostInFlight, s.MostInFlightBytes)
		}
	}
}
