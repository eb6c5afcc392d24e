package measure

import (
	"math"
	"testing"
)

const year2100 = int64(4_102_444_800_000_000_000)

func TestEstimateClock(t *testing.T) {
	tests := []struct {
		name  string
		trips []RoundTrip
		want  ClockOffset
		fails bool
	}{
		{"in step", []RoundTrip{{100, 105, 110}}, ClockOffset{0, 5, 105}, false},
		{"ahead", []RoundTrip{{100, 1_105, 110}}, ClockOffset{1_000, 5, 1_105}, false},
		{"behind", []RoundTrip{{100, -895, 110}}, ClockOffset{-1_000, 5, -895}, false},
		{"odd length", []RoundTrip{{100, 105, 111}}, ClockOffset{0, 6, 105}, false},
		{"no time", []RoundTrip{{100, 130, 100}}, ClockOffset{30, 0, 130}, false},
		{"the shortest counts", []RoundTrip{{0, 90, 100}, {200, 206, 210}, {300, 340, 350}}, ClockOffset{1, 5, 206}, false},
		{"none", nil, ClockOffset{}, true},
		{"received before sent", []RoundTrip{{100, 105, 110}, {100, 105, 99}}, ClockOffset{}, true},
		{"in the year 2100", []RoundTrip{{year2100, 105, year2100 + 10}}, ClockOffset{100 - year2100, 5, 105}, false},
		{"far behind a remote clock of half the range", []RoundTrip{{-MaxInstant, MaxInstant / 2, -MaxInstant}}, ClockOffset{MaxInstant + MaxInstant/2, 0, MaxInstant / 2}, false},
		{"out of range", []RoundTrip{{100, math.MaxInt64, 110}}, ClockOffset{}, true},
		{"below range", []RoundTrip{{math.MinInt64, 105, 110}}, ClockOffset{}, true},
	}
	for _, test := range tests {
		got, err := EstimateClock(test.trips)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
}

func TestClockTranslates(t *testing.T) {
	clock := ClockOffset{OffsetNanoseconds: -250, UncertaintyNanoseconds: 3}
	if got := clock.ToRemote(1_000); got != 750 {
		t.Errorf("to remote: %d", got)
	}
	if got := clock.ToLocal(750); got != 1_000 {
		t.Errorf("to local: %d", got)
	}
}

func TestCombineClocks(t *testing.T) {
	const second = int64(1_000_000_000)
	tests := []struct {
		name        string
		first, last ClockOffset
		remote      int64
		offset      int64
		uncertainty int64
	}{
		{"one estimate", ClockOffset{100, 5, 0}, ClockOffset{100, 5, 0}, 7, 100, 5},
		{"noise: one inside of the other", ClockOffset{100, 50, 0}, ClockOffset{110, 5, 0}, 7, 110, 5},
		{"noise: overlap", ClockOffset{100, 10, 0}, ClockOffset{112, 8, 0}, 7, 107, 3},
		{"drift: in the middle", ClockOffset{100, 10, 0}, ClockOffset{500_100, 20, 1000 * second}, 500 * second, 250_100, 20},
		{"drift: after the last estimate", ClockOffset{100, 10, 0}, ClockOffset{500_100, 20, 1000 * second}, 1001 * second, 500_100, 20},
		{"a clock was set", ClockOffset{100, 10, 0}, ClockOffset{second, 10, second}, 0, (100 + second) / 2, (second-100)/2 + 10},
		{"set by more than an int64", ClockOffset{MaxInstant + MaxInstant/2, 0, 0}, ClockOffset{-MaxInstant - MaxInstant/2, 0, 1}, 0, 0, MaxInstant + MaxInstant/2},
	}
	for _, test := range tests {
		clock := CombineClocks(test.first, test.last)
		if offset := test.remote - clock.ToLocal(test.remote); offset != test.offset || clock.UncertaintyNanoseconds != test.uncertainty {
			t.Errorf("%s: offset %d, uncertainty %d, want %d and %d", test.name, offset, clock.UncertaintyNanoseconds, test.offset, test.uncertainty)
		}
	}
}
