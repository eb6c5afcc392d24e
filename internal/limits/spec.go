package limits

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Spec writes what was computed as the API writes limits: the effective baseline and burst of each dimension,
// the memory of the server, and the bucket. A single bucket cannot stand for several: it is given only where
// the limit that is left in the end is the one that pays for the burst. For more, use Course.
func (c Computed) Spec(operation Operation) *v1alpha1.Limits {
	at := c.At(Load{Operation: operation})
	made := &v1alpha1.Limits{Throughput: rates(at.BytesBaseline, at.BytesBurst, Bytes), IOPS: rates(at.OperationsBaseline, at.OperationsBurst, Operations)}
	if c.Cache.Bytes > 0 {
		made.ServerMemory = whole(c.Cache.Bytes)
	}
	if made.Throughput == nil && made.IOPS == nil && made.ServerMemory == nil {
		return nil
	}
	return made
}

func rates(baseline, burst Bound, of Dimension) *v1alpha1.RateLimits {
	if baseline.Limit == nil {
		return nil
	}
	least, most := baseline.OperationsPerSecond, burst.OperationsPerSecond
	if of == Bytes {
		least, most = baseline.BytesPerSecond, burst.BytesPerSecond
	}
	made := &v1alpha1.RateLimits{Baseline: whole(least)}
	if most <= least {
		return made
	}
	made.Burst = whole(most)
	if limit := baseline.Limit; limit == burst.Limit && limit.Bucket > 0 {
		made.Bucket, made.Refill = whole(limit.Bucket), whole(limit.Refill)
	}
	return made
}

func whole(amount float64) *resource.Quantity {
	return resource.NewQuantity(int64(math.Round(min(amount, math.MaxInt64/2))), resource.DecimalSI)
}
