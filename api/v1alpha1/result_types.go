package v1alpha1

import (
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operation is a kind of I/O.
//
// +kubebuilder:validation:Enum=Read;Write;Trim;Sync;Create;Stat;Delete
type Operation string

// Possible values of Operation.
const (
	// OperationRead is a read.
	OperationRead Operation = "Read"
	// OperationWrite is a write.
	OperationWrite Operation = "Write"
	// OperationTrim is a discard of blocks.
	OperationTrim Operation = "Trim"
	// OperationSync is an fsync or fdatasync. It has a latency, but moves no bytes.
	OperationSync Operation = "Sync"
	// OperationCreate makes an empty file.
	OperationCreate Operation = "Create"
	// OperationStat reads the attributes of a file.
	OperationStat Operation = "Stat"
	// OperationDelete removes a file.
	OperationDelete Operation = "Delete"
)

// MovesData reports whether the operation reads, writes or discards data. The other operations have a latency, but no
// throughput.
func (o Operation) MovesData() bool {
	return o == OperationRead || o == OperationWrite || o == OperationTrim
}

// PhaseResult is the result of one phase.
type PhaseResult struct {
	// name is the name of the phase.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// kind is the kind of the phase.
	// +required
	Kind PhaseKind `json:"kind"`

	// startTime is the time of the first measured I/O. In a cooldown phase, it is the start of the pause.
	// +optional
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// endTime is the time of the last I/O. In a cooldown phase, it is the end of the pause.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`

	// targets are the results, one per target.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Targets []TargetResult `json:"targets,omitempty"`

	// comparisons compare every other target with the first target.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=15
	Comparisons []TargetComparison `json:"comparisons,omitempty"`

	// fairness describes how evenly the victims of an interference phase without aggressors share the storage.
	// +optional
	Fairness *FairnessResult `json:"fairness,omitempty"`
}

// TargetResult is the result of one target in one phase, over all its clients.
type TargetResult struct {
	// target is the name of the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// clients is the number of clients included in the figures.
	// +required
	Clients int32 `json:"clients"`

	// operations are the figures, one entry per kind of operation. Unset for a ramp or a sweep, whose figures are in
	// steps.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=7
	Operations []OperationResult `json:"operations,omitempty"`

	// windowNanoseconds is the length of the common window, in which every client was running. bytesPerSecond and
	// iopsMilli of a time-bound step are computed over it. For a work-bound step, it is the time from the first
	// client's start to the last client's end.
	// +optional
	WindowNanoseconds int64 `json:"windowNanoseconds,omitempty"`

	// workBound is true if the step ended when its work was done rather than after a set time.
	// +optional
	WorkBound bool `json:"workBound,omitempty"`

	// tailNanoseconds is the part of a work-bound step's window in which some clients had already finished.
	// +optional
	TailNanoseconds *int64 `json:"tailNanoseconds,omitempty"`

	// measuredNanoseconds is the sum of the measured times of all clients. Latencies cover all of this time.
	// +optional
	MeasuredNanoseconds int64 `json:"measuredNanoseconds,omitempty"`

	// startSkewNanoseconds is the time from the first I/O of the first client to the first I/O of
	// the last client.
	// +optional
	StartSkewNanoseconds *int64 `json:"startSkewNanoseconds,omitempty"`

	// clientSpread shows how much the combined read and write throughput differs between clients.
	// +optional
	ClientSpread *ClientSpread `json:"clientSpread,omitempty"`

	// warnings are the warnings about the figures.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Warnings []Warning `json:"warnings,omitempty"`

	// steadyState is the verdict on a steady phase.
	// +optional
	SteadyState *SteadyStateResult `json:"steadyState,omitempty"`

	// burst is the result of a burstDrain phase, or of the drain of a cooldown.
	// +optional
	Burst *BurstResult `json:"burst,omitempty"`

	// cooldown is the result of a cooldown phase.
	// +optional
	Cooldown *CooldownResult `json:"cooldown,omitempty"`

	// inFlightNanoseconds is the time from the planned end of the last client's load until its last operation completed.
	// Operations that completed in this time do not count toward rates. They count toward totals and latencies because
	// they began in the measured time; without these slow operations, the latencies would look too good.
	// +optional
	InFlightNanoseconds *int64 `json:"inFlightNanoseconds,omitempty"`

	// steps are the figures of a ramp's steps, a sweep's cells, the rates of a search or the blocks of
	// an interference phase.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Steps []StepResult `json:"steps,omitempty"`

	// knee is the knee of a ramp, or of the rates of a search.
	// +optional
	Knee *KneeResult `json:"knee,omitempty"`

	// search describes the highest rate that a search found. operations holds the figures at that rate, and steps holds
	// the figures at every rate tried.
	// +optional
	Search *SearchResult `json:"search,omitempty"`

	// interference shows how the neighbours of an interference phase affect the target. operations holds the figures with
	// the largest number of neighbours, and steps holds the figures of each block.
	// +optional
	Interference *InterferenceResult `json:"interference,omitempty"`

	// ior is the result that IOR reports. Its rates are means over repetitions, each timed from the first rank's start
	// to the last rank's end; bytesPerSecond in operations is sampled on the clients instead.
	// +optional
	IOR *IORResult `json:"ior,omitempty"`

	// mdtest is the result that mdtest reports.
	// +optional
	Mdtest *MdtestResult `json:"mdtest,omitempty"`

	// command holds the outcome of a user-supplied program, and the counts behind its figures.
	// +optional
	Command *CommandResult `json:"command,omitempty"`

	// usage is the space that the files occupied, as last measured after a step that wrote data.
	// +optional
	Usage *UsageResult `json:"usage,omitempty"`

	// clientCPUPermille is the CPU use of the busiest client, in thousandths of the CPU that its load can use. Unset if
	// unknown.
	// +optional
	ClientCPUPermille *int64 `json:"clientCPUPermille,omitempty"`

	// throttledPermille is the share of CPU periods in which the most throttled client was throttled by its CPU limit,
	// in thousandths. Unset if no client was throttled.
	// +optional
	ThrottledPermille *int64 `json:"throttledPermille,omitempty"`

	// attributions compare the rates with the documented limits, and name the causes that may have limited the rates. A
	// drain whose credits ran out has one entry each for the burst and the baseline; other phases have one entry. For a
	// ramp or a sweep, they are in steps.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Attributions []Attribution `json:"attributions,omitempty"`
}

// OwnRates returns the mean rates that mdtest reports, in thousandths of an operation per second, keyed by mdtest's
// name for the operation. Use these rates instead of the figures of reads and writes. It returns nil for the results of
// other tools.
func (t *TargetResult) OwnRates() iter.Seq2[string, int64] {
	if t.Mdtest == nil {
		return nil
	}
	return func(yield func(operation string, milli int64) bool) {
		for i := range t.Mdtest.Rates {
			if rate := &t.Mdtest.Rates[i]; !yield(rate.Operation, rate.MeanOPSMilli) {
				return
			}
		}
	}
}

// OperationResult holds the figures of one kind of operation over all clients.
type OperationResult struct {
	// operation is the kind of operation.
	// +required
	Operation Operation `json:"operation"`

	// bytes is the number of bytes moved in the whole measured time.
	// +optional
	Bytes int64 `json:"bytes"`

	// operations is the number of operations completed in the whole measured time.
	// +optional
	Operations int64 `json:"operations"`

	// bytesPerSecond is the throughput in the common window. Unset if there is no common window.
	// +optional
	BytesPerSecond *int64 `json:"bytesPerSecond,omitempty"`

	// iopsMilli is the rate in the common window, in thousandths of an operation per second. Unset if there is no
	// common window, or if only the bytes were counted, as for memory-mapped files.
	// +optional
	IOPSMilli *int64 `json:"iopsMilli,omitempty"`

	// rateErrorPPM is half the width of the 95 % confidence interval of bytesPerSecond and iopsMilli, in millionths of
	// their values. It covers the random error of the mean, given the variance and correlation of the samples. Another
	// run may differ by more. Unset if there are too few samples, or if the rate is not the mean of a single level.
	// +optional
	RateErrorPPM *int64 `json:"rateErrorPPM,omitempty"`

	// latency is the time from submission to completion (fio's lat).
	// +optional
	Latency *LatencyResult `json:"latency,omitempty"`

	// completionLatency excludes the submission time (fio's clat). Use it only to compare with clat figures of other fio
	// runs, because applications also wait for the submission.
	// +optional
	CompletionLatency *LatencyResult `json:"completionLatency,omitempty"`
}

// LatencyResult is a distribution of latencies. Percentiles are computed as in fio, from the merged histogram of all
// clients. A percentile is unset if fewer than ten samples lie above it.
type LatencyResult struct {
	// samples is the number of samples.
	// +required
	Samples int64 `json:"samples"`

	// meanNanoseconds is the mean: the sum of the samples divided by their number. In a step of a search, the minimum, the
	// mean and the maximum are computed from the histogram.
	// +optional
	MeanNanoseconds int64 `json:"meanNanoseconds"`

	// minNanoseconds is the shortest latency.
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

	// maxNanoseconds is the longest latency. It is exact, except in a step of a search.
	// +optional
	MaxNanoseconds int64 `json:"maxNanoseconds"`

	// histogram holds the counts of the samples, from which any percentile can be computed. It consists of one byte for
	// the format (1) and then, as unsigned varints, the number of non-empty bins and, for each of them in ascending order,
	// the number of empty bins directly before it in fio's grid and its own count. Unset for completionLatency, and if the
	// run has too many figures.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Histogram []byte `json:"histogram,omitempty"`
}

// ClientSpread is the best, median and worst client by throughput.
type ClientSpread struct {
	// best is the client with the highest throughput.
	// +required
	Best ClientRate `json:"best"`
	// median is the median client; for an even number of clients, the lower of the two.
	// +required
	Median ClientRate `json:"median"`
	// worst is the client with the lowest throughput.
	// +required
	Worst ClientRate `json:"worst"`
}

// ClientRate is the throughput of one client in the common window.
type ClientRate struct {
	// client is the index of the client.
	// +optional
	Client int32 `json:"client"`
	// bytesPerSecond is the throughput of the client.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
}

// SteadyStateResult is the steady-state verdict according to SNIA's Performance Test Specification, with a window of
// five 60-second rounds.
type SteadyStateResult struct {
	// assessed is false if the step was too short for five rounds.
	// +optional
	Assessed bool `json:"assessed"`

	// steady is true if the rate was steady. Unset if assessed is false.
	// +optional
	Steady *bool `json:"steady,omitempty"`

	// excursionPermille is the difference between the highest and the lowest round, in thousandths
	// of the mean of the rounds; up to 200 is steady.
	// +optional
	ExcursionPermille *int64 `json:"excursionPermille,omitempty"`

	// slopePermille is the change of the best-fit line over the window, in thousandths of the mean;
	// up to 100 is steady.
	// +optional
	SlopePermille *int64 `json:"slopePermille,omitempty"`

	// rounds is the number of rounds that were observed.
	// +optional
	Rounds int32 `json:"rounds,omitempty"`
}

// BurstResult is the result of a burst drain. Estimates have 95 % confidence intervals.
type BurstResult struct {
	// exhausted reports whether the credits ran out.
	// +optional
	Exhausted bool `json:"exhausted"`

	// dimension is the unit of the credits: Bytes or Operations if the level after the drop agrees with the documented
	// baseline of that dimension, otherwise Unknown. For the other dimension, spent is only a lower bound.
	// +optional
	// +kubebuilder:validation:Enum=Bytes;Operations;Unknown
	Dimension string `json:"dimension,omitempty"`

	// bytes is the analysis of the rate in bytes per second.
	// +optional
	Bytes *BurstSeries `json:"bytes,omitempty"`

	// operations is the analysis of the rate in thousandths of an operation per second.
	// +optional
	Operations *BurstSeries `json:"operations,omitempty"`

	// peak5sBytesPerSecond is the highest mean over five seconds. Unset for bursts of less than five seconds.
	// +optional
	Peak5sBytesPerSecond *int64 `json:"peak5sBytesPerSecond,omitempty"`

	// nanosecondsToBaseline is the time of the last permanent drop, counted from the start of the measured time.
	// +optional
	NanosecondsToBaseline *Estimate `json:"nanosecondsToBaseline,omitempty"`

	// idleNanoseconds is the pause before a redrain, from the last completed operation to the first
	// I/O.
	// +optional
	IdleNanoseconds *int64 `json:"idleNanoseconds,omitempty"`

	// observedCreditPercentAtStart is the level of the store's credits when the drain began, from
	// the observation whose creditsOf names the target.
	// +optional
	ObservedCreditPercentAtStart *int32 `json:"observedCreditPercentAtStart,omitempty"`

	// message explains what the figures do not show, such as why a refill is only a lower bound.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// BurstSeries is the analysis of a throughput series over a burst drain. Rates are in bytes per
// second, or in thousandths of an operation per second; amounts are in bytes, or in operations.
type BurstSeries struct {
	// burst is the mean rate of the first segment that is not RampUp.
	// +optional
	Burst *Estimate `json:"burst,omitempty"`

	// sustained is the lower of the two levels if burst's segment is Alternating; otherwise it equals burst.
	// +optional
	Sustained *Estimate `json:"sustained,omitempty"`

	// peak is the upper of the two levels if burst's segment is Alternating; otherwise it equals burst.
	// +optional
	Peak *Estimate `json:"peak,omitempty"`

	// baseline is the mean rate of the last segment.
	// +optional
	Baseline *Estimate `json:"baseline,omitempty"`

	// refill is the refill rate of the bucket. refillSource names its source.
	// +optional
	Refill *Estimate `json:"refill,omitempty"`

	// refillSource is the source of refill: Measured by a redrain, Documented by the target's
	// limits, or Assumed to equal the level after the drop.
	// +optional
	// +kubebuilder:validation:Enum=Measured;Documented;Assumed
	RefillSource string `json:"refillSource,omitempty"`

	// bucketAtLeast is a lower bound on the bucket size, derived from a series without a drop.
	// +optional
	BucketAtLeast *int64 `json:"bucketAtLeast,omitempty"`

	// segments are the stretches of the series between permanent drops.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Segments []Segment `json:"segments,omitempty"`

	// drops are the permanent drops of the rate.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Drops []Drop `json:"drops,omitempty"`
}

// Estimate is a figure with its 95 % confidence interval.
type Estimate struct {
	// value is the value of the figure.
	// +optional
	Value int64 `json:"value"`
	// lower is the lower end of the confidence interval.
	// +optional
	Lower *int64 `json:"lower,omitempty"`
	// upper is the upper end of the confidence interval.
	// +optional
	Upper *int64 `json:"upper,omitempty"`
}

// SegmentShape is the shape of a segment.
//
// +kubebuilder:validation:Enum=Level;Alternating;RampUp
type SegmentShape string

// Segment is a stretch of a series between permanent drops.
type Segment struct {
	// startNanoseconds is the start of the segment, counted from the start of the measured time.
	// +optional
	StartNanoseconds int64 `json:"startNanoseconds"`
	// endNanoseconds is the end of the segment, counted from the start of the measured time.
	// +optional
	EndNanoseconds int64 `json:"endNanoseconds"`
	// mean is the mean rate of the segment.
	// +optional
	Mean Estimate `json:"mean"`
	// deviation is the standard deviation of the samples.
	// +optional
	Deviation int64 `json:"deviation,omitempty"`
	// shape is Level, Alternating or RampUp.
	// +optional
	Shape SegmentShape `json:"shape,omitempty"`
}

// Drop is a permanent drop of the rate.
type Drop struct {
	// atNanoseconds is the time of the drop, counted from the start of the measured time.
	// +optional
	AtNanoseconds Estimate `json:"atNanoseconds"`
	// before is the level before the drop.
	// +optional
	Before Estimate `json:"before"`
	// after is the level after the drop.
	// +optional
	After Estimate `json:"after"`
	// spent is the amount of credits spent before the drop. It is a lower bound on the size of the bucket if the
	// initial fill level is unknown.
	// +optional
	Spent *Estimate `json:"spent,omitempty"`
	// cause is the cause of the drop.
	// +optional
	// +kubebuilder:validation:Enum=Volume;Server;Instance;Client;Interference;Unknown
	Cause string `json:"cause,omitempty"`
	// confirmed is true if the level after the drop confirms the cause, because it agrees with the
	// documented baseline to within 5 %.
	// +optional
	Confirmed bool `json:"confirmed,omitempty"`
}

// CooldownResult is the result of a cooldown phase.
type CooldownResult struct {
	// idleNanoseconds is the time without load, from the last completed operation before the cooldown to the end of the
	// cooldown.
	// +optional
	IdleNanoseconds int64 `json:"idleNanoseconds"`
	// wantedPercent is the fill level that untilCredits waits for, in percent.
	// +optional
	WantedPercent *int32 `json:"wantedPercent,omitempty"`
	// creditPercentAtEnd is the estimated fill level of the bucket after the cooldown, in percent. Unset if unknown.
	// +optional
	CreditPercentAtEnd *int32 `json:"creditPercentAtEnd,omitempty"`
	// message states the length of the pause, what determined it, and what is unknown.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// StepResult holds the figures of one step of a ramp or one cell of a sweep. It is kept small because a sweep can have
// 256 cells.
type StepResult struct {
	// cell is the index of the step in a ramp or search, or of the cell in a sweep. Cells are numbered along the axes
	// clients, jobs, queueDepth, blockSize and readPercent, the last one changing fastest.
	// +required
	Cell int32 `json:"cell"`
	// clients is the number of clients included in the figures.
	// +optional
	Clients int32 `json:"clients,omitempty"`
	// driftPermille is the largest difference between a repetition of the cell and its first run,
	// in thousandths. Only for the repeated cell of a sweep.
	// +optional
	DriftPermille *int64 `json:"driftPermille,omitempty"`
	// offeredIOPS is the rate at which operations arrived, over all clients of the target. Only for
	// a search.
	// +optional
	OfferedIOPS *int64 `json:"offeredIOPS,omitempty"`
	// confirms is true for a step that confirms the highest rate of a search.
	// +optional
	Confirms *bool `json:"confirms,omitempty"`
	// slowerPPM is the share of operations that exceeded the latency limit of the search's objective, in millionths. If
	// there are several kinds of operations, it is the largest of their shares. Unset if unknown.
	// +optional
	SlowerPPM *int64 `json:"slowerPPM,omitempty"`
	// neighbours is the number of other targets under load in a block of an interference phase.
	// +optional
	Neighbours *int32 `json:"neighbours,omitempty"`
	// operations are the figures, one entry per kind of operation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Operations []StepOperation `json:"operations,omitempty"`
	// creditPercentAtStart is the estimated fill level of the bucket when the step began, in percent.
	// +optional
	CreditPercentAtStart *int32 `json:"creditPercentAtStart,omitempty"`
	// creditPercentAtEnd is the estimated fill level of the bucket when the step ended, in percent.
	// +optional
	CreditPercentAtEnd *int32 `json:"creditPercentAtEnd,omitempty"`
	// warnings are the types of the warnings.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Warnings []WarningType `json:"warnings,omitempty"`
	// clientCPUPermille is the CPU use of the busiest client, in thousandths of the CPU that its load can use. Unset if
	// below 500 or unknown.
	// +optional
	ClientCPUPermille *int64 `json:"clientCPUPermille,omitempty"`
	// throttledPermille is the share of CPU periods in which the most throttled client was throttled by its CPU limit,
	// in thousandths. Unset if no client was throttled.
	// +optional
	ThrottledPermille *int64 `json:"throttledPermille,omitempty"`
	// attribution names the most likely cause that limited the rate.
	// +optional
	Attribution *StepAttribution `json:"attribution,omitempty"`
}

// StepOperation holds the figures of one kind of operation of a step.
type StepOperation struct {
	// operation is the kind of operation.
	// +required
	Operation Operation `json:"operation"`
	// bytesPerSecond is the throughput in the common window.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// iopsMilli is the rate in thousandths of an operation per second.
	// +optional
	IOPSMilli int64 `json:"iopsMilli"`
	// rateErrorPPM is half the width of the 95 % confidence interval of bytesPerSecond and iopsMilli, in millionths of
	// their values.
	// +optional
	RateErrorPPM *int64 `json:"rateErrorPPM,omitempty"`
	// meanNanoseconds is the mean latency.
	// +optional
	MeanNanoseconds int64 `json:"meanNanoseconds,omitempty"`
	// p50Nanoseconds is the median latency. Only for a search and for interference.
	// +optional
	P50Nanoseconds *int64 `json:"p50Nanoseconds,omitempty"`
	// p99Nanoseconds is the 99th percentile of the latency. Unset if fewer than ten samples lie above it.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`
}

// Counted reports whether the operations that moved the bytes were counted. A program can move bytes without system
// calls, for example through memory-mapped files.
func (o *StepOperation) Counted() bool { return o.IOPSMilli > 0 || o.BytesPerSecond == 0 }

// SearchResult is the highest rate that met the objective of a search.
type SearchResult struct {
	// found is true if a rate met the objective in the steps that confirm it.
	// +optional
	Found bool `json:"found"`
	// offeredIOPS is the highest offered rate that met the objective, in operations per second.
	// +optional
	OfferedIOPS *int64 `json:"offeredIOPS,omitempty"`
	// achievedIOPSMilli is the rate of completed operations at offeredIOPS, in thousandths of an operation per second.
	// +optional
	AchievedIOPSMilli *Estimate `json:"achievedIOPSMilli,omitempty"`
	// slowerPPM is the share of operations that exceeded the latency limit of the objective at offeredIOPS, in millionths.
	// +optional
	SlowerPPM *Estimate `json:"slowerPPM,omitempty"`
	// atLeast is true if every tried rate met the objective. Higher rates may then also meet the objective.
	// +optional
	AtLeast bool `json:"atLeast,omitempty"`
	// message states the result in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// InterferenceResult shows how neighbours affect a target.
type InterferenceResult struct {
	// levels are the figures for each number of neighbours, in ascending order from 0.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Levels []InterferenceLevel `json:"levels,omitempty"`
	// blocksWithCredits is the number of blocks that may have started with burst credits.
	// +optional
	BlocksWithCredits int32 `json:"blocksWithCredits,omitempty"`
	// message states the result in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// InterferenceLevel holds the figures of the blocks with the same number of neighbours. Ratios
// compare each block with the block without neighbours in the same repetition.
type InterferenceLevel struct {
	// neighbours is the number of other targets under load. 0 means none.
	// +optional
	Neighbours int32 `json:"neighbours"`
	// blocks is the number of valid blocks.
	// +optional
	Blocks int32 `json:"blocks"`
	// rateRatioPPM is the ratio of the total throughput to the throughput without neighbours, in millionths. If no bytes
	// are moved, it is the ratio of operations per second.
	// +optional
	RateRatioPPM *Estimate `json:"rateRatioPPM,omitempty"`
	// operations are the figures, one entry per kind of operation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Operations []InterferenceOperation `json:"operations,omitempty"`
}

// InterferenceOperation holds the figures of one kind of operation over all blocks of a level.
type InterferenceOperation struct {
	// operation is the kind of operation.
	// +required
	Operation Operation `json:"operation"`
	// bytesPerSecond is the mean throughput.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// iopsMilli is the mean rate in thousandths of an operation per second.
	// +optional
	IOPSMilli int64 `json:"iopsMilli"`
	// p50Nanoseconds is the median latency, from the merged histograms of the blocks.
	// +optional
	P50Nanoseconds *int64 `json:"p50Nanoseconds,omitempty"`
	// p99Nanoseconds is the 99th percentile of the latency.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`
	// p50RatioPPM is the ratio of the median latency to the median latency without neighbours, in millionths.
	// +optional
	P50RatioPPM *Estimate `json:"p50RatioPPM,omitempty"`
	// p99RatioPPM is the ratio of the 99th percentile latency to the one without neighbours, in millionths.
	// +optional
	P99RatioPPM *Estimate `json:"p99RatioPPM,omitempty"`
	// histogram is the merged latency histogram of the blocks, in the format of LatencyResult. It is removed after the
	// last block.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Histogram []byte `json:"histogram,omitempty"`
}

// FairnessResult describes how evenly targets under the same load share the storage. Each figure is the mean over the
// blocks in which all targets were loaded.
type FairnessResult struct {
	// jainPPM is Jain's index of the rates, in millionths: 1,000,000 if all are equal, and 1,000,000 divided by the
	// number of targets if only one target makes progress.
	// +optional
	JainPPM *Estimate `json:"jainPPM,omitempty"`
	// leastOfMostPPM is the lowest rate as a share of the highest rate, in millionths.
	// +optional
	LeastOfMostPPM *Estimate `json:"leastOfMostPPM,omitempty"`
	// message states the result in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// KneeResult is the knee of a ramp: the point beyond which more load gains little.
type KneeResult struct {
	// found is false if the ramp ended before the knee or had fewer than five steps.
	// +optional
	Found bool `json:"found"`
	// value is the value of the ramp's dimension at the knee.
	// +optional
	Value *int64 `json:"value,omitempty"`
	// valueAt95Percent is the lowest value of the ramp's dimension at which the rate is at least 95 % of the plateau.
	// +optional
	ValueAt95Percent *int64 `json:"valueAt95Percent,omitempty"`
	// message states how certain the knee is.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
