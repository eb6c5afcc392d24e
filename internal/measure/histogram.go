package measure

import (
	"errors"
	"fmt"
	"iter"
	"math"
)

// ErrCounterReset is wrapped by Sub when a counter went down: the tool started counting
// anew (fio does so when its ramp time ends), and the later state has to be taken as a
// new start and not as a difference.
var ErrCounterReset = errors.New("a counter went down")

// page holds the counts of one group of buckets. A page that is reachable from a
// Histogram is never changed, it is replaced: that is what makes copies of a Histogram
// independent and merging into an empty one free.
type page [bucketsInGroup]uint64

// Histogram counts latencies in fio's grid of 1,856 buckets. Since all fio processes of
// the versions in use have the same grid, histograms of any jobs, clients, steps and
// times add up without loss.
//
// The zero value is empty and ready to use. A Histogram is a value: a copy is independent
// of its original. Memory is 240 bytes and 512 more for each octave in use. One Histogram
// must not be changed by two goroutines at once.
//
// Counts saturate at 2^64-1. Saturated tells when that has happened; then no percentile
// is given and nothing is encoded.
type Histogram struct {
	pages     [numGroups]*page
	total     uint64
	saturated bool
}

// HistogramOf builds a histogram from pairs of key and count, as in "bins" of fio's json+.
// It is the fast way to read one. The errors are those of AddBin.
func HistogramOf(bins iter.Seq2[uint64, uint64]) (Histogram, error) {
	var h Histogram
	for key, n := range bins {
		index, err := indexOfKey(key)
		if err != nil {
			return Histogram{}, err
		}
		if n > math.MaxUint64-h.total {
			return Histogram{}, fmt.Errorf("bin %d ns with count %d: the sum of all counts does not fit 64 bits", key, n)
		}
		h.addFresh(index, n)
	}
	return h, nil
}

// addFresh counts into pages that nobody else holds yet. The total must not overflow.
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

// AddBin counts n latencies in the bucket whose key is given, as fio's json+ writes it. A
// key that is not on fio's grid is an error: the figures came from something else, or from
// a fio with another grid, and can not be merged without loss. So is a count that would
// overflow. On an error nothing is counted.
func (h *Histogram) AddBin(keyNanoseconds, n uint64) error {
	index, err := indexOfKey(keyNanoseconds)
	if err != nil {
		return err
	}
	if n > math.MaxUint64-h.total {
		return fmt.Errorf("bin %d ns with count %d: the sum of all counts does not fit 64 bits", keyNanoseconds, n)
	}
	h.add(index, n)
	return nil
}

func indexOfKey(keyNanoseconds uint64) (int, error) {
	index := bucketOf(keyNanoseconds)
	if keyOf(index) != keyNanoseconds {
		return 0, fmt.Errorf("bin %d ns is not on fio's latency grid (nearest is %d ns): use the json+ output of fio 3",
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
	fresh[within] = saturatingAdd(fresh[within], n)
	h.pages[group] = fresh
	h.addTotal(n)
}

func (h *Histogram) addTotal(n uint64) {
	if n > math.MaxUint64-h.total {
		h.saturated = true
	}
	h.total = saturatingAdd(h.total, n)
}

// Merge adds all counts of other. Any order and grouping of merges gives the same result.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil {
		return
	}
	// No count is greater than the total, so none overflows when the total does not.
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
		sum[i] = saturatingAdd(a[i], b[i])
	}
	return sum
}

// Sub gives what was counted after earlier was taken of the same, ever growing counter. A
// bin that went down is an error that wraps ErrCounterReset.
func (h *Histogram) Sub(earlier *Histogram) (Histogram, error) {
	if h.saturated || earlier.saturated {
		return Histogram{}, errors.New("subtract histograms: a count does not fit 64 bits")
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
				return Histogram{}, fmt.Errorf("subtract histograms: bin %d ns went from %d to %d: %w",
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

// Count is the number of latencies counted.
func (h *Histogram) Count() uint64 { return h.total }

// Saturated tells that more was counted than 64 bits hold, so the counts are wrong.
func (h *Histogram) Saturated() bool { return h.saturated }

// CountInLastBucket is the number of latencies in fio's last bucket, of 17.05 s and more,
// whose true length the histogram does not know. Any makes the result LatencyClipped.
func (h *Histogram) CountInLastBucket() uint64 {
	if last := h.pages[numGroups-1]; last != nil {
		return last[bucketsInGroup-1]
	}
	return 0
}

// Bins gives key and count of every bucket that is not empty, in ascending order of keys.
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

func saturatingAdd(a, b uint64) uint64 {
	if b > math.MaxUint64-a {
		return math.MaxUint64
	}
	return a + b
}

// MeanNanoseconds is the mean by the buckets' keys, which lie in their middles: within 1 % of the true one, for who
// looks on. 0 while nothing is counted. Results take a Latency, whose sum is exact.
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
