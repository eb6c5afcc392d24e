package v1alpha1

// RunSpec is all that a run freezes: what is measured, from where, with which
// workload, in which order. Its hash is the identity of a run.
type RunSpec struct {
	// targets are the storage to measure. With several, each phase says
	// whether they are measured together or one after the other.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Targets []Target `json:"targets"`

	// clients are the pods that load each target.
	// +optional
	// +kubebuilder:default={}
	Clients Clients `json:"clients,omitzero"`

	// workload of every phase that names none of its own.
	// +optional
	Workload *Workload `json:"workload,omitempty"`

	// phases are run in this order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Phases []Phase `json:"phases"`

	// startTimeout is how long the clients may take to be ready.
	// +optional
	// +kubebuilder:default="10m"
	StartTimeout Duration `json:"startTimeout,omitempty"`

	// orphanTimeout is how long agents that hear from nobody keep waiting
	// before they clean up and exit. It counts from the later of the last
	// contact and the deadline of the live step.
	// +optional
	// +kubebuilder:default="1h"
	OrphanTimeout Duration `json:"orphanTimeout,omitempty"`

	// activeDeadline ends the run whatever it does, counted from the moment
	// its pods are created. At most seven days (168h).
	// +optional
	// +kubebuilder:default="48h"
	ActiveDeadline Duration `json:"activeDeadline,omitempty"`
}
