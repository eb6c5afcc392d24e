package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// Objective is one figure and its bounds. Exactly one of throughput, iops, latency, burst,
// timeToBaseline, credits, baseline, refill and ratio is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.throughput), has(self.iops), has(self.latency), has(self.burst), has(self.timeToBaseline), has(self.credits), has(self.baseline), has(self.refill), has(self.ratio)].filter(x, x).size() == 1",message="set exactly one figure: throughput, iops, latency, burst, timeToBaseline, credits, baseline, refill or ratio"
// +kubebuilder:validation:XValidation:rule="!has(self.cell) || !(has(self.burst) || has(self.timeToBaseline) || has(self.credits) || has(self.baseline) || has(self.refill) || has(self.ratio) && self.ratio.of == 'Compression')",message="cell: only throughput, iops, latency and documented ratios apply to a cell; remove cell, or use one of these"
// +kubebuilder:validation:XValidation:rule="!has(self.cell) || !has(self.latency) || self.latency.percentile in ['99', 'Mean']",message="latency: a cell keeps the mean and the 99th percentile only; use 99 or Mean, or measure the cell in a steady phase"
type Objective struct {
	// name is the name of the objective.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="use lower-case letters, digits and dashes only, beginning and ending with a letter or a digit"
	Name string `json:"name"`

	// phase is the phase whose result is evaluated.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Phase string `json:"phase"`

	// target is the target whose result is evaluated. If unset, every target has to meet the objective.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target,omitempty"`

	// operation is the kind of operation whose result is evaluated. Defaults to the only kind in the phase.
	// +optional
	Operation Operation `json:"operation,omitempty"`

	// cell selects the cells of a sweep, or the steps of a ramp, whose results are evaluated.
	// +optional
	Cell *CellSelector `json:"cell,omitempty"`

	// throughput bounds the throughput, in bytes per second.
	// +optional
	Throughput *QuantityBounds `json:"throughput,omitempty"`

	// iops bounds the number of operations per second.
	// +optional
	IOPS *QuantityBounds `json:"iops,omitempty"`

	// latency bounds the latency of an operation.
	// +optional
	Latency *LatencyObjective `json:"latency,omitempty"`

	// burst bounds the throughput while credits last, in bytes per second.
	// +optional
	Burst *QuantityBounds `json:"burst,omitempty"`

	// timeToBaseline bounds the time from the start of a burst drain until the credits are spent
	// and the throughput has settled.
	// +optional
	TimeToBaseline *DurationBounds `json:"timeToBaseline,omitempty"`

	// credits bounds the credits that a burst drain spent, in bytes, or in operations if the bucket
	// counts operations.
	// +optional
	Credits *QuantityBounds `json:"credits,omitempty"`

	// baseline bounds the throughput without credits, in bytes per second.
	// +optional
	Baseline *QuantityBounds `json:"baseline,omitempty"`

	// refill bounds the refill rate of the credits, in bytes per second.
	// +optional
	Refill *QuantityBounds `json:"refill,omitempty"`

	// ratio bounds the ratio of two figures.
	// +optional
	Ratio *RatioObjective `json:"ratio,omitempty"`
}

