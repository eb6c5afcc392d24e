package limits

import (
	"math"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/credits"
)

// Rates describes the limits of a load in one dimension as a single token bucket, if that is possible. Rates are per
// second. Unknown values are 0.
type Rates struct {
	// Baseline and Burst are the lowest rates that the limits allow without and with credits. Burst is 0 if nothing
	// bursts.
	Baseline, Burst float64
	// Bucket and Refill describe the limit whose credits the load spends first, if the rate then falls to the baseline.
	// Otherwise they are 0, because a single bucket cannot represent a second bucket that empties later, or one whose
	// size is not published.
	Bucket, Refill float64
}

// Rates describes the limits of one dimension as a single bucket. It serves code that can handle only one bucket, for
// example to detect the end of a drain, to measure the refill, or to check whether a drain lasted long enough.
func (c Computed) Rates(load Load, of Dimension) Rates {
	at := c.At(load)
	baseline, burst := at.BytesBaseline, at.BytesBurst
	if of == Operations {
		baseline, burst = at.OperationsBaseline, at.OperationsBurst
	}
	if baseline.Limit == nil {
		return Rates{}
	}
	made := Rates{Baseline: baseline.rate(of)}
	if most := burst.rate(of); most > made.Baseline {
		made.Burst = most
	}
	if main, ok := c.Main(load); ok && main.Limit.Dimension == of && made.Burst > 0 && nearly(main.Baseline, made.Baseline) {
		made.Bucket, made.Refill = main.Size, main.Refill
	}
	return made
}

// RefillsAtBaseline reports whether credits refill at the rate of the baseline, or no refill rate is documented.
func (r Rates) RefillsAtBaseline() bool { return r.Refill == 0 || nearly(r.Refill, r.Baseline) }

// nearly reports whether two figures differ only by rounding.
func nearly(a, b float64) bool { return math.Abs(a-b) <= 0.005*max(a, b) }

func (b Bound) rate(of Dimension) float64 {
	if of == Operations {
		return b.OperationsPerSecond
	}
	return b.BytesPerSecond
}

// Main is the bucket that a load empties first, with its limit. Its Burst is the rate that all limits together allow
// while the bucket has credits, and its Baseline is the rate that they allow once the bucket is empty.
type Main struct {
	credits.Bucket

	Limit *Limit
}

// Main returns the bucket that a load empties first. This is the bucket that a drain measures, and that must refill
// before another drain. Main returns false if no bucket is published, or if several buckets are published and the load
// empties none of them.
func (c Computed) Main(load Load) (Main, bool) {
	if load.BlockBytes <= 0 {
		load.BlockBytes, c = 1<<20, c.ofDimension(Bytes)
	}
	course := c.ThrottleTimeline(load, math.Inf(1))
	var first *Drain
	for index := range course.Drains {
		if drain := &course.Drains[index]; first == nil || drain.Seconds < first.Seconds {
			first = drain
		}
	}
	if first == nil || math.IsInf(first.Seconds, 1) && len(course.Drains) > 1 {
		return Main{}, false
	}
	limit := first.Limit
	made := Main{Limit: limit, Bucket: credits.Bucket{Baseline: limit.Baseline, Burst: limit.Burst, Size: limit.Bucket, Refill: limit.Refill}}
	// counted is the number of bytes or operations that this limit counts for each operation of the load. Multiplying a
	// level's rate in operations by counted converts it to the unit of this limit. Because of other limits, the rate can
	// be lower than this limit.
	counted := limit.Burst / limit.bound(load, true).OperationsPerSecond
	for _, level := range course.Levels {
		if level.StartSeconds == 0 {
			made.Burst = min(made.Burst, level.OperationsPerSecond*counted)
		} else if nearly(level.StartSeconds, first.Seconds) {
			made.Baseline = min(made.Baseline, level.OperationsPerSecond*counted)
		}
	}
	return made, true
}

