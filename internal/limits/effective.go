package limits

// Load holds the properties of a load that limits depend on.
type Load struct {
	// BlockBytes is the size of an operation; 0 if it is not known, in which case limits in bytes cannot be compared
	// with limits in operations.
	BlockBytes float64
	// Operation is the load's operation, or Both for a mixed load. Limits that cover only reads or only writes do not
	// apply to a mixed load.
	Operation Operation
	// CachedShare is the share of the reads, 0 to 1, that the cache of the server or of the machine's host serves.
	CachedShare float64
}

// Bound is the rate that one limit, or the lowest of several limits, allows for a load.
type Bound struct {
	// BytesPerSecond and OperationsPerSecond are the rates that the limit allows; 0 if not known.
	BytesPerSecond, OperationsPerSecond float64
	// Limit is the limit that sets the bound; nil if none is known. Burst is true if the bound is the burst of Limit.
	Limit *Limit
	Burst bool
	// Arithmetic shows how the rate follows from the limit: "5,000 IOPS x 64 KiB = 327.68 MB/s".
	Arithmetic string
}

// Effective holds the effective limits of a target.
type Effective struct {
	// Burst is the bound while every bucket contains credits, and Baseline is the bound once all buckets are empty.
	// They are equal if no limit has a burst.
	Burst, Baseline Bound
	// BytesBurst and BytesBaseline are the bounds set by the limits in bytes alone, with and without credits.
	// OperationsBurst and OperationsBaseline are those set by the limits in operations alone. The field Limit of a bound
	// is nil if no limit of its dimension applies to the load.
	BytesBurst, BytesBaseline, OperationsBurst, OperationsBaseline Bound
}

// At returns the effective limits for a load.
func (c Computed) At(load Load) Effective {
	made := Effective{}
	for index := range c.Limits {
		limit := &c.Limits[index]
		if !limit.applies(load) {
			continue
		}
		for _, burst := range []bool{false, true} {
			bound := limit.bound(load, burst)
			whole, dimension := &made.Baseline, &made.BytesBaseline
			switch {
			case burst && limit.Dimension == Bytes:
				whole, dimension = &made.Burst, &made.BytesBurst
			case burst:
				whole, dimension = &made.Burst, &made.OperationsBurst
			case limit.Dimension == Operations:
				dimension = &made.OperationsBaseline
			}
			if dimension.Limit == nil || bound.less(*dimension, limit.Dimension) {
				*dimension = bound
			}
			if load.BlockBytes > 0 && (whole.Limit == nil || bound.less(*whole, Operations)) {
				*whole = bound
			}
		}
	}
	return made
}

func (b Bound) less(than Bound, by Dimension) bool {
	if by == Bytes {
		return b.BytesPerSecond < than.BytesPerSecond
	}
	return b.OperationsPerSecond < than.OperationsPerSecond
}

// applies reports whether the limit applies to a load.
func (l *Limit) applies(load Load) bool {
	switch {
	case l.StoredBytes, l.CacheOnly && (load.CachedShare == 0 || load.Operation == Write):
		return false
	case l.Operation != Both && l.Operation != load.Operation:
		return false
	case l.CachedReadsPass && load.Operation == Read && load.CachedShare >= 1:
		return false
	}
	return true
}

// Rate returns the burst of the limit if burst is true and the limit has one; otherwise the baseline. The rate is in
// the dimension of the limit: bytes or operations per second.
func (l *Limit) Rate(burst bool) float64 {
	if burst && l.Burst > 0 {
		return l.Burst
	}
	return l.Baseline
}

// bound returns the rate that the limit allows for a load.
func (l *Limit) bound(load Load, burst bool) Bound {
	rate := l.Rate(burst)
	text := l.Arithmetic
	if burst && l.Burst > 0 {
		text = l.BurstArithmetic
	}
	switch share := min(max(load.CachedShare, 0), 1); {
	case load.Operation != Read || share == 0:
	case l.CacheOnly:
		rate /= share
		text += ", for " + number(100*share) + " % of the reads"
	case l.CachedReadsPass:
		rate /= 1 - share
		text += ", for the " + number(100*(1-share)) + " % of the reads that miss the cache"
	}
	made := Bound{Limit: l, Burst: burst && l.Burst > 0, Arithmetic: text}
	switch {
	case l.Dimension == Bytes:
		made.BytesPerSecond = rate
		if load.BlockBytes > 0 {
			made.OperationsPerSecond = rate / load.BlockBytes
		}
	case load.BlockBytes > 0:
		counted := load.BlockBytes
		if l.OperationUnitBytes > 0 {
			counted = min(counted, l.OperationUnitBytes)
		}
		made.BytesPerSecond = rate * counted
		made.OperationsPerSecond = made.BytesPerSecond / load.BlockBytes
		made.Arithmetic += "; " + in(rate, "IOPS") + " x " + in(counted, blockUnit(counted)) + " = " + in(made.BytesPerSecond, "MB/s")
	default:
		made.OperationsPerSecond = rate
	}
	return made
}

func blockUnit(bytes float64) string {
	if bytes >= 1<<20 {
		return "MiB"
	}
	return "KiB"
}
