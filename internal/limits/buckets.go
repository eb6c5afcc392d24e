package limits

import (
	"math"
	"slices"

	"github.com/storagebench/storagebench/internal/credits"
)

// Buckets are the estimated credits of a target's limits over time, by what was done. Each is as right as the limit
// that documents it.
type Buckets struct {
	all []followed
}

// followed is the account of one limit.
type followed struct {
	limit   *Limit
	account credits.Account
	// matters tells that one of the loads spends it; others are full as far as anybody notices.
	matters bool
}

// Spending is what was done on a target in some seconds.
type Spending struct {
	Bytes, Operations, Seconds float64
	// Operation that was done, Both for a mixture.
	Operation Operation
	// MaybeCached tells that the cache of the server may have answered all of it.
	MaybeCached bool
}

// Open begins the accounts of all limits whose bucket is published, of which nobody knows how full they are. Those count
// that one of the loads empties; all, where none does. Nil where there is no bucket.
func (c Computed) Open(loads ...Load) *Buckets {
	made := &Buckets{}
	for index := range c.Limits {
		limit := &c.Limits[index]
		bucket := credits.Bucket{Baseline: limit.Baseline, Burst: limit.Burst, Size: limit.Bucket, Refill: limit.Refill}
		if bucket.Baseline > 0 && bucket.Burst > 0 && bucket.Size > 0 && bucket.Refill > 0 {
			made.all = append(made.all, followed{limit: limit, account: credits.Open(bucket)})
		}
	}
	if len(made.all) == 0 {
		return nil
	}
	some := false
	for _, load := range loads {
		for _, drain := range c.Course(load, math.Inf(1)).Drains {
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

// Refilled takes a refill that was measured for that of the limit of a dimension that counts, where there is one only.
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

// Spend notes what was done.
func (b *Buckets) Spend(s Spending) {
	if s.Seconds <= 0 {
		return
	}
	for index := range b.all {
		one := &b.all[index]
		most := one.limit.counts(s) / s.Seconds
		least := most
		// The fill is between those of two courses: one in which what may have been spent was not, and one in which it was.
		if uncertain := s.MaybeCached && one.limit.CachedReadsPass || one.limit.Operation != Both && s.Operation == Both; uncertain {
			least = 0
		}
		one.account.LoadBetween(least, most, s.Seconds)
	}
}

// counts is what of it a limit counts.
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

// Idle refills for so many seconds.
func (b *Buckets) Idle(seconds float64) {
	if seconds > 0 {
		b.Spend(Spending{Seconds: seconds})
	}
}

// Emptied notes that credits were seen to be gone: of those limits; of all that count, where it is not known whose.
func (b *Buckets) Emptied(names ...string) {
	for index := range b.all {
		if one := &b.all[index]; slices.Contains(names, one.limit.Name) || len(names) == 0 && one.matters {
			one.account.Emptied()
		}
	}
}

// Percent is the fill of the emptiest bucket that counts, if all were full at first; LeastPercent if they were empty.
func (b *Buckets) Percent() float64 {
	return b.least(func(a credits.Account) float64 { return a.Percent() })
}

// LeastPercent is Percent if all buckets were empty at first.
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

// SecondsTo is how long the target has to be left alone until each bucket that counts holds so many percent for certain.
func (b *Buckets) SecondsTo(percent float64) float64 {
	seconds := 0.0
	for _, one := range b.all {
		if one.matters {
			seconds = max(seconds, one.account.SecondsTo(percent))
		}
	}
	return seconds
}

// Fills are the credits by limit.
func (b *Buckets) Fills() map[string]Fill {
	made := map[string]Fill{}
	for _, one := range b.all {
		made[one.limit.Name] = FillOf(one.account, false)
	}
	return made
}

// OpenMeasured follows a bucket that no limit documents, but that was measured.
func OpenMeasured(name string, bucket credits.Bucket) *Buckets {
	limit := &Limit{Name: name, Layer: LayerVolume, Dimension: Bytes, Baseline: bucket.Baseline, Burst: bucket.Burst, Bucket: bucket.Size, Refill: bucket.Refill, Units: 1}
	return &Buckets{all: []followed{{limit: limit, account: credits.Open(bucket), matters: true}}}
}
