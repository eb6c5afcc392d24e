package result

import (
	"fmt"
	"math"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxSizeOff is the greatest relative difference between the bytes and the operations of a rate that causes no
// warning if the size of every operation is known.
const maxSizeOff = 0.05

// judgeSizes compares the bytes of the rates with their operations. fio counts them in two ways: operations that
// complete while its warm-up ends are included in its bytes but are not timed. In a short step with many outstanding
// operations their share is large, and even larger on a busy machine. Neither figure can then be trusted by itself.
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
			apart = append(apart, fmt.Sprintf("%v: the number of timed operations differs by %+.0f %% from that computed from the bytes", operation, 100*off))
		}
	}
	if len(apart) > 0 {
		b.warnings.add(v1alpha1.WarningBytesUncertain, nil, "%s: measure for longer, or with fewer outstanding operations", strings.Join(apart, "; "))
	}
}
