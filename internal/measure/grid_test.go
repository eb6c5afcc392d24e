package measure

import (
	"math"
	"testing"
)

func TestGridIsOneToOne(t *testing.T) {
	for index := range numBuckets {
		key := keyOf(index)
		if got := bucketOf(key); got != index {
			t.Fatalf("key %d of bucket %d is in bucket %d", key, index, got)
		}
		low := lowestOf(index)
		if got := bucketOf(low); got != index {
			t.Fatalf("lowest %d of bucket %d is in bucket %d", low, index, got)
		}
		if index > 0 {
			if got := bucketOf(low - 1); got != index-1 {
				t.Fatalf("%d, just below bucket %d, is in bucket %d", low-1, index, got)
			}
		}
		if index < lastBucket {
			next := lowestOf(index + 1)
			if key < low || key >= next {
				t.Fatalf("key %d is outside of bucket %d, %d to %d", key, index, low, next)
			}
			// fio's stat.h states this bound for the error of a value.
			if worst := max(key-low, next-1-key); float64(worst) > float64(low)/128 {
				t.Fatalf("bucket %d from %d to %d is %d away from its key %d", index, low, next, worst, key)
			}
		}
	}
}

// TestGridKnownValues checks values from fio's own output and the ranges in its stat.h.
func TestGridKnownValues(t *testing.T) {
	tests := []struct {
		nanoseconds uint64
		index       int
		key         uint64
	}{
		{0, 0, 0},
		{1, 1, 1},
		{127, 127, 127},
		{128, 128, 129},
		{129, 128, 129},
		{130, 129, 131},
		{255, 191, 255},
		{256, 192, 258},
		{168_960, 768 + 18, 168_960}, // from the example of fio_jsonplus_clat2csv
		{17_045_651_455, lastBucket - 1, 16_978_542_592},
		{17_045_651_456, lastBucket, LastBucketNanoseconds},
		{LastBucketNanoseconds, lastBucket, LastBucketNanoseconds},
		{17_179_869_184, lastBucket, LastBucketNanoseconds},
		{math.MaxUint64, lastBucket, LastBucketNanoseconds},
	}
	for _, test := range tests {
		index := bucketOf(test.nanoseconds)
		if index != test.index || keyOf(index) != test.key {
			t.Errorf("%d ns is in bucket %d with key %d, want %d with %d",
				test.nanoseconds, index, keyOf(index), test.index, test.key)
		}
	}
	if got := keyOf(lastBucket); got != LastBucketNanoseconds {
		t.Errorf("the last key is %d, want %d", got, LastBucketNanoseconds)
	}
}
