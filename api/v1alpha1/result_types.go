package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operation is a kind of I/O.
//
// +kubebuilder:validation:Enum=Read;Write;Trim;Sync
type Operation string

// The operations.
const (
	// OperationRead is a read.
	OperationRead Operation = "Read"
	// OperationWrite is a write.
	OperationWrite Operation = "Write"
	// OperationTrim is a discard of blocks.
	OperationTrim Operation = "Trim"
	// OperationSync is an fsync or fdatasync: it has a latency and no bytes.
	OperationSync Operation = "Sync"
)

// PhaseResult is the result of one phase.
type PhaseResult struct {
	// name of the phase.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// kind of the phase.
	// +required
	Kind PhaseKind `json:"kind"`

	// startTime of its first step.
	// +optional
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// endTime of its last step.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`

	// targets are the results, one a target.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Targets []TargetResult `json:"targets,omitempty"`

	// comparisons of the other targets with the first one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=15
	Comparisons []TargetComparison `json:"comparisons,omitempty"`
}

// TargetResult is the result of one target in one phase, over all its clients.
type TargetResult struct {
	// target is its name.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// clients that the figures are of.
	// +required
	Clients int32 `json:"clients"`

	// operations are the figures, one an operation that was done. For a ramp
	// or a sweep they are absent and steps holds the figures.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Operations []OperationResult `json:"operations,omitempty"`

	// windowNanoseconds is the time in which every client was running: what
	// bytesPerSecond and iopsMilli of a time-bound step are over. Of a
	// work-bound step it is the time from the first start to the last end.
	// +optional
	WindowNanoseconds int64 `json:"windowNanoseconds,omitempty"`

	// workBound says that the step ended with its work and not by time.
	// +optional
	WorkBound bool `json:"workBound,omitempty"`

	// tailNanoseconds, of a work-bound step, is the part of the window in
	// which some clients were already done.
	// +optional
	TailNanoseconds *int64 `json:"tailNanoseconds,omitempty"`

	// measuredNanoseconds is the sum over clients of the time that each
	// measured; latencies are over all of it.
	// +optional
	MeasuredNanoseconds int64 `json:"measuredNanoseconds,omitempty"`

	// startSkewNanoseconds is the time from the first client's first I/O to
	// the last client's.
	// +optional
	StartSkewNanoseconds *int64 `json:"startSkewNanoseconds,omitempty"`

	// clientSpread shows how the clients differ, reads and writes together.
	// +optional
	ClientSpread *ClientSpread `json:"clientSpread,omitempty"`

	// warnings about the figures.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Warnings []Warning `json:"warnings,omitempty"`

	// steadyState is the judgement of a steady phase.
	// +optional
	SteadyState *SteadyStateResult `json:"steadyState,omitempty"`

	// burst is what a burstDrain phase, or the drain of a cooldown, found.
	// +optional
	Burst *BurstResult `json:"burst,omitempty"`

	// cooldown is what a cooldown did.
	// +optional
	Cooldown *CooldownResult `json:"cooldown,omitempty"`

	// inFlightNanoseconds is how long it took, after the last client was to
	// end its load, until the last operation was complete. What was completed
	// in it counts for no rate. Totals and latencies hold it: it was begun in
	// the measured time, and to leave the slowest operations out would flatter
	// them.
	// +optional
	InFlightNanoseconds *int64 `json:"inFlightNanoseconds,omitempty"`

	// steps are the figures of a ramp's steps or a sweep's cells.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Steps []StepResult `json:"steps,omitempty"`

	// knee of a ramp.
	// +optional
	Knee *KneeResult `json:"knee,omitempty"`

	// ior is what IOR says of itself. Rates of it are means over repetitions,
	// from the first start of a repetition to its last end; bytesPerSecond of
	// operations is by what went through on the clients.
	// +optional
	IOR *IORResult `json:"ior,omitempty"`

	// mdtest is what mdtest says of itself.
	// +optional
	Mdtest *MdtestResult `json:"mdtest,omitempty"`

	// command is how a program of the user's ran, and by which counts its
	// figures are.
	// +optional
	Command *CommandResult `json:"command,omitempty"`

	// usage is the space that the files took after the phase's last step that
	// wrote and was asked.
	// +optional
	Usage *UsageResult `json:"usage,omitempty"`

	// clientCPUPermille is what the busiest client used of the CPU that its load
	// can use, in thousandths. Absent: not known.
	// +optional
	ClientCPUPermille *int64 `json:"clientCPUPermille,omitempty"`

	// throttledPermille of the periods in which the client that was held back
	// by its CPU limit the most was held back, in thousandths. Absent: none.
	// +optional
	ThrottledPermille *int64 `json:"throttledPermille,omitempty"`

	// attributions compare rates with what is documented, and name what held
	// them back: one for all that was measured, of a drain one for the burst and
	// one for the baseline. For a ramp or a sweep they are in steps.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Attributions []Attribution `json:"attributions,omitempty"`
}

