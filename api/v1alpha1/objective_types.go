package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// Objective is one figure that has to be reached. Exactly one of throughput,
// iops, latency, burst, baseline, refill and ratio is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.throughput), has(self.iops), has(self.latency), has(self.burst), has(self.baseline), has(self.refill), has(self.ratio)].filter(x, x).size() == 1",message="give exactly one figure: throughput, iops, latency, burst, baseline, refill or ratio"
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

// LatencyObjective is an upper bound of a latency.
type LatencyObjective struct {
	// percentile that is judged, or Mean, or Max.
	// +required
	// +kubebuilder:validation:Enum="50";"95";"99";"99.9";"99.99";Mean;Max
	Percentile string `json:"percentile"`

	// max is the most that is accepted.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; write a length of time such as 30s, or remove the field"
	Max Duration `json:"max"`
}

// RatioObjective bounds the ratio of a figure to another.
type RatioObjective struct {
	// of is Documented, the throughput in percent of the documented baseline,
	// or Compression, the size in percent of the space that it takes.
	// +required
	// +kubebuilder:validation:Enum=Documented;Compression
	Of string `json:"of"`

	// minPercent is the least that is accepted.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MinPercent int32 `json:"minPercent"`
}

// Verdict is the outcome of an objective.
//
// +kubebuilder:validation:Enum=Met;Missed;Unknown
type Verdict string

// The verdicts on an objective.
const (
	VerdictMet    Verdict = "Met"
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

	// verdict on it.
	// +required
	Verdict Verdict `json:"verdict"`

	// unit of observed and required.
	// +optional
	// +kubebuilder:validation:Enum=BytesPerSecond;IOPSMilli;Nanoseconds;Percent
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
