package chart

import (
	"math"
	"testing"
)

// TestSecondsOfNothing checks that the axis is finite for unusable bounds. The ticks of an infinite axis would fill the
// memory.
func TestSecondsOfNothing(t *testing.T) {
	t.Parallel()
	for _, bounds := range [][2]float64{{math.Inf(1), math.Inf(-1)}, {0, math.Inf(1)}, {math.Inf(-1), 5}, {math.NaN(), math.NaN()}, {3, 3}} {
		axis := Seconds(bounds[0], bounds[1])
		if math.IsInf(axis.Min, 0) || !(axis.Max > axis.Min) && !math.IsNaN(bounds[0]) || len(axis.Ticks) > 20 {
			t.Errorf("from %g to %g: an axis from %g to %g with %d ticks", bounds[0], bounds[1], axis.Min, axis.Max, len(axis.Ticks))
		}
	}
}

// TestLinearOfNearlyNothing checks that an axis has few labels for any maximum. Steps that round to 0 would produce
// labels until the memory is full.
func TestLinearOfNearlyNothing(t *testing.T) {
	t.Parallel()
	for _, most := range []float64{5e-324, 1e-310, 1e-290, 1, math.MaxFloat64, math.Inf(1), math.NaN(), -1} {
		labels := 0
		Linear(most, 5, func(float64) string {
			if labels++; labels > 100 {
				t.Fatalf("up to %g: more than 100 labels", most)
			}
			return ""
		})
	}
}
