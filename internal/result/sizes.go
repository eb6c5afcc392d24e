package result

import (
	"fmt"
	"math"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxSizeOff is the maximum relative difference between two counts of operations: those that were timed, and those
// computed from the bytes and the known size of an operation. If it is exceeded, the result has a warning.
const maxSizeOff = 0.05

// judgeSizes warns if the byte rate and the operation rate do not match. fio counts bytes and operations differently:
// for operations that complete while its warm-up ends, it counts the bytes but not the latency. The share of these
// operations is large in a short step with many outstanding operations, and even larger on a busy machine. Neither rate
// can then be trusted.
func (b *builder) judgeSizes() {
	demand, known := b.demand()
	if !known || !b.measured || b.load.SpansClients || b.step.WarmUp <= 0 || demand.Load.BlockBytes <= 0 {
		return
	}
	var apart []string
	for _, operation := range []measure.Operation{measure.Read, measure.Write} {
		rate := b.rates[operation]
		if rate.OperationsPerSecond <= 0 || rate.BytesPerSecond <= 0 {
			continue
		}
		timed := rate.OperationsPerSecond * demand.Load.BlockBytes
		if off := timed/rate.BytesPerSecond - 1; math.Abs(off) > maxSizeOff {
			apart = append(apart, fmt.Sprintf("%v: the number of timed operations differs by %+.0f %% from the number computed from the bytes", operation, 100*off))
		}
	}
	if len(apart) > 0 {
		b.warnings.add(v1alpha1.WarningBytesUncertain, nil, "%s: measure for longer, or with fewer outstanding operations", strings.Join(apart, "; "))
	}
}
