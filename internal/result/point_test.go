package result_test

import (
	"slices"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// TestFloorOfEqualDepths checks that the queue depth is the cause of a low rate if the next higher depth has the same
// latency. A second phase at the lowest depth must not hide this.
func TestFloorOfEqualDepths(t *testing.T) {
	at := func(phase string, depth float64) *result.Point {
		demand := plan.Demand{Load: limits.Load{BlockBytes: 4096, Operation: limits.Read}, Outstanding: depth}
		rate := depth / 0.004
		return result.NewPoint(phase, demand, 1, limits.Rate{BytesPerSecond: rate * 4096, OperationsPerSecond: rate}, 0.004)
	}
	for _, more := range [][]*result.Point{nil, {at("steady", 8)}} {
		shallow := at("ramp", 8)
		result.Relate(slices.Concat(more, []*result.Point{shallow, at("ramp", 16)}))
		if got := shallow.Short(); got == nil || got.Cause != v1alpha1.CauseQueueDepth {
			t.Errorf("with %d more points: %+v", len(more), got)
		}
	}
}
