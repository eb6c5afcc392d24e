package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// Objective is one figure that has to be reached. Exactly one of throughput,
// iops, latency, burst, timeToBaseline, credits, baseline, refill and ratio is
// set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.throughput), has(self.iops), has(self.latency), has(self.burst), has(self.timeToBaseline), has(self.credits), has(self.baseline), has(self.refill), has(self.ratio)].filter(x, x).size() == 1",message="give exactly one figure: throughput, iops, latency, burst, timeToBaseline, credits, baseline, refill or ratio"
// +kubebuilder:validation:XValidation:rule="!has(self.cell) || !(has(self.burst) || has(self.timeToBaseline) || has(self.credits) || has(self.baseline) || has(self.refill))",message="cell: a cell has throughput, iops, latency and ratio only; remove the cell, or ask for one of these"
// +kubebuilder:validation:XValidation:rule="!has(self.cell) || !has(self.latency) || self.latency.percentile in ['99', 'Mean']",message="latency: a cell keeps the mean and the 99th percentile only; ask for 99 or Mean, or measure the cell in a steady phase"
type Objective struct {
	// name of the objective.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="use lower-case letters, digits and dashes only, beginning and ending with a letter or a digit"
	Name string `json:"name"`

	// phase whose result is judged.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Phase string `json:"phase"`

	// target whose result is judged. Absent: each has to meet it.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target,omitempty"`

	// operation whose result is judged. Absent: the only one of the phase.
	// +optional
	Operation Operation `json:"operation,omitempty"`

	// cell of a sweep whose result is judged.
	// +optional
	Cell *CellSelector `json:"cell,omitempty"`

	// throughput in bytes a second.
	// +optional
	Throughput *QuantityBounds `json:"throughput,omitempty"`

	// iops in operations a second.
	// +optional
	IOPS *QuantityBounds `json:"iops,omitempty"`

	// latency of an operation.
	// +optional
	Latency *LatencyObjective `json:"latency,omitempty"`

	// burst is the throughput with credits, in bytes a second.
	// +optional
	Burst *QuantityBounds `json:"burst,omitempty"`

	// timeToBaseline is from the start of a burst drain until the credits are
	// gone and the throughput has settled.
	// +optional
	TimeToBaseline *DurationBounds `json:"timeToBaseline,omitempty"`

	// credits that a burst drain has spent, in bytes, or in operations where
	// the bucket holds those.
	// +optional
	Credits *QuantityBounds `json:"credits,omitempty"`

	// baseline is the throughput without credits, in bytes a second.
	// +optional
	Baseline *QuantityBounds `json:"baseline,omitempty"`

	// refill of the credits, in bytes a second.
	// +optional
	Refill *QuantityBounds `json:"refill,omitempty"`

	// ratio of a figure to another.
	// +optional
	Ratio *RatioObjective `json:"ratio,omitempty"`
}

// CellSelector picks cells of a sweep by the values of their axes.
//
// +kubebuilder:validation:MinProperties=1
type CellSelector struct {
	// clients of the cell.
	// +optional
	Clients *int32 `json:"clients,omitempty"`
	// jobs of the cell.
	// +optional
	Jobs *int32 `json:"jobs,omitempty"`
	// queueDepth of the cell.
	// +optional
	QueueDepth *int32 `json:"queueDepth,omitempty"`
	// blockSize of the cell.
	// +optional
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`
	// readPercent of the cell.
	// +optional
	ReadPercent *int32 `json:"readPercent,omitempty"`
}

// QuantityBounds are bounds of a figure; one of them or both.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.min) || (isQuantity(string(self.min)) && quantity(string(self.min)).compareTo(quantity('0')) > 0)",message="min: above zero, such as 260M",fieldPath=".min"
// +kubebuilder:validation:XValidation:rule="!has(self.max) || (isQuantity(string(self.max)) && quantity(string(self.max)).compareTo(quantity('0')) > 0)",message="max: above zero, such as 260M",fieldPath=".max"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || !isQuantity(string(self.min)) || !isQuantity(string(self.max)) || quantity(string(self.min)).compareTo(quantity(string(self.max))) <= 0",message="max: cannot be below min; exchange the two",fieldPath=".max"
type QuantityBounds struct {
	// min is the least that is accepted.
	// +optional
	Min *resource.Quantity `json:"min,omitempty"`

	// max is the most that is accepted.
	// +optional
	Max *resource.Quantity `json:"max,omitempty"`
}

// DurationBounds are bounds of a time; one of them or both.
//
// +kubebuilder:validation:MinProperties=1
type DurationBounds struct {
	// min is the least that is accepted.
	// +optional
	Min *Duration `json:"min,omitempty"`

	// max is the most that is accepted.
	// +optional
	Max *Duration `json:"max,omitempty"`
}

// LatencyObjective bounds a latency.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) || has(self.min)",message="latency: give max, min or both"
type LatencyObjective struct {
	// percentile that is judged, such as 99 or 99.95, or Mean, or Max. It is
	// known where at least ten samples lie above it.
	// +required
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^(Mean|Max|[1-9][0-9]?([.][0-9]{1,4})?)$')",message="percentile: write Mean, Max, or a number from 1 to below 100 with at most four decimals, such as 99.9"
	Percentile string `json:"percentile"`

	// max is the most that is accepted, such as 250ms or 500us.
	// +optional
	Max *ShortDuration `json:"max,omitempty"`

	// min is the least that is accepted: less is a cache.
	// +optional
	Min *ShortDuration `json:"min,omitempty"`
}

// RatioObjective bounds the ratio of a figure to another.
//
// +kubebuilder:validation:XValidation:rule="has(self.minPercent) || has(self.maxPercent)",message="ratio: give minPercent, maxPercent or both"
type RatioObjective struct {
	// of is Documented, the throughput in percent of the documented baseline,
	// DocumentedBurst, that in percent of the documented burst, or
	// Compression, the size in percent of the space that it takes.
	// +required
	// +kubebuilder:validation:Enum=Documented;DocumentedBurst;Compression
	Of string `json:"of"`

	// minPercent is the least that is accepted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MinPercent *int32 `json:"minPercent,omitempty"`

	// maxPercent is the most that is accepted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxPercent *int32 `json:"maxPercent,omitempty"`
}

// Verdict is the outcome of an objective.
//
// +kubebuilder:validation:Enum=Met;Missed;Unknown
type Verdict string

// The verdicts on an objective.
const (
	// VerdictMet: the figure is within its bounds, on every target and cell.
	VerdictMet Verdict = "Met"
	// VerdictMissed: it is not, on one of them.
	VerdictMissed Verdict = "Missed"
	// VerdictUnknown: the figure is absent, such as a percentile with too few
	// samples.
	VerdictUnknown Verdict = "Unknown"
)

// ObjectiveResult is the verdict on one objective.
type ObjectiveResult struct {
	// name of the objective.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// figure that is judged, where it was measured, such as "p99.9 latency of
	// baseline".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure,omitempty"`

	// verdict on it.
	// +required
	Verdict Verdict `json:"verdict"`

	// unit of observed and required.
	// +optional
	// +kubebuilder:validation:Enum=BytesPerSecond;IOPSMilli;Nanoseconds;Permille;Bytes;Operations
	Unit string `json:"unit,omitempty"`

	// observed figure, in unit.
	// +optional
	Observed *int64 `json:"observed,omitempty"`

	// required figure, in unit.
	// +optional
	Required *int64 `json:"required,omitempty"`

	// message says it in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
