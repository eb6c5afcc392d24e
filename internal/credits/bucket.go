package credits

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Bucket is a token bucket, in bytes or in operations. Size is the number of credits in a full bucket. The other fields
// are rates per second.
type Bucket struct {
	Baseline, Burst, Size, Refill float64
}

// Of returns the bucket that the limits describe. If the limits have no refill, the refill equals the baseline. Of
// returns false if the baseline, the burst or the bucket is missing, or if a value is not positive.
func Of(limits *v1alpha1.RateLimits) (Bucket, bool) {
	if limits == nil || limits.Baseline == nil || limits.Burst == nil || limits.Bucket == nil {
		return Bucket{}, false
	}
	bucket := Bucket{Baseline: number(limits.Baseline), Burst: number(limits.Burst), Size: number(limits.Bucket)}
	bucket.Refill = bucket.Baseline
	if limits.Refill != nil {
		bucket.Refill = number(limits.Refill)
	}
	return bucket, bucket.Baseline > 0 && bucket.Burst > 0 && bucket.Size > 0 && bucket.Refill > 0
}

func number(quantity *resource.Quantity) float64 { return quantity.AsApproximateFloat64() }

// Drains reports whether unlimited demand empties the bucket.
func (b Bucket) Drains() bool { return b.Burst > b.Refill }

// DrainSeconds returns how long unlimited demand takes to spend the given credits. It returns infinity if they refill
// at least as fast as they are spent.
func (b Bucket) DrainSeconds(credits float64) float64 {
	if !b.Drains() {
		return math.Inf(1)
	}
	return credits / (b.Burst - b.Refill)
}

// Needs returns the credits needed to sustain the burst rate for the given time under unlimited demand. It returns 0 if
// credits refill at least as fast as they are spent.
func (b Bucket) Needs(seconds float64) float64 { return max(0, b.Burst-b.Refill) * seconds }

// FillSeconds returns how long an empty bucket takes to refill to the given percentage while it is idle.
func (b Bucket) FillSeconds(percent float64) float64 { return b.Size * percent / 100 / b.Refill }

// clamp limits a fill level to the range 0 to Size.
func (b Bucket) clamp(fill float64) float64 { return min(max(fill, 0), b.Size) }

// pass describes how a bucket with a given fill level serves a demand, in two periods. In the first, which lasts for
// `seconds`, the bucket lets load through at the rate `first`, and the fill level changes by `drift` per second. In the
// second, the rate is `then`, and the fill level is constant.
type pass struct {
	first, seconds, drift, then float64
}

func (b Bucket) pass(fill, demand float64) pass {
	rate := min(demand, b.Burst)
	drift := b.Refill - rate
	switch {
	case drift < 0 && fill <= 0:
		slow := min(rate, b.Baseline)
		return pass{first: slow, seconds: math.Inf(1), then: slow}
	case drift < 0:
		return pass{first: rate, seconds: fill / -drift, drift: drift, then: min(rate, b.Baseline)}
	case drift > 0:
		return pass{first: rate, seconds: max(0, b.Size-fill) / drift, drift: drift, then: rate}
	}
	return pass{first: rate, seconds: math.Inf(1), then: rate}
}

// after returns the fill level after the given number of seconds, and the total amount let through until then.
func (p pass) after(b Bucket, fill, seconds float64) (left, through float64) {
	begun := min(seconds, p.seconds)
	return b.clamp(fill + p.drift*begun), p.first*begun + p.then*(seconds-begun)
}

// takes returns how many seconds pass until the bucket has let the given amount through.
func (p pass) takes(amount float64) float64 {
	if amount <= 0 {
		return 0
	}
	if amount <= p.first*p.seconds {
		return amount / p.first
	}
	return p.seconds + (amount-p.first*p.seconds)/p.then
}
