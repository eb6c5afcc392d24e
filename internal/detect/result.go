package detect

// Estimate is a figure with its 95 % interval.
type Estimate struct {
	Value, Low, High float64
}

// Options describe the store and its earlier load.
type Options struct {
	// Refill is the rate at which credits return, or nil if it is unknown. RefillSource is its source.
	Refill       *float64
	RefillSource RefillSource
	// Earlier is the I/O before the series, in order and on the same time axis, so its times may be negative. It
	// affects only the computed amount of credits spent. The store is assumed to be idle between these samples.
	Earlier []Sample
	// ReadShares holds the share of reads in each sample, for a load that alternates between reads and writes. A drop at a
	// switch between reads and writes is ignored.
	ReadShares []float64
}

// RefillSource is the source of a refill rate.
type RefillSource string

// Sources of a refill rate.
const (
	RefillMeasured   RefillSource = "Measured"
	RefillDocumented RefillSource = "Documented"
	// RefillGiven means that the user has specified the refill rate.
	RefillGiven RefillSource = "Given"
	// RefillAssumed means that the refill rate is assumed to be the level after the drop.
	RefillAssumed RefillSource = "AssumedLevelAfterDrop"
)

// Shape describes how the rate varies in a segment.
type Shape string

// Shapes of a segment.
const (
	// ShapeLevel means that the rate stays at one level, with noise.
	ShapeLevel Shape = "Level"
	// ShapeAlternating means that the rate alternates between two levels.
	ShapeAlternating Shape = "Alternating"
	// ShapeRampUp means that the segment is the stretch before the first settled segment.
	ShapeRampUp Shape = "RampUp"
)

// Segment is a stretch of the series between lasting changes.
type Segment struct {
	StartSeconds, EndSeconds float64
	Mean                     Estimate
	// Deviation is the standard deviation of the segment's samples.
	Deviation float64
	Shape     Shape
	// Low and High are the two levels of an alternating segment, and HighShare is the share of its time at the high
	// level. For other shapes, Low and High are nil and HighShare is 0.
	Low, High *Estimate
	HighShare float64
}

// Drop is a lasting decrease of the rate: the rate did not return to its previous level.
type Drop struct {
	Seconds, Before, After Estimate
	// Spent is the amount by which the I/O before the drop exceeded the refill. It is a lower bound on the bucket size
	// if the fill level at the start is unknown.
	Spent        Estimate
	Refill       float64
	RefillSource RefillSource
}

// WarningKind identifies the kind of a Warning.
type WarningKind string

// Kinds of warnings about a result.
const (
	// WarnNoDropSeen: the rate never dropped, and no bound on the bucket size is known, because the refill is unknown
	// or the rate did not exceed it.
	WarnNoDropSeen WarningKind = "NoDropSeen"
	// WarnTooShort: there are too few samples to find changes.
	WarnTooShort WarningKind = "TooShort"
	// WarnFastStart: the rate was higher at the start, but this may not be a burst; see Result.FastStart.
	WarnFastStart WarningKind = "FastStart"
	// WarnGaps: the series has gaps, in which the rate is assumed to have continued.
	WarnGaps WarningKind = "Gaps"
	// WarnFewIndependent: the noise is so correlated that the intervals are only approximate.
	WarnFewIndependent WarningKind = "FewIndependentSamples"
	// WarnTurned: a drop was ignored, because the load switched between reads and writes.
	WarnTurned WarningKind = "Turned"
)

// Warning describes a limitation of a result.
type Warning struct {
	Kind    WarningKind
	Message string
}

// FastStart describes a series whose rate was clearly higher at the start than during the rest of the first level. The
// start is not necessarily a burst.
type FastStart struct {
	// Seconds is the duration of the fast start.
	Seconds float64
	// Rate is the mean rate during the fast start. Rest is the mean rate during the rest of the first level, without
	// the first sample after the fast start, which may contain both rates.
	Rate, Rest float64
}

// Result is the analysis of a burst drain.
type Result struct {
	// Exhausted is true if the rate dropped and did not return to its previous level.
	Exhausted bool
	// Burst is the mean of the first settled segment, Baseline the mean of the last one.
	Burst, Baseline Estimate
	// Sustained and Peak are the lower and the upper level of the first settled segment if it alternates; otherwise
	// both equal Burst.
	Sustained, Peak Estimate
	// Peak5s is the highest mean over five seconds or, if samples are longer, over one sample. It is 0 if the burst was
	// shorter, because the mean would include time after the drop.
	Peak5s float64
	// SecondsToBaseline is the start of the last segment; nil if Exhausted is false.
	SecondsToBaseline *Estimate
	Drops             []Drop
	Segments          []Segment
	// FastStart is nil if the rate was not higher at the start, or if the start is certainly a burst.
	FastStart *FastStart
	// BucketAtLeast is a lower bound on the bucket size. It is set only if the series has no drop, the refill is known,
	// and the rate exceeded the refill.
	BucketAtLeast *float64
	Warnings      []Warning
}
