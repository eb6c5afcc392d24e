package measure

import (
	"math"
	"testing"
)

func TestEstimateClock(t *testing.T) {
	tests := []struct {
		name  string
		trips []RoundTrip
		want  ClockOffset
		fails bool
	}{
		{"in step", []RoundTrip{{100, 105, 110}}, ClockOffset{0, 5}, false},
		{"ahead", []RoundTrip{{100, 1_105, 110}}, ClockOffset{1_000, 5}, false},
		{"behind", []RoundTrip{{100, -895, 110}}, ClockOffset{-1_000, 5}, false},
		{"odd length", []RoundTrip{{100, 105, 111}}, ClockOffset{0, 6}, false},
		{"no time", []RoundTrip{{100, 130, 100}}, ClockOffset{30, 0}, false},
		{"the shortest counts", []RoundTrip{{0, 90, 100}, {200, 206, 210}, {300, 340, 350}}, ClockOffset{1, 5}, false},
		{"none", nil, ClockOffset{}, true},
		{"received before sent", []RoundTrip{{100, 105, 110}, {100, 105, 99}}, ClockOffset{}, true},
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
	tests := []struct {
		name      string
		estimates []ClockOffset
		want      ClockOffset
		certain   bool
	}{
		{"none", nil, ClockOffset{}, false},
		{"one", []ClockOffset{{100, 5}}, ClockOffset{100, 5}, true},
		{"one inside of the other", []ClockOffset{{100, 50}, {110, 5}}, ClockOffset{110, 5}, true},
		{"overlap", []ClockOffset{{100, 10}, {112, 8}}, ClockOffset{107, 3}, true},
		{"touch", []ClockOffset{{100, 10}, {120, 10}}, ClockOffset{110, 0}, true},
		{"apart: a clock was set", []ClockOffset{{100, 10}, {200, 10}}, ClockOffset{150, 60}, false},
		{"pairs overlap, all do not", []ClockOffset{{100, 10}, {115, 10}, {130, 10}}, ClockOffset{115, 25}, false},
	}
	for _, test := range tests {
		got, certain := CombineClocks(test.estimates...)
		if got != test.want || certain != test.certain {
			t.Errorf("%s: %+v, certain %v, want %+v, %v", test.name, got, certain, test.want, test.certain)
		}
	}
}