// OperationResult is the figures of one operation over all clients.
type OperationResult struct {
	// operation that the figures are of.
	// +required
	Operation Operation `json:"operation"`

	// bytes moved in the whole measured time.
	// +optional
	Bytes int64 `json:"bytes"`

	// operations completed in the whole measured time.
	// +optional
	Operations int64 `json:"operations"`

	// bytesPerSecond in the common window. Absent where there is none.
	// +optional
	BytesPerSecond *int64 `json:"bytesPerSecond,omitempty"`

	// iopsMilli is a thousand times the operations a second in the common
	// window. Absent where there is none.
	// +optional
	IOPSMilli *int64 `json:"iopsMilli,omitempty"`

	// rateErrorPPM is half of the 95 % interval of bytesPerSecond and iopsMilli,
	// in millionths of them: how far chance may take a mean over samples that
	// vary as these did, each of which resembles the one before. Another run may
	// differ by more. Absent with too few samples, and where the rate is no mean
	// of one level.
	// +optional
	RateErrorPPM *int64 `json:"rateErrorPPM,omitempty"`

	// latency is the time from submission to completion (fio's lat).
	// +optional
	Latency *LatencyResult `json:"latency,omitempty"`

	// completionLatency leaves the time that submitting took out (fio's clat).
	// It is shown for comparison; it is not what a user waits for.
	// +optional
	CompletionLatency *LatencyResult `json:"completionLatency,omitempty"`
}

// LatencyResult is a distribution of latencies. Percentiles are computed once,
// from the histograms of all clients added up, the way fio does; one is absent
// where fewer than ten samples lie above it.
type LatencyResult struct {
	// samples in the distribution.
	// +required
	Samples int64 `json:"samples"`

	// meanNanoseconds is the sum over the samples, divided by their number.
	// +optional
	MeanNanoseconds int64 `json:"meanNanoseconds"`

	// minNanoseconds is the shortest.
	// +optional
	MinNanoseconds int64 `json:"minNanoseconds"`

	// p50Nanoseconds is the median.
	// +optional
	P50Nanoseconds *int64 `json:"p50Nanoseconds,omitempty"`

	// p95Nanoseconds is the 95th percentile.
	// +optional
	P95Nanoseconds *int64 `json:"p95Nanoseconds,omitempty"`

	// p99Nanoseconds is the 99th percentile.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`

	// p999Nanoseconds is the 99.9th percentile.
	// +optional
	P999Nanoseconds *int64 `json:"p999Nanoseconds,omitempty"`

	// p9999Nanoseconds is the 99.99th percentile.
	// +optional
	P9999Nanoseconds *int64 `json:"p9999Nanoseconds,omitempty"`

	// maxNanoseconds is the longest, exactly and not from the histogram.
	// +optional
	MaxNanoseconds int64 `json:"maxNanoseconds"`

	// histogram counts the samples, so that any percentile can be had: a byte
	// that says which form this is (1), the number of bins, and of each bin how
	// many empty ones precede it in fio's grid and its count, as varints.
	// Absent of completionLatency, and where a run has too many figures.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Histogram []byte `json:"histogram,omitempty"`
}

// ClientSpread is the best, median and worst client by throughput.
type ClientSpread struct {
	// best client.
	// +required
	Best ClientRate `json:"best"`
	// median client; the lower one of an even number.
	// +required
	Median ClientRate `json:"median"`
	// worst client.
	// +required
	Worst ClientRate `json:"worst"`
}

// ClientRate is the throughput of one client in the common window.
type ClientRate struct {
	// client is its index.
	// +optional
	Client int32 `json:"client"`
	// bytesPerSecond of the client.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
}

