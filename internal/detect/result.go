package detect

// Estimate is a figure with its 95 % interval.
type Estimate struct {
	Value, Low, High float64
}

// Options say what is known about the store.
type Options struct {
	// Refill is the rate at which credits come back, if known: measured by a redrain or documented.
	Refill *float64
	// RefillSource is where it comes from.
	RefillSource RefillSource
	// Earlier is what was done before the series, in order and in the same time, so that its seconds may be
	// negative. It counts for what was spent and for nothing else; between its samples nothing was done.
	Earlier []Sample
}

// RefillSource says where a refill comes from.
type RefillSource string

// The sources of a refill.
const (
	RefillMeasured   RefillSource = "Measured"
	RefillDocumented RefillSource = "Documented"
	// RefillGiven is one that a user gave.
	RefillGiven RefillSource = "Given"
	// RefillAssumed is the level after the drop.
	RefillAssumed RefillSource = "AssumedLevelAfterDrop"
)

// Shape says what a segment looks like.
type Shape string

// The shapes of segments.
const (
	// ShapeLevel is one level with noise.
	ShapeLevel Shape = "Level"
	// ShapeAlternating goes back and forth between two levels.
	ShapeAlternating Shape = "Alternating"
	// ShapeRampUp is the start, before the first settled segment.
	ShapeRampUp Shape = "RampUp"
)

// Segment is a stretch of the series between lasting changes.
type Segment struct {
	StartSeconds, EndSeconds float64
	Mean                     Estimate
	// Deviation is the standard deviation of its samples.
	Deviation float64
	// Correlation is that of one sample with the next.
	Correlation float64
	Shape       Shape
	// Low and High are the two levels of an alternating segment, HighShare the share of time on the
	// upper one. Else all are nil or 0.
	Low, High *Estimate
	HighShare float64
}

// Drop is a lasting drop with no later return.
type Drop struct {
	Seconds, Before, After Estimate
	// Spent is what was done above the refill before it, a lower bound on the bucket when the fill
	// at the start is not known.
	Spent        Estimate
	Refill       float64
	RefillSource RefillSource
}

// WarningKind is a kind of Warning.
type WarningKind string

// What may be wrong with a result.
const (
	// WarnNoDropSeen: no drop, and no refill from which a bound of the bucket would follow.
	WarnNoDropSeen WarningKind = "NoDropSeen"
	// WarnTooShort: too few samples to say anything of changes.
	WarnTooShort WarningKind = "TooShort"
	// WarnFastStart: the series began faster than it went on, and that is no burst for certain.
	WarnFastStart WarningKind = "FastStart"
	// WarnGaps: time without samples, in which the rate is taken to have gone on.
	WarnGaps WarningKind = "Gaps"
	// WarnFewIndependent: the noise is so correlated that the intervals are rough.
	WarnFewIndependent WarningKind = "FewIndependentSamples"
)

// Warning says what is wrong with a result.
type Warning struct {
	Kind    WarningKind
	Message string
}

// Result is what the series of a burst drain tells.
type Result struct {
	// Exhausted is whether the rate dropped for good.
	Exhausted bool
	// Burst is the mean of the first settled segment, Baseline that of the last one.
	Burst, Baseline Estimate
	// Sustained and Peak are the lower and the upper level where the first settled segment
	// alternates, else equal to Burst.
	Sustained, Peak Estimate
	// Peak5s is the highest mean of five seconds or, with longer samples, of one.
	Peak5s float64
	// SecondsToBaseline is the start of the last segment; nil when not exhausted.
	SecondsToBaseline *Estimate
	Drops             []Drop
	Segments          []Segment
	// BucketAtLeast is what a series without a drop proves of the bucket, with a known refill.
	BucketAtLeast *float64
	Warnings      []Warning
}