// ofDimension returns the limits of a dimension.
func (c Computed) ofDimension(of Dimension) Computed {
	c.Limits = slices.DeleteFunc(slices.Clone(c.Limits), func(limit Limit) bool { return limit.Dimension != of })
	return c
}

// Bursts reports whether any limit has a burst that ends.
func (c Computed) Bursts() bool {
	return slices.ContainsFunc(c.Limits, func(limit Limit) bool { return limit.bursts() })
}

func (l *Limit) bursts() bool { return l.Burst > 0 && !l.Billed }

// KnowsStorage reports whether any limit of the storage itself is known, not only limits of the machines that use it.
func (c Computed) KnowsStorage() bool {
	return slices.ContainsFunc(c.Limits, func(limit Limit) bool { return limit.Layer.OfStorage() })
}

// Part returns the limits that apply to a share of the clients. It scales the limits that are sums over several
// machines or connections. If each client has its own volume, it also scales those that are sums over several volumes.
func (c Computed) Part(share float64, ownVolumes bool) Computed {
	if !(share > 0 && share < 1) {
		return c
	}
	made := c
	made.Limits = nil
	for _, limit := range c.Limits {
		made.Limits = append(made.Limits, limit.part(share, ownVolumes))
	}
	return made
}

// fraction returns the fraction of the limit that applies to a share of the clients. It is at least one of the units
// over which the limit is summed, because the full limit of a unit, such as a file server or a machine, applies even to
// a single client.
func (l *Limit) fraction(share float64, ownVolumes bool) float64 {
	if l.Layer.OfStorage() && !ownVolumes {
		return 1
	}
	return max(share, 1/float64(max(1, l.Units)))
}

// part scales the limit and its credits to a share of the clients.
func (l Limit) part(share float64, ownVolumes bool) Limit {
	fraction := l.fraction(share, ownVolumes)
	if fraction >= 1 {
		return l
	}
	rate, amount := l.Dimension.units()
	for _, one := range []struct {
		figure *float64
		text   *string
		unit   string
	}{{&l.Baseline, &l.Arithmetic, rate}, {&l.Burst, &l.BurstArithmetic, rate}, {&l.Bucket, &l.BucketArithmetic, amount}} {
		*one.figure *= fraction
		if *one.text != "" {
			*one.text += ", of which " + number(100*share) + " % of the clients get " + in(*one.figure, one.unit)
		}
	}
	l.Refill *= fraction
	l.Units = max(1, int(math.Round(float64(l.Units)*fraction)))
	return l
}

// CreditBytes returns the number of bytes that one credit pays for at the block size of a load, or 0 if not known.
func (l *Limit) CreditBytes(load Load) float64 {
	switch {
	case l.Dimension == Bytes:
		return 1
	case l.OperationUnitBytes > 0:
		return min(load.BlockBytes, l.OperationUnitBytes)
	}
	return load.BlockBytes
}

// Settled returns the burst and the baseline of a load, in bytes per second. The baseline is the rate of the last level
// of the load's timeline. If the timeline has only one level, or the block size is unknown, it is the baseline of the
// limits. Both rates are 0 if nothing bursts.
func (c Computed) Settled(load Load) Rates {
	if load.BlockBytes > 0 {
		if levels := c.ThrottleTimeline(load, math.Inf(1)).Levels; len(levels) > 1 {
			return Rates{Baseline: levels[len(levels)-1].BytesPerSecond, Burst: levels[0].BytesPerSecond}
		}
		if at := c.At(load); at.Burst.Limit != nil && at.Burst.BytesPerSecond > at.Baseline.BytesPerSecond {
			return Rates{Baseline: at.Baseline.BytesPerSecond, Burst: at.Burst.BytesPerSecond}
		}
		return Rates{}
	}
	if rates := c.Rates(load, Bytes); rates.Burst > 0 {
		return Rates{Baseline: rates.Baseline, Burst: rates.Burst}
	}
	return Rates{}
}

// Declared returns only the limits that a specification contains.
func Declared(written *v1alpha1.Limits) Computed {
	made := Computed{}
	made.declare(written, 1)
	return made
}
