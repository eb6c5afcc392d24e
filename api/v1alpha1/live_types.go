package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LiveFigures are what the running step does at present, for who looks on. They are no results: they hold what
// clients have told so far, warm-up included, and are gone when the run has ended.
type LiveFigures struct {
	// step that runs.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Step string `json:"step"`

	// time at which the figures were taken.
	// +required
	Time metav1.MicroTime `json:"time"`

	// clients that load at present, over all targets.
	// +optional
	Clients int32 `json:"clients"`

	// operations at present, summed over all clients.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Operations []LiveOperation `json:"operations,omitempty"`

	// targets of the step.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Targets []LiveTarget `json:"targets,omitempty"`

	// points show the step from its start to now: the longer it goes, the
	// further apart they are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=48
	Points []LivePoint `json:"points,omitempty"`
}

// LiveOperation is one operation at present, by the newest sample of each client, which covers about a second.
type LiveOperation struct {
	// operation that is done.
	// +required
	Operation Operation `json:"operation"`
	// bytesPerSecond of all clients.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// operationsPerSecond of all clients.
	// +optional
	OperationsPerSecond int64 `json:"operationsPerSecond"`
	// meanNanoseconds is the mean latency, from submission to completion.
	// Absent in a warm-up, and of tools that do not tell it while they run.
	// +optional
	MeanNanoseconds *int64 `json:"meanNanoseconds,omitempty"`
}

// LiveTarget is one target at present.
type LiveTarget struct {
	// target is its name.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`
	// bytesPerSecond of all its clients.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// creditPercent is the estimated fill of the bucket, where its limits are known.
	// +optional
	CreditPercent *int32 `json:"creditPercent,omitempty"`
}

// LivePoint is what a step has done until an instant.
type LivePoint struct {
	// milliseconds since the start of the step.
	// +required
	Milliseconds int64 `json:"milliseconds"`
	// bytes read and written since then, over all clients.
	// +optional
	Bytes int64 `json:"bytes"`
	// operations read and written since then, over all clients.
	// +optional
	Operations int64 `json:"operations"`
}
