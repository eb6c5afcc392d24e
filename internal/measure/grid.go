package measure

import "math/bits"

// fio's latency grid, from stat.h of fio 2.99 to 3.42: FIO_IO_U_PLAT_BITS, _VAL, _GROUP_NR and _NR. Each group of 64
// buckets covers one octave, so a bucket's width is at most 1/64 of any latency in the bucket, and its midpoint differs
// from any such latency by at most 1/128 (0.78 %). Below 128 ns, each nanosecond has its own bucket.
const (
	bucketBits     = 6
	bucketsInGroup = 1 << bucketBits
	numGroups      = 29
	numBuckets     = numGroups * bucketsInGroup
	lastBucket     = numBuckets - 1
)

// LastBucketNanoseconds is the key of fio's last bucket, about 17.1 s. That bucket also counts all slower
// operations, so a percentile equal to this key is only a lower bound.
const LastBucketNanoseconds uint64 = 17_112_760_320

// bucketOf returns the index of the bucket that holds a latency, like plat_val_to_idx in fio's stat.c.
func bucketOf(nanoseconds uint64) int {
	highest := bits.Len64(nanoseconds|1) - 1
	if highest <= bucketBits {
		return int(nanoseconds) // #nosec G115 -- at most 127
	}
	dropped := highest - bucketBits
	offset := (nanoseconds >> dropped) & (bucketsInGroup - 1)
	index := (dropped+1)<<bucketBits + int(offset) // #nosec G115 -- offset is at most 63
	return min(index, lastBucket)
}

// keyOf returns the key of a bucket: its midpoint, an integer in nanoseconds, as plat_idx_to_val in fio's stat.c
// computes it. fio prints keys in "bins" and as percentiles. index must be in [0, numBuckets).
func keyOf(index int) uint64 {
	if index < 2*bucketsInGroup {
		return uint64(index) // #nosec G115 -- the caller's index is not negative
	}
	dropped := index>>bucketBits - 1
	base := uint64(1) << (dropped + bucketBits)
	within := uint64(index % bucketsInGroup) // #nosec G115 -- at most 63
	return base + within<<dropped + uint64(1)<<dropped>>1
}

// lowestOf returns the smallest latency in nanoseconds that is counted in a bucket.
func lowestOf(index int) uint64 {
	if index < 2*bucketsInGroup {
		return uint64(index) // #nosec G115 -- the caller's index is not negative
	}
	dropped := index>>bucketBits - 1
	within := uint64(index % bucketsInGroup) // #nosec G115 -- at most 63
	return uint64(1)<<(dropped+bucketBits) + within<<dropped
}
