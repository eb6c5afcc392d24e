package fio

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/storagebench/storagebench/internal/measure"
)

// decodeDirection decodes the object "read", "write", "trim" or "sync" of a job. racy describes a disagreement between
// figures that is normal in a dump of a running fio. It is nil if there is none.
func decodeDirection(object *value, operation measure.Operation) (result OperationTotal, racy, err error) {
	if object == nil || object.kind != '{' {
		if operation == measure.Sync && object == nil {
			return result, nil, nil // fio before 3.6 does not print syncs
		}
		return result, nil, errMissing
	}
	d := &decoder{object: object}
	result.Operations = d.unsigned("total_ios")
	if operation == measure.Sync {
		result.Total, racy = d.latency("lat_ns")
		return result, racy, d.err
	}
	result.Bytes = d.unsigned("io_bytes")
	result.RuntimeMilliseconds = int64(d.unsigned("runtime")) // #nosec G115 -- was an int64
	result.ShortOperations = d.unsigned("short_ios")
	var flaws [2]error
	result.Total, flaws[0] = d.latency("lat_ns")
	result.Completion, flaws[1] = d.latency("clat_ns")
	submission, _ := d.latency("slat_ns")
	result.SubmissionCount = submission.Count
	if slat := object.member("slat_ns"); d.err == nil && submission.Count > 0 {
		result.SubmissionMeanNanoseconds, _ = slat.member("mean").float()
	}
	if d.err == nil {
		d.err = checkTotals(object, &result)
	}
	if d.err == nil {
		d.err = checkRates(object, &result)
	}
	if d.binned && d.unbinned {
		// fio prints bins for every latency that has percentiles (json+), or for none (json).
		d.fail("bins", errMissing)
	}
	for _, racy := range append(flaws[:], checkWork(&result)) {
		if racy != nil {
			return result, racy, d.err
		}
	}
	return result, nil, d.err
}

// checkTotals compares io_bytes with the figures that fio computed from it, to detect a lost or changed digit. fio
// copies all figures before it prints, so they agree even while it runs.
func checkTotals(object *value, result *OperationTotal) error {
	d := &decoder{object: object}
	kibibytes := d.unsigned("io_kbytes")
	perSecond := d.signed("bw_bytes")
	perSecondKibibytes := d.signed("bw")
	if d.err != nil {
		return d.err
	}
	if kibibytes != result.Bytes>>10 {
		return fmt.Errorf("io_kbytes is %d, but io_bytes is %d", kibibytes, result.Bytes)
	}
	// The product may overflow. fio also computes bw_bytes in 64 bits, so its product overflows in the same way and the
	// values still agree.
	var expected int64
	if result.RuntimeMilliseconds > 0 {
		expected = int64(1000 * result.Bytes / uint64(result.RuntimeMilliseconds)) // #nosec G115 -- as fio prints it
	}
	if perSecond != expected {
		return fmt.Errorf("bw_bytes is %d, but io_bytes %d over runtime %d ms is %d",
			perSecond, result.Bytes, result.RuntimeMilliseconds, expected)
	}
	if perSecondKibibytes != expected/1024 {
		return fmt.Errorf("bw is %d KiB/s, but bw_bytes is %d B/s", perSecondKibibytes, perSecond)
	}
	return nil
}

// checkWork returns an error if bytes were moved but the runtime is 0, or if latencies were recorded but no bytes were
// moved.
func checkWork(result *OperationTotal) error {
	switch {
	case result.Bytes > 0 && result.RuntimeMilliseconds == 0:
		return fmt.Errorf("io_bytes is %d, but runtime is 0", result.Bytes)
	case result.Bytes == 0 && result.Total.Count > 0:
		return fmt.Errorf("lat_ns.N is %d, but io_bytes is 0", result.Total.Count)
	}
	return nil
}

// checkRates compares total_ios with iops, which fio computed from it.
func checkRates(object *value, result *OperationTotal) error {
	rate, err := object.member("iops").float()
	if err != nil {
		return fmt.Errorf("iops %w", err)
	}
	var expected float64
	if result.RuntimeMilliseconds > 0 {
		expected = 1000 * float64(result.Operations) / float64(result.RuntimeMilliseconds)
	}
	if math.Abs(rate-expected) > 2e-6+expected*1e-12 {
		return fmt.Errorf("iops is %v, but total_ios %d over runtime %d ms is %v",
			rate, result.Operations, result.RuntimeMilliseconds, expected)
	}
	return nil
}

