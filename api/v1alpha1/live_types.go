package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LiveFigures show the current activity of the running step. They are for display only. They cover everything that the
// clients have reported so far, including the warm-up, and are removed when the run ends.
type LiveFigures struct {
	// step is the ID of the running step.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Step string `json:"step"`

	// time is the time at which the figures were computed.
	// +required
	Time metav1.MicroTime `json:"time"`

	// clients is the number of clients that generate load, over all targets.
	// +optional
	Clients int32 `json:"clients"`

	// operations are the current rates, summed over all clients.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Operations []LiveOperation `json:"operations,omitempty"`

	// targets are the targets of the step.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Targets []LiveTarget `json:"targets,omitempty"`

	// points show the progress of the step since its start. The longer the step runs, the further apart the points are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=48
	Points []LivePoint `json:"points,omitempty"`
}

// LiveOperation holds the current rates of one kind of operation, from the newest sample of each
// client. A sample covers about a second.
type LiveOperation struct {
	// operation is the kind of operation.
	// +required
	Operation Operation `json:"operation"`
	// bytesPerSecond is the throughput of all clients.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// operationsPerSecond is the rate of all clients.
	// +optional
	OperationsPerSecond int64 `json:"operationsPerSecond"`
	// meanNanoseconds is the mean latency, from submission to completion. Unset during a warm-up, and for tools that do
	// not report it while they run.
	// +optional
	MeanNanoseconds *int64 `json:"meanNanoseconds,omitempty"`
}

// LiveTarget holds the current figures of one target.
type LiveTarget struct {
	// target is the name of the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`
	// bytesPerSecond is the throughput of all clients of the target.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// creditPercent is the estimated fill level of the credit bucket, in percent. Unset if the limits are unknown.
	// +optional
	CreditPercent *int32 `json:"creditPercent,omitempty"`
}

// LivePoint is the progress of a step at an instant.
type LivePoint struct {
	// milliseconds is the time since the start of the step.
	// +required
	Milliseconds int64 `json:"milliseconds"`
	// bytes is the number of bytes moved since the start of the step, over all clients.
	// +optional
	Bytes int64 `json:"bytes"`
	// operations is the number of operations completed since the start of the step, over all
	// clients, without syncs.
	// +optional
	Operations int64 `json:"operations"`
}