// CellSelector selects cells of a sweep, or steps of a ramp, by the values of their axes.
//
// +kubebuilder:validation:MinProperties=1
type CellSelector struct {
	// clients is the number of clients of the cell.
	// +optional
	Clients *int32 `json:"clients,omitempty"`
	// jobs is the number of jobs of the cell.
	// +optional
	Jobs *int32 `json:"jobs,omitempty"`
	// queueDepth is the queue depth of the cell.
	// +optional
	QueueDepth *int32 `json:"queueDepth,omitempty"`
	// blockSize is the block size of the cell.
	// +optional
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`
	// readPercent is the percentage of reads of the cell.
	// +optional
	ReadPercent *int32 `json:"readPercent,omitempty"`
}

// QuantityBounds are the bounds of a figure. At least one bound is set.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || ![string(self.min), string(self.max)].all(s, isQuantity(s)) || !quantity(string(self.max)).isLessThan(quantity(string(self.min)))",message="max: cannot be below min; swap the two",fieldPath=".max"
type QuantityBounds struct {
	// min is the smallest accepted value.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && sign(quantity(string(self))) > 0",message="above zero, such as 260M"
	Min *resource.Quantity `json:"min,omitempty"`

	// max is the largest accepted value.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && sign(quantity(string(self))) > 0",message="above zero, such as 260M"
	Max *resource.Quantity `json:"max,omitempty"`
}

// DurationBounds are the bounds of a time. At least one bound is set.
//
// +kubebuilder:validation:MinProperties=1
type DurationBounds struct {
	// min is the shortest accepted time.
	// +optional
	Min *Duration `json:"min,omitempty"`

	// max is the longest accepted time.
	// +optional
	Max *Duration `json:"max,omitempty"`
}

// LatencyObjective bounds a latency.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) || has(self.min)",message="latency: set max, min or both"
type LatencyObjective struct {
	// percentile is the percentile to evaluate, such as 99 or 99.95, or Mean, or Max. A percentile needs at least ten
	// samples above it.
	// +required
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^(Mean|Max|[1-9][0-9]?([.][0-9]{1,4})?)$')",message="percentile: use Mean, Max, or a number from 1 to below 100 with at most four decimals, such as 99.9"
	Percentile string `json:"percentile"`

	// max is the longest accepted latency, such as 250ms or 500us.
	// +optional
	Max *ShortDuration `json:"max,omitempty"`

	// min is the shortest accepted latency. Shorter latencies indicate a cache.
	// +optional
	Min *ShortDuration `json:"min,omitempty"`
}

// RatioObjective bounds the ratio of two figures.
//
// +kubebuilder:validation:XValidation:rule="has(self.minPercent) || has(self.maxPercent)",message="ratio: set minPercent, maxPercent or both"
type RatioObjective struct {
	// of selects the ratio: Documented is the throughput as a percentage of the documented baseline, DocumentedBurst as
	// a percentage of the documented burst. Compression is the size of the data as a percentage of the space that it
	// occupies.
	// +required
	// +kubebuilder:validation:Enum=Documented;DocumentedBurst;Compression
	Of string `json:"of"`

	// minPercent is the smallest accepted ratio.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MinPercent *int32 `json:"minPercent,omitempty"`

	// maxPercent is the largest accepted ratio.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxPercent *int32 `json:"maxPercent,omitempty"`
}

// Verdict is the outcome of an objective.
//
// +kubebuilder:validation:Enum=Met;Missed;Unknown
type Verdict string

// Values of Verdict.
const (
	// VerdictMet: the figure is within its bounds for every target and cell.
	VerdictMet Verdict = "Met"
	// VerdictMissed: the figure is outside its bounds for at least one target or cell.
	VerdictMissed Verdict = "Missed"
	// VerdictUnknown: the figure is absent, for example because a percentile has too few samples.
	VerdictUnknown Verdict = "Unknown"
)

// ObjectiveResult is the verdict on one objective.
type ObjectiveResult struct {
	// name is the name of the objective.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// figure is the evaluated figure and where it was measured, such as "p99.9 latency of random-reads".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure,omitempty"`

	// verdict is Met, Missed or Unknown.
	// +required
	Verdict Verdict `json:"verdict"`

	// unit is the unit of observed and required.
	// +optional
	// +kubebuilder:validation:Enum=BytesPerSecond;IOPSMilli;Nanoseconds;Permille;Bytes;Operations
	Unit string `json:"unit,omitempty"`

	// observed is the measured value, in unit.
	// +optional
	Observed *int64 `json:"observed,omitempty"`

	// required is the bound on observed, in unit.
	// +optional
	Required *int64 `json:"required,omitempty"`

	// message states the verdict in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
