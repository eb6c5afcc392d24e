package limits

import (
	"math"
	"slices"

	"github.com/storagebench/storagebench/internal/credits"
)

// Level is an interval in which a load has one constant rate.
type Level struct {
	// StartSeconds and Seconds are the start and the length of the level; Seconds is infinite for the last one.
	StartSeconds, Seconds float64
	// BytesPerSecond and OperationsPerSecond are the rates of the load.
	BytesPerSecond, OperationsPerSecond float64
	// Limit is the limit that sets the rate, or nil if the load requests no more than the limits allow. Burst is true
	// if the rate is the limit's burst.
	Limit *Limit
	Burst bool
}

// Drain contains the time in which a load spends the credits of one limit, and the time in which they refill.
type Drain struct {
	Limit *Limit
	// Seconds is the time until a full bucket is empty, infinite if the load does not empty it.
	Seconds float64
	// RefillSeconds is the time in which an empty bucket fills completely if there is no load.
	RefillSeconds float64
}

// ThrottleTimeline is the rate of a load over time, from full buckets until the rate no longer changes.
type ThrottleTimeline struct {
	Levels []Level
	// Drains holds the drain of every limit with a published bucket.
	Drains []Drain
	// Unpublished lists the limits whose baseline is below the load's initial rate and whose bucket size is not
	// published. If their credits run out, levels end earlier than stated.
	Unpublished []*Limit
}

// Spends returns the names of the limits whose credits a load with unlimited demand spends. It includes limits whose
// bucket size is not published, because their credits may run out. If the block size of the load is unknown, it returns
// all limits with credits.
func (c Computed) Spends(load Load) []string {
	var names []string
	if load.BlockBytes <= 0 {
		for index := range c.Limits {
			if limit := &c.Limits[index]; limit.bursts() {
				names = append(names, limit.Name)
			}
		}
		return names
	}
	timeline := c.ThrottleTimeline(load, math.Inf(1))
	for _, limit := range timeline.Unpublished {
		names = append(names, limit.Name)
	}
	for _, drain := range timeline.Drains {
		if !math.IsInf(drain.Seconds, 1) {
			names = append(names, drain.Limit.Name)
		}
	}
	return names
}

// Emptied returns the limits that apply after the credits of the named limits are spent.
func (c Computed) Emptied(names []string) Computed {
	c.Limits = slices.Clone(c.Limits)
	for index := range c.Limits {
		if limit := &c.Limits[index]; slices.Contains(names, limit.Name) {
			limit.Burst, limit.Bucket = 0, 0
		}
	}
	return c
}

// limitBucket tracks the credits of one limit while a timeline is computed.
type limitBucket struct {
	limit   *Limit
	account credits.Account
	bound   float64 // the rate that the limit allows with credits, in operations per second
	counted float64 // the credits that one operation spends
	empty   bool
	drained float64
}

// ThrottleTimeline computes the rate over time of a load that requests demandBytesPerSecond and starts with full
// buckets. math.Inf(1) means unlimited demand. If the block size of the load is unknown, the timeline is empty.
func (c Computed) ThrottleTimeline(load Load, demandBytesPerSecond float64) ThrottleTimeline {
	made := ThrottleTimeline{}
	if load.BlockBytes <= 0 {
		return made
	}
	buckets, fixed := c.buckets(load)
	demand := demandBytesPerSecond / load.BlockBytes
	for now := 0.0; ; {
		level := Level{StartSeconds: now, Seconds: math.Inf(1), OperationsPerSecond: demand}
		for _, bound := range fixed {
			level.take(bound.OperationsPerSecond, bound.Limit, bound.Burst)
		}
		for _, bucket := range buckets {
			rate := bucket.bound
			if bucket.empty {
				rate = bucket.limit.bound(load, false).OperationsPerSecond
			}
			level.take(rate, bucket.limit, !bucket.empty)
		}
		if math.IsInf(level.OperationsPerSecond, 1) {
			return made
		}
		level.BytesPerSecond = level.OperationsPerSecond * load.BlockBytes
		for _, bucket := range buckets {
			level.Seconds = min(level.Seconds, bucket.secondsLeft(level.OperationsPerSecond))
		}
		made.Levels = append(made.Levels, level)
		if math.IsInf(level.Seconds, 1) {
			break
		}
		for _, bucket := range buckets {
			bucket.spend(level, now)
		}
		now += level.Seconds
	}
	made.finish(c, load, buckets)
	return made
}

// take lowers the rate of the level to the rate that a limit allows, if the level's rate is higher.
func (l *Level) take(operations float64, limit *Limit, burst bool) {
	if operations < l.OperationsPerSecond {
		l.OperationsPerSecond, l.Limit, l.Burst = operations, limit, burst && limit.Burst > 0
	}
}

// buckets returns a limitBucket for each limit that applies to the load and has credits, and the bounds of all other
// limits that apply.
func (c Computed) buckets(load Load) (with []*limitBucket, fixed []Bound) {
	for index := range c.Limits {
		limit := &c.Limits[index]
		if !limit.applies(load) {
			continue
		}
		bound := limit.bound(load, true)
		if limit.Bucket == 0 || limit.Burst == 0 {
			fixed = append(fixed, bound)
			continue
		}
		with = append(with, &limitBucket{limit: limit, bound: bound.OperationsPerSecond, counted: limit.Burst / bound.OperationsPerSecond, drained: math.Inf(1),
			account: credits.Open(credits.Bucket{Baseline: limit.Baseline, Burst: limit.Burst, Size: limit.Bucket, Refill: limit.Refill})})
	}
	return with, fixed
}

// secondsLeft returns how long the credits last at the given rate, in operations per second.
func (b *limitBucket) secondsLeft(operations float64) float64 {
	if b.empty {
		return math.Inf(1)
	}
	at := b.account.Bucket()
	at.Burst = operations * b.counted
	return at.DrainSeconds(b.account.Fill())
}

// spend deducts the credits that a level spends.
func (b *limitBucket) spend(level Level, start float64) {
	if b.empty {
		return
	}
	if b.secondsLeft(level.OperationsPerSecond) <= level.Seconds*(1+1e-9) {
		b.account.Emptied()
		b.empty, b.drained = true, start+level.Seconds
		return
	}
	b.account.Load(level.OperationsPerSecond*b.counted, level.Seconds)
}

// finish adds the drains of the buckets to the timeline. It also lists the limits that can burst but whose bucket size
// is not published.
func (c *ThrottleTimeline) finish(of Computed, load Load, buckets []*limitBucket) {
	for _, bucket := range buckets {
		c.Drains = append(c.Drains, Drain{Limit: bucket.limit, Seconds: bucket.drained, RefillSeconds: bucket.account.Bucket().FillSeconds(100)})
	}
	highest := c.Levels[0].OperationsPerSecond
	for index := range of.Limits {
		limit := &of.Limits[index]
		if limit.Burst > 0 && limit.Bucket == 0 && !limit.Billed && limit.applies(load) && limit.bound(load, false).OperationsPerSecond < highest {
			c.Unpublished = append(c.Unpublished, limit)
		}
	}
}
