package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Observation is a PromQL query that is evaluated over the time of each step. The answers are stored with the result.
// The operator's --prometheus-url flag, or a local run's --prometheus flag, sets the server to query.
type Observation struct {
	// name is the name of the observation.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="use lower-case letters, digits and dashes only, beginning and ending with a letter or a digit"
	Name string `json:"name"`

	// query is the PromQL query. It must return a vector or a scalar. At most eight of the returned series are kept per
	// step; use sum or topk to return fewer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`

	// unit is the unit of the values, as reports show it.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Unit string `json:"unit,omitempty"`

	// phases are the phases that are observed. Defaults to all phases.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=40
	Phases []string `json:"phases,omitempty"`

	// creditsOf is the target whose burst credits the query returns, in percent of a full bucket. The answer then
	// supplies the fill level at the start of a drain, and removes the warning that this level is unknown.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	CreditsOf string `json:"creditsOf,omitempty"`
}

// Observations are the answers to spec.run.observations.
type Observations struct {
	// evaluatedTime is the time at which the answers were recorded.
	// +optional
	EvaluatedTime *metav1.MicroTime `json:"evaluatedTime,omitempty"`

	// series are the answers: one entry for each time series that an observation returned for a step. The values over time
	// are stored with the run's time series.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Series []ObservedSeries `json:"series,omitempty"`

	// omitted is the number of entries that did not fit into the status.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
}

// ObservedSeries is one series of an observation over the measured time of a step. Values are stored as decimal text,
// because PromQL values are floating-point numbers.
type ObservedSeries struct {
	// observation is the name of the observation.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Observation string `json:"observation"`

	// step is the ID of the step.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Step string `json:"step"`

	// labels are the labels of the series, in PromQL's notation.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Labels string `json:"labels,omitempty"`

	// points is the number of values.
	// +required
	Points int32 `json:"points"`

	// first is the first value.
	// +required
	// +kubebuilder:validation:MaxLength=32
	First string `json:"first"`

	// last is the last value.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Last string `json:"last"`

	// min is the lowest value.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Min string `json:"min"`

	// mean is the mean over time.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Mean string `json:"mean"`

	// max is the highest value.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Max string `json:"max"`

	// missingSeconds is the time without a value, rounded up.
	// +optional
	MissingSeconds int64 `json:"missingSeconds,omitempty"`

	// resets is the number of counter resets.
	// +optional
	Resets int32 `json:"resets,omitempty"`
}

// MaxObservedSeries is the maximum number of entries in status.observations.series.
const MaxObservedSeries = 256
