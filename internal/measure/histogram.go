package measure

import (
	"errors"
	"fmt"
	"iter"
	"math"
)

// ErrCounterReset is wrapped by errors about a counter that decreased. It means that the tool restarted its counters,
// as fio does at the end of its ramp time. The later counts then do not include the earlier ones, so do not subtract
// the earlier counts from them.
var ErrCounterReset = errors.New("a counter decreased")

// page holds the counts of one group of buckets. A page that is reachable from a Histogram is never changed, only
// replaced. Copies of a Histogram are therefore independent, and merging into an empty Histogram costs nothing.
type page [bucketsInGroup]uint64

// Histogram counts latencies in fio's grid of 1,856 buckets. All supported fio versions use the same grid, so
// histograms of any jobs, clients, steps and times add up without loss.
//
// The zero value is empty and ready to use. A Histogram is a value: a copy is independent of its original. It takes 248
// bytes and another 512 for each octave in use. Two goroutines must not change one Histogram at the same time.
//
// Counts saturate at 2^64-1. Saturated reports whether that has happened; the Histogram then has no percentiles and
// cannot be encoded.
type Histogram struct {
	pages     [numGroups]*page
	total     uint64
	saturated bool
}

// HistogramOf builds a histogram from pairs of key and count, as in "bins" of fio's json+. It returns an error for a
// key that is not on fio's grid, because such figures come from another tool or from a version of fio with another
// grid, and cannot be merged without loss. It also returns an error if the sum of the counts overflows.
func HistogramOf(bins iter.Seq2[uint64, uint64]) (Histogram, error) {
	var h Histogram
	for key, n := range bins {
		index, err := indexOfKey(key)
		if err != nil {
			return Histogram{}, err
		}
		if n > math.MaxUint64-h.total {
			return Histogram{}, fmt.Errorf("bin %d ns with count %d: the sum of all counts overflows 64 bits", key, n)
		}
		h.addFresh(index, n)
	}
	return h, nil
}

// addFresh adds n to the count of a bucket. It changes the page in place, so the page must not be shared with another
// Histogram. The caller ensures that the total does not overflow.
func (h *Histogram) addFresh(index int, n uint64) {
	if n == 0 {
		return
	}
	group := index / bucketsInGroup
	if h.pages[group] == nil {
		h.pages[group] = new(page)
	}
	h.pages[group][index%bucketsInGroup] += n
	h.total += n
}

// AddNanoseconds counts n latencies of the given length.
func (h *Histogram) AddNanoseconds(nanoseconds, n uint64) {
	h.add(bucketOf(nanoseconds), n)
}

func indexOfKey(keyNanoseconds uint64) (int, error) {
	index := bucketOf(keyNanoseconds)
	if keyOf(index) != keyNanoseconds {
		return 0, fmt.Errorf("bin %d ns is not one of fio's latency bins (nearest: %d ns): use the json+ output of fio 3",
			keyNanoseconds, keyOf(index))
	}
	return index, nil
}

func (h *Histogram) add(index int, n uint64) {
	if n == 0 {
		return
	}
	fresh := new(page)
	group := index / bucketsInGroup
	if old := h.pages[group]; old != nil {
		*fresh = *old
	}
	within := index % bucketsInGroup
	fresh[within] = Sum(fresh[within], n)
	h.pages[group] = fresh
	h.addTotal(n)
}

func (h *Histogram) addTotal(n uint64) {
	if n > math.MaxUint64-h.total {
		h.saturated = true
	}
	h.total = Sum(h.total, n)
}

// Merge adds all counts of other. The order and grouping of merges do not change the result.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil {
		return
	}
	// If the total does not overflow, no count overflows either, because no count is greater than the total.
	fits := other.total <= math.MaxUint64-h.total
	for group, theirs := range &other.pages {
		switch ours := h.pages[group]; {
		case theirs == nil:
		case ours == nil:
			h.pages[group] = theirs
		case fits:
			sum := *ours
			for i := range sum {
				sum[i] += theirs[i]
			}
			h.pages[group] = &sum
		default:
			h.pages[group] = saturatingSum(ours, theirs)
		}
	}
	h.addTotal(other.total)
	h.saturated = h.saturated || other.saturated
}

func saturatingSum(a, b *page) *page {
	sum := new(page)
	for i := range sum {
		sum[i] = Sum(a[i], b[i])
	}
	return sum
}

// Sub subtracts an earlier state of the same growing counter, and returns the latencies counted since then. If a bin
// decreased, the error wraps ErrCounterReset.
func (h *Histogram) Sub(earlier *Histogram) (Histogram, error) {
	if h.saturated || earlier.saturated {
		return Histogram{}, errors.New("subtract histograms: a count overflows 64 bits")
	}
	difference := *h
	for group, before := range &earlier.pages {
		if before == nil {
			continue
		}
		now := h.pages[group]
		if now == nil {
			now = new(page)
		}
		fresh, used := new(page), false
		for i := range fresh {
			if now[i] < before[i] {
				return Histogram{}, fmt.Errorf("subtract histograms: the count of bin %d ns went from %d to %d: %w",
					keyOf(group*bucketsInGroup+i), before[i], now[i], ErrCounterReset)
			}
			fresh[i] = now[i] - before[i]
			used = used || fresh[i] != 0
		}
		if difference.pages[group] = fresh; !used {
			difference.pages[group] = nil
		}
	}
	difference.total = h.total - earlier.total
	return difference, nil
}

// Count returns the number of latencies counted.
func (h *Histogram) Count() uint64 { return h.total }

// Saturated reports whether the counts have exceeded 64 bits and are therefore wrong.
func (h *Histogram) Saturated() bool { return h.saturated }

// CountInLastBucket returns the number of latencies of 17.05 s or longer. fio counts all of them in its last bucket, so
// their exact values are unknown. If the number is not 0, the result gets the warning LatencyClipped.
func (h *Histogram) CountInLastBucket() uint64 {
	if last := h.pages[numGroups-1]; last != nil {
		return last[bucketsInGroup-1]
	}
	return 0
}

// Bins returns the key and count of every non-empty bucket, in ascending order of keys.
func (h *Histogram) Bins() iter.Seq2[uint64, uint64] {
	pages := h.pages
	return func(yield func(uint64, uint64) bool) {
		for group, counts := range &pages {
			if counts == nil {
				continue
			}
			for i, n := range counts {
				if n != 0 && !yield(keyOf(group*bucketsInGroup+i), n) {
					return
				}
			}
		}
	}
}

// MeanNanoseconds returns the mean of the buckets' keys, which are their midpoints, or 0 if nothing was counted. It is
// within 1 % of the true mean. Use it only if the sum is unknown, as in live views; otherwise use
// Latency.MeanNanoseconds, which uses the exact sum.
func (h *Histogram) MeanNanoseconds() uint64 {
	var sum, count float64
	for key, n := range h.Bins() {
		sum += float64(key) * float64(n)
		count += float64(n)
	}
	if count == 0 {
		return 0
	}
	return uint64(sum/count + 0.5)
}
