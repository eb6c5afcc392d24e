package v1alpha1

// RunSpec is all that a run freezes: what is measured, from where, with which
// workload, in which order. Its hash is the identity of a run.
//
// +kubebuilder:validation:XValidation:rule="self.targets.all(a, self.targets.exists_one(b, b.name == a.name))",message="targets: names must differ; rename one",fieldPath=".targets"
// +kubebuilder:validation:XValidation:rule="self.phases.all(a, self.phases.exists_one(b, b.name == a.name))",message="phases: names must differ, since results are told apart by them; rename one",fieldPath=".phases"
// +kubebuilder:validation:XValidation:rule="has(self.workload) || self.phases.all(p, has(p.workload) || (has(p.cooldown) && !has(p.cooldown.redrain)) || has(p.provision) || (has(p.targetWorkloads) && self.targets.all(t, p.targetWorkloads.exists(w, w.target == t.name))))",message="workload: every phase needs one; give run.workload, or a workload to each phase"
// +kubebuilder:validation:XValidation:rule="self.phases.all(p, !has(p.targetWorkloads) || p.targetWorkloads.all(w, self.targets.exists(t, t.name == w.target)))",message="phases: targetWorkloads[].target must be the name of one of run.targets; correct the name",fieldPath=".phases"
// +kubebuilder:validation:XValidation:rule="self.phases.all(p, !has(p.ramp) || p.ramp.dimension != 'Clients' || p.ramp.steps.all(s, s <= self.clients.count))",message="phases: a ramp of Clients cannot go above clients.count; raise clients.count or lower ramp.steps",fieldPath=".phases"
// +kubebuilder:validation:XValidation:rule="self.phases.all(p, !has(p.sweep) || !has(p.sweep.axes.clients) || p.sweep.axes.clients.all(s, s <= self.clients.count))",message="phases: a sweep of clients cannot go above clients.count; raise clients.count or lower sweep.axes.clients",fieldPath=".phases"
// +kubebuilder:validation:XValidation:rule="self.clients.onLoss != 'ContinueDegraded' || ((!has(self.workload) || !(has(self.workload.ior) || has(self.workload.mdtest))) && self.phases.all(p, !has(p.workload) || !(has(p.workload.ior) || has(p.workload.mdtest))))",message="clients.onLoss: an MPI job cannot go on without a rank; use RestartStep or FailRun",fieldPath=".clients.onLoss"
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
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') || duration(self) >= duration('1s')",message="at least 1s; write a longer time such as 10m"
	StartTimeout Duration `json:"startTimeout,omitempty"`

	// orphanTimeout is how long agents that hear from nobody keep waiting
	// before they clean up and exit. It counts from the later of the last
	// contact and the deadline of the live step.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') || duration(self) >= duration('1s')",message="at least 1s; write a longer time such as 1h"
	OrphanTimeout Duration `json:"orphanTimeout,omitempty"`

	// activeDeadline ends the run whatever it does, counted from the moment
	// its pods are created. At most seven days (168h).
	// +optional
	// +kubebuilder:default="48h"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') || duration(self) >= duration('1s')",message="at least 1s; write a longer time such as 48h"
	ActiveDeadline Duration `json:"activeDeadline,omitempty"`
}