// latency decodes a latency object, such as "lat_ns".
func (d *decoder) latency(name string) (latency measure.Latency, racy error) {
	object := d.object.member(name)
	if object == nil || object.kind != '{' {
		d.fail(name, errMissing)
		return latency, nil
	}
	inner := &decoder{object: object, where: name + "."}
	count := inner.unsigned("N")
	least := inner.unsigned("min")
	most := inner.unsigned("max")
	mean := inner.float("mean")
	bins := inner.bins()
	if inner.err != nil {
		if d.err == nil {
			d.err = inner.err
		}
		return latency, nil
	}
	if count == 0 && bins.Count() == 0 && (least != 0 || most != 0 || mean != 0) {
		d.fail(name, errors.New("has N 0, but its min, max or mean is not 0"))
		return latency, nil
	}
	latency, err := measure.LatencyFromMean(bins, count, mean, least, most)
	d.fail(name, err)
	if bins.Count() == 0 {
		d.unbinned = d.unbinned || object.member("percentile") != nil
		if object.member("bins") != nil && count > 0 {
			d.fail(name, fmt.Errorf("has N %d, but its bins are empty", count))
		}
		return latency, nil
	}
	d.binned = true
	if bins.Count() != count {
		return latency, fmt.Errorf("%s: N is %d, but the bins add up to %d", name, count, bins.Count())
	}
	if err := checkBins(name, &latency, mean); err != nil {
		return latency, err
	}
	return latency, checkPercentiles(name, object.member("percentile"), &bins)
}

// checkBins compares min, max and mean with the bins. The extremes must lie in the outermost bins. The mean may differ
// from the mean of the bins' midpoints by at most half the width of a bin (1/128 of the value) plus 1 ns. If the last
// bin, which has no upper end, is not empty, the mean may be higher.
func checkBins(name string, latency *measure.Latency, mean float64) error {
	var extremes measure.Histogram
	extremes.AddNanoseconds(latency.MinNanoseconds, 1)
	extremes.AddNanoseconds(latency.MaxNanoseconds, 1)
	wantFirst, wantLast, _ := firstAndLastBin(&extremes)
	first, last, sum := firstAndLastBin(&latency.Histogram)
	if first != wantFirst || last != wantLast {
		return fmt.Errorf("%s: min %d and max %d ns are not in the first and last bins, %d and %d ns",
			name, latency.MinNanoseconds, latency.MaxNanoseconds, first, last)
	}
	ofBins := sum / float64(latency.Count)
	slack := ofBins/128 + 1
	if mean < ofBins-slack || mean > ofBins+slack && last < measure.LastBucketNanoseconds {
		return fmt.Errorf("%s: mean is %v ns, but according to the bins it is about %.0f", name, mean, ofBins)
	}
	return nil
}

// firstAndLastBin returns the keys of the first and last bins that are not empty, and the sum of all latencies,
// counting each latency as the key of its bin.
func firstAndLastBin(bins *measure.Histogram) (first, last uint64, sum float64) {
	seen := false
	for nanoseconds, n := range bins.Bins() {
		if !seen {
			first, seen = nanoseconds, true
		}
		last = nanoseconds
		sum += float64(nanoseconds) * float64(n)
	}
	return first, last, sum
}

// bins decodes the histogram of a latency. It returns an empty histogram if fio printed none.
func (d *decoder) bins() measure.Histogram {
	object := d.object.member("bins")
	if object == nil {
		return measure.Histogram{}
	}
	if object.kind != '{' {
		d.fail("bins", errors.New("is not an object"))
		return measure.Histogram{}
	}
	histogram, err := measure.HistogramOf(func(yield func(uint64, uint64) bool) {
		for _, key := range object.keys {
			nanoseconds, err := strconv.ParseUint(key, 10, 64)
			if err != nil || strconv.FormatUint(nanoseconds, 10) != key {
				d.fail("bins", fmt.Errorf("has a key that is not a number of nanoseconds: %q", clip(key)))
				return
			}
			n, err := object.members[key].unsigned()
			if err == nil && n == 0 {
				err = errors.New("is 0")
			}
			if err != nil {
				d.fail("bins["+key+"]", err)
				return
			}
			if !yield(nanoseconds, n) {
				return
			}
		}
	})
	d.fail("bins", err)
	return histogram
}

// checkPercentiles compares the printed percentiles with the bins: the sample whose rank is p percent of the count
// must lie in the printed bin. If that rank is a whole number, fio's rounding decides between that sample and the
// next, and either is accepted.
func checkPercentiles(name string, object *value, bins *measure.Histogram) error {
	if object == nil {
		return nil
	}
	for _, key := range object.keys {
		printed, err := object.members[key].unsigned()
		if err != nil {
			return fmt.Errorf("%s.percentile[%q] %w", name, clip(key), err)
		}
		p, err := strconv.ParseFloat(key, 64)
		if err != nil || !(p > 0 && p <= 100) {
			return fmt.Errorf("%s.percentile[%q] %w", name, clip(key), errNumber)
		}
		var below, upTo uint64
		for nanoseconds, n := range bins.Bins() {
			below, upTo = upTo, upTo+n
			if nanoseconds == printed {
				break
			}
			below = upTo
		}
		rank := p / 100 * float64(bins.Count())
		slack := 1e-9 + rank*1e-12
		if float64(upTo) < math.Ceil(rank-slack) || float64(below) >= math.Ceil(rank+slack) {
			return fmt.Errorf("%s: fio printed %d ns as percentile %s, which contradicts the bins", name, printed, key)
		}
	}
	return nil
}
