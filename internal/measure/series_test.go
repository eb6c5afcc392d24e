package measure

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const second = int64(1e9)

// reads returns a sample that reads the given bytes in operations of 1,000 bytes.
func reads(start, end int64, bytes uint64) Sample {
	sample := Sample{StartNanoseconds: start, EndNanoseconds: end}
	sample.Counters[Read] = Counter{Bytes: bytes, Operations: bytes / 1_000}
	return sample
}

func warmUp(sample Sample) Sample {
	sample.WarmUp = true
	return sample
}

func seriesOf(t *testing.T, samples ...Sample) *Series {
	t.Helper()
	series, err := NewSeries(len(samples), slices.Values(samples))
	if err != nil {
		t.Fatal(err)
	}
	return series
}

func TestSeriesInterpolates(t *testing.T) {
	mixed := reads(200, 300, 10_000)
	mixed.Counters[Write] = Counter{Bytes: 500, Operations: 5}
	// A gap from 300 to 400, a jump at 450, then nothing until the end.
	series := seriesOf(t, reads(100, 200, 1_000), mixed, reads(400, 450, 2_001), reads(450, 450, 50), reads(450, 500, 0))
	tests := []struct {
		instant            int64
		read, all, readOps uint64
	}{
		{math.MinInt64, 0, 0, 0},
		{99, 0, 0, 0},
		{100, 0, 0, 0},
		{101, 10, 10, 0},
		{150, 500, 500, 0},
		{199, 990, 990, 0},
		{200, 1_000, 1_000, 1},
		{250, 6_000, 6_250, 6},
		{299, 10_900, 11_395, 10},
		{300, 11_000, 11_500, 11},
		{399, 11_000, 11_500, 11},
		{400, 11_000, 11_500, 11},
		{425, 12_000, 12_500, 12}, // 1,000.5 is rounded down
		{449, 12_960, 13_460, 12},
		{450, 13_051, 13_551, 13}, // includes the jump
		{math.MaxInt64, 13_051, 13_551, 13},
	}
	for _, test := range tests {
		counters := series.CountersAt(test.instant)
		if counters[Read].Bytes != test.read || counters[Read].Operations != test.readOps {
			t.Errorf("at %d: %+v read, want %d bytes in %d", test.instant, counters[Read], test.read, test.readOps)
		}
		if got := counters[Read].Bytes + counters[Write].Bytes; got != test.all {
			t.Errorf("at %d: %d bytes, want %d", test.instant, got, test.all)
		}
	}
	if got := series.CountersIn(Window{150, 425})[Read].Bytes; got != 11_500 {
		t.Errorf("%d bytes in the window, want 11,500", got)
	}
	if got := series.CoveredNanoseconds(Window{150, 425}); got != 175 {
		t.Errorf("%d ns of the window are covered, want 175", got)
	}
	if got := series.CoveredNanoseconds(Window{0, 1_000}); got != 300 {
		t.Errorf("%d ns of everything are covered, want 300", got)
	}
}

func TestSeriesDoesNotOverflowInside(t *testing.T) {
	series := seriesOf(t, reads(-MaxInstant, MaxInstant, math.MaxUint64))
	if got := series.CountersAt(0)[Read].Bytes; got != math.MaxUint64/2 {
		t.Errorf("half way: %d bytes", got)
	}
}

func TestSeriesSpanLeavesOutTheWarmUp(t *testing.T) {
	series := seriesOf(t, warmUp(reads(0, 10, 1)), warmUp(reads(10, 20, 1)), reads(20, 30, 1), reads(35, 40, 1))
	if span, ok := series.Span(); !ok || span != (Window{20, 40}) {
		t.Errorf("span %v, %v", span, ok)
	}
	if got := series.Total()[Read].Bytes; got != 4 {
		t.Errorf("the total is %d, want 4 with the warm-up", got)
	}
	for name, none := range map[string]*Series{"empty": {}, "warm-up only": seriesOf(t, warmUp(reads(0, 10, 1)))} {
		if span, ok := none.Span(); ok {
			t.Errorf("%s: span %v", name, span)
		}
	}
	if got := new(Series).CountersAt(5); got != ([NumOperations]Counter{}) {
		t.Errorf("an empty series holds %v", got)
	}
}

func TestSeriesRefuses(t *testing.T) {
	tests := []struct {
		name    string
		samples []Sample
		problem string
	}{
		{"backwards", []Sample{reads(10, 9, 1)}, "before the start"},
		{"overlap", []Sample{reads(0, 10, 1), reads(9, 20, 1)}, "previous sample"},
		{"out of order", []Sample{reads(20, 30, 1), reads(0, 10, 1)}, "previous sample"},
		{"too early", []Sample{reads(math.MinInt64, 0, 1)}, "range"},
		{"too late", []Sample{reads(0, math.MaxInt64, 1)}, "range"},
		{"overflow of bytes", []Sample{reads(0, 1, math.MaxUint64), reads(1, 2, 1)}, "64 bits"},
	}
	for _, test := range tests {
		if _, err := NewSeries(0, slices.Values(test.samples)); err == nil || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: error %v", test.name, err)
		}
		last := len(test.samples) - 1
		series := seriesOf(t, test.samples[:last]...)
		if err := series.Append(test.samples[last]); err == nil || series.Len() != last {
			t.Errorf("%s: error %v, %d samples", test.name, err, series.Len())
		}
	}
}