// SteadyStateResult is the judgement of SNIA's Performance Test Specification
// on rounds of 60 seconds, in a window of five.
type SteadyStateResult struct {
	// assessed is false where the step was too short for five rounds.
	// +optional
	Assessed bool `json:"assessed"`

	// steady is the verdict. Absent where nothing was assessed.
	// +optional
	Steady *bool `json:"steady,omitempty"`

	// excursionPermille is the greatest less the least round, in thousandths
	// of their mean; up to 200 is steady.
	// +optional
	ExcursionPermille *int64 `json:"excursionPermille,omitempty"`

	// slopePermille is the change of the best line over the window, in
	// thousandths of the mean; up to 100 is steady.
	// +optional
	SlopePermille *int64 `json:"slopePermille,omitempty"`

	// rounds that were seen.
	// +optional
	Rounds int32 `json:"rounds,omitempty"`
}

// BurstResult is what a burst drain found. Bounds are of the 95 % interval.
type BurstResult struct {
	// exhausted reports whether the credits ran out.
	// +optional
	Exhausted bool `json:"exhausted"`

	// dimension that the credits are of, by the documented baseline that the
	// level after the drop agrees with. Of the other one spent is a lower
	// bound only.
	// +optional
	// +kubebuilder:validation:Enum=Bytes;Operations;Unknown
	Dimension string `json:"dimension,omitempty"`

	// bytes is the series of bytes a second.
	// +optional
	Bytes *BurstSeries `json:"bytes,omitempty"`

	// operations is the series of operations a second, in thousandths.
	// +optional
	Operations *BurstSeries `json:"operations,omitempty"`

	// peak5sBytesPerSecond is the extreme of five seconds.
	// +optional
	Peak5sBytesPerSecond *int64 `json:"peak5sBytesPerSecond,omitempty"`

	// nanosecondsToBaseline is the start of the last settled segment, from the
	// start of the measured time.
	// +optional
	NanosecondsToBaseline *Estimate `json:"nanosecondsToBaseline,omitempty"`

	// idleNanoseconds before a redrain, from the last completion to the first
	// I/O.
	// +optional
	IdleNanoseconds *int64 `json:"idleNanoseconds,omitempty"`

	// message says in a sentence what the figures do not, such as why a
	// refill is a lower bound only.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// BurstSeries is what a series of throughput over a burst drain tells, in
// bytes a second, or in thousandths of an operation a second. Amounts are in
// bytes, or in operations.
type BurstSeries struct {
	// burst is the mean of the first settled segment.
	// +optional
	Burst *Estimate `json:"burst,omitempty"`

	// sustained is the lower level of a segment that goes back and forth
	// between two; else it equals burst.
	// +optional
	Sustained *Estimate `json:"sustained,omitempty"`

	// peak is the upper level of such a segment; else it equals burst.
	// +optional
	Peak *Estimate `json:"peak,omitempty"`

	// baseline is the mean of the last settled segment.
	// +optional
	Baseline *Estimate `json:"baseline,omitempty"`

	// refill of the bucket a second, and refillSource where it is from.
	// +optional
	Refill *Estimate `json:"refill,omitempty"`

	// refillSource says where the refill is from: Measured by a redrain,
	// Documented by the target's limits, or Assumed to be the level after the
	// drop.
	// +optional
	// +kubebuilder:validation:Enum=Measured;Documented;Assumed
	RefillSource string `json:"refillSource,omitempty"`

	// bucketAtLeast is what a series without a drop proves of the bucket.
	// +optional
	BucketAtLeast *int64 `json:"bucketAtLeast,omitempty"`

	// segments between lasting drops.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Segments []Segment `json:"segments,omitempty"`

	// drops that lasted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Drops []Drop `json:"drops,omitempty"`
}

// Estimate is a figure with its 95 % interval.
type Estimate struct {
	// value of the figure.
	// +optional
	Value int64 `json:"value"`
	// lower end of the interval.
	// +optional
	Lower *int64 `json:"lower,omitempty"`
	// upper end of the interval.
	// +optional
	Upper *int64 `json:"upper,omitempty"`
}

// SegmentShape says what a segment looks like.
//
// +kubebuilder:validation:Enum=Level;Alternating;RampUp
type SegmentShape string

// Segment is a stretch between lasting drops.
type Segment struct {
	// startNanoseconds from the start of the measured time.
	// +optional
	StartNanoseconds int64 `json:"startNanoseconds"`
	// endNanoseconds from the start of the measured time.
	// +optional
	EndNanoseconds int64 `json:"endNanoseconds"`
	// mean rate of the stretch.
	// +optional
	Mean Estimate `json:"mean"`
	// deviation is the standard deviation of its samples.
	// +optional
	Deviation int64 `json:"deviation,omitempty"`
	// shape of the stretch.
	// +optional
	Shape SegmentShape `json:"shape,omitempty"`
}

// Drop is a lasting fall of the throughput.
type Drop struct {
	// atNanoseconds from the start of the measured time.
	// +optional
	AtNanoseconds Estimate `json:"atNanoseconds"`
	// before is the level before.
	// +optional
	Before Estimate `json:"before"`
	// after is the level after.
	// +optional
	After Estimate `json:"after"`
	// spent is the credit that went: a lower bound on the bucket where its
	// fill at the start is not known.
	// +optional
	Spent *Estimate `json:"spent,omitempty"`
	// cause of the fall.
	// +optional
	// +kubebuilder:validation:Enum=Volume;Server;Instance;Client;Interference;Unknown
	Cause string `json:"cause,omitempty"`
	// confirmed by a documented level, a credit metric or a redrain.
	// +optional
	Confirmed bool `json:"confirmed,omitempty"`
}

// CooldownResult is what a cooldown did.
type CooldownResult struct {
	// idleNanoseconds that nothing was loaded, from the last completion before
	// it to its end.
	// +optional
	IdleNanoseconds int64 `json:"idleNanoseconds"`
	// wantedPercent of the bucket that was waited for.
	// +optional
	WantedPercent *int32 `json:"wantedPercent,omitempty"`
	// creditPercentAtEnd is the estimated fill of the bucket. Absent: unknown.
	// +optional
	CreditPercentAtEnd *int32 `json:"creditPercentAtEnd,omitempty"`
	// message says how long was waited, by what, and what is not known.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// StepResult is the figures of one step of a ramp or one cell of a sweep. It
// is small, because there can be 256 of them; a run with more figures than fit
// keeps them in its ConfigMap.
type StepResult struct {
	// cell is its index: that of the ramp's step, or that of the sweep's cell
	// with the axes in the order clients, jobs, queueDepth, blockSize,
	// readPercent, the last one changing fastest.
	// +required
	Cell int32 `json:"cell"`
	// clients that the figures are of.
	// +optional
	Clients int32 `json:"clients,omitempty"`
	// driftPermille of a sweep's repeated cell is the greatest difference of a
	// repetition from the first time, in thousandths.
	// +optional
	DriftPermille *int64 `json:"driftPermille,omitempty"`
	// operations are the figures, one an operation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Operations []StepOperation `json:"operations,omitempty"`
	// creditPercentAtStart is the estimated fill of the bucket.
	// +optional
	CreditPercentAtStart *int32 `json:"creditPercentAtStart,omitempty"`
	// creditPercentAtEnd is the estimated fill of the bucket.
	// +optional
	CreditPercentAtEnd *int32 `json:"creditPercentAtEnd,omitempty"`
	// warnings are the types only.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Warnings []WarningType `json:"warnings,omitempty"`
	// clientCPUPermille is what the busiest client used of the CPU that its load
	// can use, in thousandths. Absent: below 500, or not known.
	// +optional
	ClientCPUPermille *int64 `json:"clientCPUPermille,omitempty"`
	// throttledPermille of the periods, as of a phase.
	// +optional
	ThrottledPermille *int64 `json:"throttledPermille,omitempty"`
	// attribution names what held the rate back.
	// +optional
	Attribution *StepAttribution `json:"attribution,omitempty"`
}

// StepOperation is the figures of one operation of a step.
type StepOperation struct {
	// operation that the figures are of.
	// +required
	Operation Operation `json:"operation"`
	// bytesPerSecond in the common window.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// iopsMilli is a thousand times the operations a second.
	// +optional
	IOPSMilli int64 `json:"iopsMilli"`
	// rateErrorPPM is half of the 95 % interval of both, in millionths of them.
	// +optional
	RateErrorPPM *int64 `json:"rateErrorPPM,omitempty"`
	// meanNanoseconds is the mean latency.
	// +optional
	MeanNanoseconds int64 `json:"meanNanoseconds,omitempty"`
	// p99Nanoseconds is absent with fewer than ten samples above it.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`
}

// KneeResult is where more load stops to pay.
type KneeResult struct {
	// found is false where the ramp ended before the knee or had under five
	// steps.
	// +optional
	Found bool `json:"found"`
	// value of the dimension at the knee.
	// +optional
	Value *int64 `json:"value,omitempty"`
	// valueAt95Percent is the first with 95 % of the plateau.
	// +optional
	ValueAt95Percent *int64 `json:"valueAt95Percent,omitempty"`
	// message says how sure that is.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
