package measure

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// TestSaturatedBinsStayAtTheGreatest checks that counts saturate. More than 64 bits come only from broken or hostile
// input, and must never wrap around to a small number that looks like a result.
func TestSaturatedBinsStayAtTheGreatest(t *testing.T) {
	var h, other Histogram
	h.AddNanoseconds(50, math.MaxUint64)
	other.AddNanoseconds(50, 3)
	other.AddNanoseconds(51, 4)
	h.Merge(&other)
	for key, n := range h.Bins() {
		if want := map[uint64]uint64{50: math.MaxUint64, 51: 4}[key]; n != want {
			t.Errorf("bin %d has %d, want %d", key, n, want)
		}
	}
	if _, ok := h.PercentileUnchecked(50); ok || !h.Saturated() {
		t.Error("a percentile of wrong counts was given")
	}
	l := Latency{Count: 1, SumNanoseconds: Uint128{High: 2}, MaxNanoseconds: 1}
	if got := l.MeanNanoseconds(); got != math.MaxUint64 {
		t.Errorf("an impossible mean is %d", got)
	}
}

func TestMeanRoundsHalvesUp(t *testing.T) {
	// A mean is rounded down if its fraction is just below a half, and up if it is above.
	tests := []struct {
		sum   Uint128
		count uint64
		want  uint64
	}{
		{Uint128{Low: 7}, 5, 1}, {Uint128{Low: 8}, 5, 2}, {Uint128{Low: 5}, 2, 3}, {Uint128{High: 1}, 2, 1 << 63},
		{productOf(math.MaxUint64, math.MaxUint64), math.MaxUint64, math.MaxUint64},
		{Uint128{Low: math.MaxUint64}, 1, math.MaxUint64},
	}
	for _, test := range tests {
		if got, ok := test.sum.dividedBy(test.count); !ok || got != test.want {
			t.Errorf("%v/%d = %d, %v, want %d", test.sum, test.count, got, ok, test.want)
		}
	}
	// Rounded up, the quotient would be 2^64.
	if got, ok := (Uint128{High: math.MaxUint64 - 1, Low: math.MaxUint64}).dividedBy(math.MaxUint64); ok {
		t.Errorf("a quotient over 64 bits is %d", got)
	}
}

func TestMarshalBinaryIsAppendBinary(t *testing.T) {
	l := latencyOf(5, 6_000)
	whole, err := l.MarshalBinary()
	if err != nil || !bytes.Equal(whole, encodedLatency(t, &l)) {
		t.Errorf("got %x, %v", whole, err)
	}
}

func TestSubOfAWrongLatency(t *testing.T) {
	full := Latency{}
	full.AddNanoseconds(5, math.MaxUint64)
	full.AddNanoseconds(5, 1)
	if _, err := full.Sub(&Latency{}); err == nil || errors.Is(err, ErrCounterReset) {
		t.Errorf("counts that do not fit gave %v, which must be an error but is no reset", err)
	}
}
