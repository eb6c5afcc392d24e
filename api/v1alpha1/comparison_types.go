package v1alpha1

// TargetComparison compares a target with the first target of the phase. It is derived from the
// figures of both targets and recorded for convenience.
type TargetComparison struct {
	// baseline is the target to compare with: the first target of the phase.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Baseline string `json:"baseline"`

	// target is the target to compare with the baseline.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// invalid explains why the two targets cannot be compared. figures is then empty.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Invalid string `json:"invalid,omitempty"`

	// figures are the figures measured on both targets, most significant first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=12
	Figures []FigureComparison `json:"figures,omitempty"`

	// cells counts how often each target was faster in the cells of a sweep or the steps of a ramp.
	// +optional
	Cells *CellComparison `json:"cells,omitempty"`

	// notes are facts for which there is no other field.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=256
	Notes []string `json:"notes,omitempty"`
}

// FigureName names a figure by which targets are compared.
//
// +kubebuilder:validation:Enum=Throughput;IOPS;MeanLatency;P50Latency;P95Latency;P99Latency;P999Latency;Burst;Sustained;Peak;Baseline;TimeToBaseline;Spent;Refill;Rate;Duration;CompressionRatio
type FigureName string

// Possible values of FigureName, with the unit of each figure.
const (
	// FigureThroughput is in bytes per second.
	FigureThroughput FigureName = "Throughput"
	// FigureIOPS is in thousandths of an operation per second.
	FigureIOPS FigureName = "IOPS"
	// FigureMeanLatency is in nanoseconds.
	FigureMeanLatency FigureName = "MeanLatency"
	// FigureP50Latency is the 50th percentile, in nanoseconds.
	FigureP50Latency FigureName = "P50Latency"
	// FigureP95Latency is the 95th percentile, in nanoseconds.
	FigureP95Latency FigureName = "P95Latency"
	// FigureP99Latency is the 99th percentile, in nanoseconds.
	FigureP99Latency FigureName = "P99Latency"
	// FigureP999Latency is the 99.9th percentile, in nanoseconds.
	FigureP999Latency FigureName = "P999Latency"
	// FigureBurst is the burst rate of a drain, in bytes per second, or in thousandths of an operation per second if
	// the credits are operations.
	FigureBurst FigureName = "Burst"
	// FigureSustained is the lower level of a burst that alternates between two levels, in the unit of FigureBurst.
	FigureSustained FigureName = "Sustained"
	// FigurePeak is the upper level of a burst that alternates between two levels, in the unit of FigureBurst.
	FigurePeak FigureName = "Peak"
	// FigureBaseline is the rate without credits, in the unit of FigureBurst.
	FigureBaseline FigureName = "Baseline"
	// FigureTimeToBaseline is the time from the start of a drain until its baseline begins, in
	// nanoseconds.
	FigureTimeToBaseline FigureName = "TimeToBaseline"
	// FigureSpent is the amount of credits that a drain spent, in bytes, or in operations if the credits are
	// operations.
	FigureSpent FigureName = "Spent"
	// FigureRefill is the refill rate, in the unit of FigureBurst.
	FigureRefill FigureName = "Refill"
	// FigureRate is a rate that mdtest reports, in thousandths of an operation per second.
	FigureRate FigureName = "Rate"
	// FigureDuration is the duration of a command, in nanoseconds.
	FigureDuration FigureName = "Duration"
	// FigureCompressionRatio is the compression ratio, in thousandths.
	FigureCompressionRatio FigureName = "CompressionRatio"
)

// FigureVerdict names the target with the better figure.
//
// +kubebuilder:validation:Enum=TargetBetter;BaselineBetter;NoDifference;NotJudged
type FigureVerdict string

// Values of FigureVerdict.
const (
	// FigureTargetBetter: the target is better by more than chance explains.
	FigureTargetBetter FigureVerdict = "TargetBetter"
	// FigureBaselineBetter: the baseline is better by more than chance explains.
	FigureBaselineBetter FigureVerdict = "BaselineBetter"
	// FigureNoDifference: the confidence interval of the difference includes zero, or the
	// difference is too small to be measured.
	FigureNoDifference FigureVerdict = "NoDifference"
	// FigureNotJudged: the confidence interval of a figure is unknown.
	FigureNotJudged FigureVerdict = "NotJudged"
)

// FigureComparison compares one figure of two targets.
type FigureComparison struct {
	// figure is the name of the figure.
	// +required
	Figure FigureName `json:"figure"`

	// operation is the kind of operation. Unset for all kinds together.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Operation string `json:"operation,omitempty"`

	// baseline is the value for the baseline target.
	// +optional
	Baseline int64 `json:"baseline"`
	// target is the value for the compared target.
	// +optional
	Target int64 `json:"target"`

	// differencePermille is target minus baseline, in thousandths of baseline.
	// +optional
	DifferencePermille int64 `json:"differencePermille"`

	// lowerPermille is the lower end of the 95 % confidence interval of differencePermille. Unset if unknown.
	// +optional
	LowerPermille *int64 `json:"lowerPermille,omitempty"`

	// upperPermille is the upper end of the 95 % confidence interval of differencePermille. Unset if unknown.
	// +optional
	UpperPermille *int64 `json:"upperPermille,omitempty"`

	// verdict names the better target.
	// +required
	Verdict FigureVerdict `json:"verdict"`
}

// CellComparison counts how often each of two targets was faster in the cells of a sweep or the steps of a ramp.
type CellComparison struct {
	// compared is the number of cells with a valid result for both targets.
	// +required
	Compared int32 `json:"compared"`
	// targetBetter is the number of cells in which the target was faster.
	// +required
	TargetBetter int32 `json:"targetBetter"`
	// baselineBetter is the number of cells in which the baseline was faster.
	// +required
	BaselineBetter int32 `json:"baselineBetter"`
	// noDifference is the number of cells in which chance may explain the difference.
	// +required
	NoDifference int32 `json:"noDifference"`
	// notJudged is the number of cells without a known confidence interval.
	// +required
	NotJudged int32 `json:"notJudged"`
	// omitted is the number of cells that were not compared, because one of the targets has no valid result or lost more
	// clients than the other.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
}
