package v1alpha1

// TargetComparison compares a target with the first one of the phase. It follows
// from the figures of both, and is there so that nobody has to work it out.
type TargetComparison struct {
	// baseline is the target that is compared with: the first one of the phase.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Baseline string `json:"baseline"`

	// target that is compared.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// invalid says why the two cannot be compared. Then there are no figures.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Invalid string `json:"invalid,omitempty"`

	// figures that both have, the most telling first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Figures []FigureComparison `json:"figures,omitempty"`

	// cells of a sweep, or steps of a ramp, counted by which target was faster.
	// +optional
	Cells *CellComparison `json:"cells,omitempty"`

	// notes about what the comparison does not say.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=256
	Notes []string `json:"notes,omitempty"`
}

// FigureName is a figure that targets are compared by.
//
// +kubebuilder:validation:Enum=Throughput;IOPS;MeanLatency;P50Latency;P95Latency;P99Latency;P999Latency;Burst;Sustained;Peak;Baseline;TimeToBaseline;Spent;Refill;Rate;Duration;CompressionRatio
type FigureName string

// The figures that targets are compared by, in the units of the results that
// they are from.
const (
	// FigureThroughput is in bytes a second.
	FigureThroughput FigureName = "Throughput"
	// FigureIOPS is in thousandths of an operation a second.
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
	// FigureBurst is of a burst drain, in bytes a second, or in thousandths of
	// an operation a second where operations are what ran out.
	FigureBurst FigureName = "Burst"
	// FigureSustained is the lower level of a burst that alternates, in the
	// unit of Burst.
	FigureSustained FigureName = "Sustained"
	// FigurePeak is the upper level of it, in the unit of Burst.
	FigurePeak FigureName = "Peak"
	// FigureBaseline is what is left without credits, in the unit of Burst.
	FigureBaseline FigureName = "Baseline"
	// FigureTimeToBaseline is from the start of a drain until its baseline
	// begins, in nanoseconds.
	FigureTimeToBaseline FigureName = "TimeToBaseline"
	// FigureSpent is the credits that a drain has spent, in bytes, or in
	// operations where these are what ran out.
	FigureSpent FigureName = "Spent"
	// FigureRefill is what comes back, in the unit of Burst.
	FigureRefill FigureName = "Refill"
	// FigureRate is mdtest's, in thousandths of an operation a second.
	FigureRate FigureName = "Rate"
	// FigureDuration of a command, in nanoseconds.
	FigureDuration FigureName = "Duration"
	// FigureCompressionRatio is in thousandths.
	FigureCompressionRatio FigureName = "CompressionRatio"
)

// FigureVerdict says which of two targets is better by a figure.
//
// +kubebuilder:validation:Enum=TargetBetter;BaselineBetter;NoDifference;NotJudged
type FigureVerdict string

// The verdicts.
const (
	// FigureTargetBetter: the target is better, and chance does not explain it.
	FigureTargetBetter FigureVerdict = "TargetBetter"
	// FigureBaselineBetter: the baseline is better, and chance does not explain
	// it.
	FigureBaselineBetter FigureVerdict = "BaselineBetter"
	// FigureNoDifference: the interval of the difference holds none at all.
	FigureNoDifference FigureVerdict = "NoDifference"
	// FigureNotJudged: how far chance may take the figure is not known.
	FigureNotJudged FigureVerdict = "NotJudged"
)

// FigureComparison is one figure of two targets.
type FigureComparison struct {
	// figure that is compared.
	// +required
	Figure FigureName `json:"figure"`

	// operation that it is of. Absent: of all.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Operation string `json:"operation,omitempty"`

	// baseline is the figure of the baseline, target that of the target.
	// +optional
	Baseline int64 `json:"baseline"`
	// target is the figure of the target.
	// +optional
	Target int64 `json:"target"`

	// differencePermille is by how much the target's figure is above (or below)
	// that of the baseline, in thousandths of the latter.
	// +optional
	DifferencePermille int64 `json:"differencePermille"`

	// lowerPermille is the lower end of its 95 % interval. Absent: not known.
	// +optional
	LowerPermille *int64 `json:"lowerPermille,omitempty"`

	// upperPermille is the upper end of its 95 % interval. Absent: not known.
	// +optional
	UpperPermille *int64 `json:"upperPermille,omitempty"`

	// verdict says which is better.
	// +required
	Verdict FigureVerdict `json:"verdict"`
}

// CellComparison counts the cells of a sweep, or the steps of a ramp, by which of
// two targets moved more in them.
type CellComparison struct {
	// compared is how many cells both targets have a valid result of.
	// +required
	Compared int32 `json:"compared"`
	// targetBetter is in how many the target was faster.
	// +required
	TargetBetter int32 `json:"targetBetter"`
	// baselineBetter is in how many the baseline was faster.
	// +required
	BaselineBetter int32 `json:"baselineBetter"`
	// noDifference is in how many the difference may be chance.
	// +required
	NoDifference int32 `json:"noDifference"`
	// notJudged is in how many it is not known how far chance goes.
	// +required
	NotJudged int32 `json:"notJudged"`
	// omitted is how many only one target has a valid result of, or none.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
}
