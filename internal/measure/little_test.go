package measure

import (
	"math"
	"testing"
)

func TestLittle(t *testing.T) {
	var rates Rates
	rates[Read].OperationsPerSecond = 2_000
	rates[Write].OperationsPerSecond = 1_000
	rates[Sync].OperationsPerSecond = 1_000
	var latencies [NumOperations]Latency
	latencies[Read].AddNanoseconds(3_000_000, 10) // 6 in flight
	latencies[Write].AddNanoseconds(1_000_000, 5) // 2, with a mean of 2 ms
	latencies[Write].AddNanoseconds(3_000_000, 5)
	latencies[Sync].AddNanoseconds(9_000_000, 10) // not counted
	tests := []struct {
		jobs, depth uint64
		share       float64
		bound       bool
	}{
		{1, 8, 1, false},
		{2, 4, 1, false},
		{4, 4, 0.5, true},
		{8, 1, 1, false},
		{1, 9, 8.0 / 9, true},
	}
	for _, test := range tests {
		got, err := CheckLittle(rates, latencies, test.jobs, test.depth)
		if err != nil || math.Abs(got.Outstanding-8) > 1e-9 || math.Abs(got.Share-test.share) > 1e-9 || got.GeneratorBound != test.bound {
			t.Errorf("%d jobs of depth %d: %+v, %v, want a share of %v", test.jobs, test.depth, got, err, test.share)
		}
	}
	if _, err := CheckLittle(rates, latencies, 0, 8); err == nil {
		t.Error("no jobs were accepted")
	}
	if _, err := CheckLittle(rates, latencies, 8, 0); err == nil {
		t.Error("no depth was accepted")
	}
}
