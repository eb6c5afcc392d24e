package limits

import (
	"fmt"
	"slices"
)

// units describes the identical units, such as disks or nodes, over which a limit is summed.
type units struct {
	count  int
	each   string // the plural noun for the units, such as "flows"; empty for volumes
	region string
}

// compute evaluates a limit of the catalog. It returns nil, nil if the limit does not apply to storage of this
// capacity.
func (l limitRow) compute(e environment, u units) (*Limit, *Missing) {
	if l.above > 0 || l.upTo > 0 {
		switch {
		case e.capacityBytes <= 0:
			return nil, &Missing{capacityField, "the size of the storage is unknown, and its limits depend on it; set documented.capacity, such as 500Gi"}
		case e.capacityBytes <= l.above, l.upTo > 0 && e.capacityBytes > l.upTo:
			return nil, nil
		}
	}
	baseline := l.baseline.of(e)
	if baseline.missing != nil {
		return nil, baseline.missing
	}
	e.baseline = baseline.amount
	made := &Limit{Name: l.name, Layer: l.layer, Operation: l.operation, Dimension: Bytes, Baseline: baseline.amount, Arithmetic: baseline.text,
		OperationUnitBytes: l.operationUnit, Units: 1, CachedReadsPass: l.passed, CacheOnly: l.traffic == cachedTraffic, Note: l.note}
	if l.baseline.kind == operationRate {
		made.Dimension = Operations
	}
	if l.burst != nil {
		if missing := l.bursting(made, e, u.region); missing != nil {
			return nil, missing
		}
	}
	made.multiply(u)
	return made, nil
}

// bursting adds the burst and its bucket if the burst is above the baseline.
func (l limitRow) bursting(made *Limit, e environment, region string) *Missing {
	figure := l.burst
	if region != "" && slices.Contains(l.regions, region) {
		figure = l.regionalBurst
	}
	burst := figure.of(e)
	if burst.missing != nil {
		return burst.missing
	}
	if burst.amount <= made.Baseline {
		return nil
	}
	made.Burst, made.BurstArithmetic = burst.amount, burst.text
	if len(l.regions) > 0 && region == "" {
		made.Note = "the burst is lower in some regions, and the region is unknown"
	}
	made.Billed = l.billed
	switch {
	case l.burstSeconds > 0:
		made.Bucket = (made.Burst - made.Baseline) * l.burstSeconds
		_, unit := made.Dimension.units()
		made.BucketArithmetic = fmt.Sprintf("(burst - baseline) x %s s = %s", number(l.burstSeconds), in(made.Bucket, unit))
	case l.bucket != nil:
		bucket := l.bucket.of(e)
		if bucket.missing != nil {
			return bucket.missing
		}
		made.Bucket, made.BucketArithmetic = bucket.amount, bucket.text
	default:
		return nil
	}
	made.Refill = made.Baseline
	if l.refill != nil {
		refill := l.refill.of(e)
		if refill.missing != nil {
			return refill.missing
		}
		made.Refill = refill.amount
	}
	return nil
}

// multiply multiplies the figures of a limit by the number of its units.
func (l *Limit) multiply(u units) {
	if u.count <= 1 {
		return
	}
	times := float64(u.count)
	of := number(times)
	if u.each != "" {
		of += " " + u.each
	}
	l.Units = u.count
	l.Arithmetic = l.times(of, l.Arithmetic, l.Baseline, l.Baseline*times)
	if l.Burst > 0 {
		l.BurstArithmetic = l.times(of, l.BurstArithmetic, l.Burst, l.Burst*times)
	}
	if l.Bucket > 0 {
		l.BucketArithmetic = of + " x (" + l.BucketArithmetic + ")"
	}
	l.Baseline, l.Burst, l.Bucket, l.Refill = l.Baseline*times, l.Burst*times, l.Bucket*times, l.Refill*times
}

// times formats a multiplication such as "4 x 200 MB/s = 800 MB/s". If `how` shows how the 200 MB/s were calculated,
// times puts that calculation first.
func (l *Limit) times(of, how string, each, all float64) string {
	unit, _ := l.Dimension.units()
	single := in(each, unit)
	made := of + " x " + single + " = " + in(all, unit)
	if how != single {
		made = how + "; " + made
	}
	return made
}
