package limits

import (
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/credits"
)

// Rates are what is documented of one dimension, a second, as one token bucket as far as one can stand for all limits
// that a load meets. What is not known is 0.
type Rates struct {
	// Baseline and Burst are the least of the limits; Burst is 0 where nothing bursts.
	Baseline, Burst float64
	// Bucket and Refill are those of the limit whose credits a load is the first to spend, where what is left then is the
	// baseline: a second bucket that ends later, or one that is not published, cannot be told in one figure.
	Bucket, Refill float64
}

// Rates of a dimension. It is what everything that knows one bucket only goes by: the end of a drain, its refill, and
// whether it lasted long enough.
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

// nearly tells figures that differ by rounding only.
func nearly(a, b float64) bool { return math.Abs(a-b) <= 0.005*max(a, b) }

func (b Bound) rate(of Dimension) float64 {
	if of == Operations {
		return b.OperationsPerSecond
	}
	return b.BytesPerSecond
}

// Main is the limit whose credits a load is the first to spend, and its bucket, whose burst and baseline are what all
// limits together let through before and after.
type Main struct {
	credits.Bucket

	Limit *Limit
}

// Main finds the bucket whose end a load meets first: what a drain measures, and what has to fill up before another one.
// False where no bucket is published, or several are and none ever ends.
func (c Computed) Main(load Load) (Main, bool) {
	if load.BlockBytes <= 0 {
		load.BlockBytes, c = 1<<20, c.only(Bytes)
	}
	course := c.Course(load, math.Inf(1))
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
	// What others let through of it, in what the limit counts.
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

// only the limits of a dimension.
func (c Computed) only(of Dimension) Computed {
	var kept []Limit
	for _, limit := range c.Limits {
		if limit.Dimension == of {
			kept = append(kept, limit)
		}
	}
	c.Limits = kept
	return c
}

// Bursts reports whether any limit lets more through for a time.
func (c Computed) Bursts() bool {
	for index := range c.Limits {
		if c.Limits[index].Burst > 0 && !c.Limits[index].Billed {
			return true
		}
	}
	return false
}

// KnowsStorage reports whether a limit of the storage itself is known, and not only of the machines that use it.
func (c Computed) KnowsStorage() bool {
	for index := range c.Limits {
		switch c.Limits[index].Layer {
		case LayerNetwork, LayerDisk, LayerVolume:
			return true
		case LayerInstance, LayerFlow:
		}
	}
	return false
}

// Part is what a part of the clients meets: the limits of machines and connections shrink with them; all limits do
// where each client has a volume of its own.
func (c Computed) Part(share float64, ownVolumes bool) Computed {
	if !(share > 0 && share < 1) {
		return c
	}
	made := c
	made.Limits = nil
	for _, limit := range c.Limits {
		if limit.Layer == LayerInstance || limit.Layer == LayerFlow || ownVolumes {
			limit = limit.part(share)
		}
		made.Limits = append(made.Limits, limit)
	}
	return made
}

func (l Limit) part(share float64) Limit {
	unit := "MB/s"
	if l.Dimension == Operations {
		unit = "IOPS"
	}
	scale := func(amount *float64, text *string) {
		if *amount > 0 {
			*amount *= share
			*text += ", of which " + number(100*share) + " % of the clients have " + in(*amount, unit)
		}
	}
	scale(&l.Baseline, &l.Arithmetic)
	scale(&l.Burst, &l.BurstArithmetic)
	l.Bucket *= share
	l.Refill *= share
	l.Units = max(1, int(math.Round(float64(l.Units)*share)))
	return l
}

// CreditBytes are the bytes that one credit pays for at the block size of a load; 0 where that is not known.
func (l *Limit) CreditBytes(load Load) float64 {
	switch {
	case l.Dimension == Bytes:
		return 1
	case l.OperationUnitBytes > 0:
		return min(load.BlockBytes, l.OperationUnitBytes)
	}
	return load.BlockBytes
}

// Settled is what a load gets in the end, in bytes a second, where it gets more at first: the last level whose beginning
// is documented, else the baseline. 0 where nothing bursts.
func (c Computed) Settled(load Load) float64 {
	if load.BlockBytes > 0 {
		if levels := c.Course(load, math.Inf(1)).Levels; len(levels) > 1 {
			return levels[len(levels)-1].BytesPerSecond
		}
		if at := c.At(load); at.Burst.Limit != nil && at.Burst.BytesPerSecond > at.Baseline.BytesPerSecond {
			return at.Baseline.BytesPerSecond
		}
		return 0
	}
	if rates := c.Rates(load, Bytes); rates.Burst > 0 {
		return rates.Baseline
	}
	return 0
}

// Declared are the limits that a specification writes out, alone.
func Declared(written *v1alpha1.Limits) Computed {
	made := Computed{}
	made.declare(written)
	return made
}
