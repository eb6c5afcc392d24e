package limits

import (
	"cmp"
	"math"
	"slices"

	"github.com/storagebench/storagebench/internal/credits"
)

// Buckets estimates the credits of a target's limits over time from the I/O on the target. Each estimate is only as
// accurate as the documented limit.
type Buckets struct {
	all []creditAccount
}

// creditAccount tracks the estimated credits of one limit.
type creditAccount struct {
	limit   *Limit
	account credits.Account
	// matters is true if the bucket is relevant to methods such as Percent: one of the loads passed to Open empties
	// it, or none of these loads empties any bucket.
	matters bool
}

// Spending is the I/O on a target in an interval.
type Spending struct {
	Bytes, Operations, Seconds float64
	// Operation is the operation of the I/O; Both for mixed I/O.
	Operation Operation
	// MaybeCached is true if the server's cache may have served all of the I/O.
	MaybeCached bool
	// Share is the share of the clients that did the I/O; 0 counts as 1. These clients spend only the credits of their
	// own machines and, if OwnVolumes is true, of their own volumes.
	Share      float64
	OwnVolumes bool
}

// Open starts tracking the credits of each limit with a published bucket. The fill level of the buckets is unknown at
// first. If the given loads empty some of the buckets, only these buckets are relevant to methods such as Percent;
// otherwise all buckets are relevant. Open returns nil if no limit has a published bucket.
func (c Computed) Open(loads ...Load) *Buckets {
	made := &Buckets{}
	for index := range c.Limits {
		limit := &c.Limits[index]
		bucket := credits.Bucket{Baseline: limit.Baseline, Burst: limit.Burst, Size: limit.Bucket, Refill: limit.Refill}
		if bucket.Baseline > 0 && bucket.Burst > 0 && bucket.Size > 0 && bucket.Refill > 0 {
			made.all = append(made.all, creditAccount{limit: limit, account: credits.Open(bucket)})
		}
	}
	if len(made.all) == 0 {
		return nil
	}
	some := false
	for _, load := range loads {
		for _, drain := range c.ThrottleTimeline(load, math.Inf(1)).Drains {
			for index := range made.all {
				if !math.IsInf(drain.Seconds, 1) && made.all[index].limit == drain.Limit {
					made.all[index].matters, some = true, true
				}
			}
		}
	}
	for index := range made.all {
		made.all[index].matters = made.all[index].matters || !some
	}
	return made
}

// Refilled sets the refill rate of the limit with the given dimension to a measured value, and restarts tracking its
// credits with an unknown fill level. It does nothing unless exactly one relevant limit (see Open) has that dimension
// and the measured value is positive.
func (b *Buckets) Refilled(of Dimension, refill float64) {
	at := -1
	for index := range b.all {
		if one := &b.all[index]; one.matters && one.limit.Dimension == of {
			if at >= 0 {
				return
			}
			at = index
		}
	}
	if at < 0 || refill <= 0 {
		return
	}
	bucket := b.all[at].account.Bucket()
	bucket.Refill = refill
	b.all[at].account = credits.Open(bucket)
}

// Spend updates the credits of all limits for an interval with the given I/O. If only some of the clients performed it,
// the estimates apply to the buckets that these clients use.
func (b *Buckets) Spend(s Spending) {
	if s.Seconds <= 0 {
		return
	}
	for index := range b.all {
		one := &b.all[index]
		most := one.limit.counts(s) / s.Seconds / one.limit.fraction(cmp.Or(s.Share, 1), s.OwnVolumes)
		least := most
		// Some I/O may not count toward the limit. The true fill level lies between the estimate without this I/O and
		// the estimate that includes it.
		if uncertain := s.MaybeCached && one.limit.CachedReadsPass || one.limit.Operation != Both && s.Operation == Both; uncertain {
			least = 0
		}
		one.account.LoadBetween(least, most, s.Seconds)
	}
}

// counts returns how much of the I/O counts toward the limit, in bytes or operations.
func (l *Limit) counts(s Spending) float64 {
	switch {
	case l.Operation != Both && s.Operation != Both && l.Operation != s.Operation, l.CacheOnly:
		return 0
	case l.Dimension == Bytes:
		return s.Bytes
	case l.OperationUnitBytes > 0:
		return max(s.Operations, s.Bytes/l.OperationUnitBytes)
	}
	return s.Operations
}

// Idle updates the credits for an interval without I/O, in which the buckets refill.
func (b *Buckets) Idle(seconds float64) {
	if seconds > 0 {
		b.Spend(Spending{Seconds: seconds})
	}
}

// Emptied records that the credits of the named limits were observed to be spent. Without names, it records this for
// all relevant limits (see Open).
func (b *Buckets) Emptied(names ...string) {
	for index := range b.all {
		if one := &b.all[index]; slices.Contains(names, one.limit.Name) || len(names) == 0 && one.matters {
			one.account.Emptied()
		}
	}
}

// Percent returns the lowest fill level, in percent, of the relevant buckets (see Open), assuming that all buckets were
// full at first.
func (b *Buckets) Percent() float64 {
	return b.least(func(a credits.Account) float64 { return a.Percent() })
}

// LeastPercent is like Percent, but assumes that all buckets were empty at first.
func (b *Buckets) LeastPercent() float64 {
	return b.least(func(a credits.Account) float64 { return a.LeastPercent() })
}

func (b *Buckets) least(of func(credits.Account) float64) float64 {
	least := 100.0
	for _, one := range b.all {
		if one.matters {
			least = min(least, of(one.account))
		}
	}
	return least
}

// SecondsTo returns how long the target must idle until each relevant bucket (see Open) is certainly filled to the
// given percentage.
func (b *Buckets) SecondsTo(percent float64) float64 {
	seconds := 0.0
	for _, one := range b.all {
		if one.matters {
			seconds = max(seconds, one.account.SecondsTo(percent))
		}
	}
	return seconds
}

// Fills returns the estimated fill level of each limit's bucket, by the name of the limit.
func (b *Buckets) Fills() map[string]Fill {
	made := map[string]Fill{}
	for _, one := range b.all {
		made[one.limit.Name] = FillOf(one.account, false)
	}
	return made
}

// OpenMeasured starts tracking the credits of a single bucket whose size was measured, not documented, with the given
// number of clients.
func OpenMeasured(name string, bucket credits.Bucket, clients int) *Buckets {
	limit := &Limit{Name: name, Layer: LayerVolume, Dimension: Bytes, Units: max(1, clients),
		Baseline: bucket.Baseline, Burst: bucket.Burst, Bucket: bucket.Size, Refill: bucket.Refill}
	return &Buckets{all: []creditAccount{{limit: limit, account: credits.Open(bucket), matters: true}}}
}
