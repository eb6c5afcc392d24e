package result

import (
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
)

// Limits that the API sets on the lengths of lists.
const (
	maxSegments = 32
	maxDrops    = 16
)

// Values that the API uses for the source of a refill rate.
const (
	refillMeasured   = "Measured"
	refillDocumented = "Documented"
	refillAssumed    = "Assumed"
)

// Values that the API uses for the cause of a drop.
const (
	causeVolume   = "Volume"
	causeServer   = "Server"
	causeInstance = "Instance"
	causeUnknown  = "Unknown"
)

// fill copies the figures from the byte analysis and the operation analysis to the result.
func (d *drain) fill() {
	if d.ok[inBytes] {
		d.result.Bytes = d.series(inBytes)
		if peak := d.found[inBytes].Peak5s; peak > 0 {
			d.result.Peak5sBytesPerSecond = new(measure.Round(peak))
		}
	}
	if d.ok[inOperations] {
		d.result.Operations = d.series(inOperations)
	}
	if at := d.main().SecondsToBaseline; at != nil {
		d.result.NanosecondsToBaseline = estimate(*at, 1e9)
	}
}

// series returns the figures of one dimension (bytes or operations). Operation rates are in thousandths of an operation
// per second.
func (d *drain) series(one dimension) *v1alpha1.BurstSeries {
	found := d.found[one]
	scale := [2]float64{1, 1000}[one]
	made := v1alpha1.BurstSeries{
		Burst:     estimate(found.Burst, scale),
		Sustained: estimate(found.Sustained, scale),
		Peak:      estimate(found.Peak, scale),
	}
	if found.Exhausted {
		made.Baseline = estimate(found.Baseline, scale)
	}
	known := d.refill[one]
	switch {
	case known.earlier && d.b.step.Redrain:
		// The refill is the main figure of this phase. This phase did not measure it, so omit the refill that an earlier
		// phase measured.
	case known.source == detect.RefillMeasured:
		made.Refill, made.RefillSource = estimate(known.value, scale), refillMeasured
	case known.source != "":
		made.Refill, made.RefillSource = estimate(known.value, scale), refillDocumented
	case found.Exhausted:
		made.Refill, made.RefillSource = made.Baseline, refillAssumed
	}
	if found.BucketAtLeast != nil && *found.BucketAtLeast < math.MaxInt64 {
		made.BucketAtLeast = new(measure.Round(*found.BucketAtLeast))
	}
	for _, segment := range shortened(found.Segments, maxSegments) {
		made.Segments = append(made.Segments, v1alpha1.Segment{
			StartNanoseconds: int64(nanoseconds(segment.StartSeconds)),
			EndNanoseconds:   int64(nanoseconds(segment.EndSeconds)),
			Mean:             *estimate(segment.Mean, scale),
			Deviation:        measure.Round(segment.Deviation * scale),
			Shape:            v1alpha1.SegmentShape(segment.Shape),
		})
	}
	baseline := d.documented(one).baseline
	for _, drop := range shortened(found.Drops, maxDrops) {
		added := v1alpha1.Drop{
			AtNanoseconds: *estimate(drop.Seconds, 1e9),
			Before:        *estimate(drop.Before, scale),
			After:         *estimate(drop.After, scale),
			Spent:         spentOf(drop.Spent),
			Cause:         causeUnknown,
		}
		if within(drop.After.Value, baseline, confirmedLevel) {
			added.Cause, added.Confirmed = d.cause(one), true
		}
		made.Drops = append(made.Drops, added)
	}
	return &made
}

// cause names the component with the lowest documented baseline: the volume, its server or the client's machine.
func (d *drain) cause(one dimension) string {
	demand, _ := d.b.demand()
	at := d.b.history.Documented.At(demand.Load)
	limit := at.BytesBaseline.Limit
	if one == inOperations {
		limit = at.OperationsBaseline.Limit
	}
	switch {
	case !limit.Layer.OfStorage():
		return causeInstance
	case limit.Layer == limits.LayerNetwork:
		return causeServer
	}
	return causeVolume
}

// spentOf converts spent credits for the API; it returns nil if the amount exceeds the range of an int64.
func spentOf(from detect.Estimate) *v1alpha1.Estimate {
	if !(from.High < math.MaxInt64) {
		return nil
	}
	return estimate(from, 1)
}

// shortened limits a list to at most the given number of elements. It keeps the first elements and the last one, which
// is the final state.
func shortened[T any](all []T, most int) []T {
	if len(all) <= most {
		return all
	}
	return append(all[:most-1:most-1], all[len(all)-1])
}

// estimate multiplies a figure and its interval by scale, and rounds them to integers for the API. It omits an interval
// of zero width, which means that there were too few samples to determine one.
func estimate(from detect.Estimate, scale float64) *v1alpha1.Estimate {
	made := v1alpha1.Estimate{Value: measure.Round(from.Value * scale)}
	if from.High > from.Low && from.Low <= from.Value && from.Value <= from.High {
		made.Lower, made.Upper = new(measure.Round(from.Low*scale)), new(measure.Round(from.High*scale))
	}
	return &made
}
