package credits

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Bucket is a token bucket, in bytes or in operations: rates a second, and the credits of a full one.
type Bucket struct {
	Baseline, Burst, Size, Refill float64
}

// Of is the bucket that limits describe; false where they leave out the baseline, the burst or the
// bucket. A refill that is left out equals the baseline.
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

// Drains reports whether full demand empties the bucket at all.
func (b Bucket) Drains() bool { return b.Burst > b.Refill }

// DrainSeconds is how long full demand takes to spend so many credits: infinite where they grow
// faster than they are spent.
func (b Bucket) DrainSeconds(credits float64) float64 {
	if !b.Drains() {
		return math.Inf(1)
	}
	return credits / (b.Burst - b.Refill)
}

// Needs is the credits that full demand spends in so many seconds, if there are as many; 0 where
// they grow faster than they are spent.
func (b Bucket) Needs(seconds float64) float64 { return max(0, b.Burst-b.Refill) * seconds }

// FillSeconds is how long an empty bucket that is left alone takes to be so full, in percent.
func (b Bucket) FillSeconds(percent float64) float64 { return b.Size * percent / 100 / b.Refill }

// clamp bounds a fill.
func (b Bucket) clamp(fill float64) float64 { return min(max(fill, 0), b.Size) }

// pass is a bucket from one fill on, under a demand: what it lets through at first, for how long that
// holds, and what it lets through from then on. The fill changes by drift at first and then no more.
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

// after is the fill and what was let through after some seconds.
func (p pass) after(b Bucket, fill, seconds float64) (left, through float64) {
	begun := min(seconds, p.seconds)
	return b.clamp(fill + p.drift*begun), p.first*begun + p.then*(seconds-begun)
}

// takes is how long it takes to let an amount through.
func (p pass) takes(amount float64) float64 {
	if amount <= p.first*p.seconds {
		return amount / p.first
	}
	return p.seconds + (amount-p.first*p.seconds)/p.then
}
