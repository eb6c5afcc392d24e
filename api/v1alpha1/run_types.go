package v1alpha1

// RunSpec is the part of the spec that is frozen when a run is created: which targets to measure, with which clients
// and workloads, and in which phases. Its hash identifies what was run.
//
// +kubebuilder:validation:XValidation:rule="self.targets.all(a, self.targets.exists_one(b, b.name == a.name))",message="targets: names must differ; rename one",fieldPath=".targets"
// +kubebuilder:validation:XValidation:rule="self.phases.all(a, self.phases.exists_one(b, b.name == a.name))",message="phases: names must differ, because results refer to them; rename one",fieldPath=".phases"
// +kubebuilder:validation:XValidation:rule="has(self.workload) || self.phases.all(p, has(p.workload) || (has(p.cooldown) && !has(p.cooldown.redrain)) || (has(p.targetWorkloads) && self.targets.all(t, p.targetWorkloads.exists(w, w.target == t.name))))",message="workload: every phase needs one; set run.workload, or workload in each phase"
// +kubebuilder:validation:XValidation:rule="self.phases.all(p, !has(p.targetWorkloads) || p.targetWorkloads.all(w, self.targets.exists(t, t.name == w.target)))",message="phases: targetWorkloads[].target must be the name of one of run.targets; correct the name",fieldPath=".phases"
// +kubebuilder:validation:XValidation:rule="self.phases.all(p, !has(p.ramp) || p.ramp.dimension != 'Clients' || p.ramp.steps.all(s, s <= self.clients.count))",message="phases: a ramp of Clients cannot go above clients.count; raise clients.count or lower ramp.steps",fieldPath=".phases"
// +kubebuilder:validation:XValidation:rule="self.phases.all(p, !has(p.sweep) || !has(p.sweep.axes.clients) || p.sweep.axes.clients.all(s, s <= self.clients.count))",message="phases: a sweep of clients cannot go above clients.count; raise clients.count or lower sweep.axes.clients",fieldPath=".phases"
// +kubebuilder:validation:XValidation:rule="self.targets.size() * self.clients.count <= 1000",message="clients.count: at most 1000 clients per run, over all targets; use fewer clients or fewer targets",fieldPath=".clients.count"
// +kubebuilder:validation:XValidation:rule="self.targets.map(t, !has(t.volumes) ? 0 : t.volumes.map(v, !has(v.claimTemplate) ? 0 : has(v.claimTemplate.scope) && v.claimTemplate.scope == 'PerClient' ? self.clients.count : 1).sum()).sum() <= 1000",message="targets: at most 1000 claims are created per run, over all clients; use fewer clients, fewer volumes, or claimTemplate.scope Shared",fieldPath=".targets"
// +kubebuilder:validation:XValidation:rule="self.clients.onLoss != 'ContinueDegraded' || ((!has(self.workload) || !(has(self.workload.ior) || has(self.workload.mdtest))) && self.phases.all(p, !has(p.workload) || !(has(p.workload.ior) || has(p.workload.mdtest))))",message="clients.onLoss: an MPI job cannot continue without a rank; use RestartStep or FailRun",fieldPath=".clients.onLoss"
// +kubebuilder:validation:XValidation:rule="!has(self.observations) || self.observations.all(a, self.observations.exists_one(b, b.name == a.name))",message="observations: names must differ; rename one",fieldPath=".observations"
// +kubebuilder:validation:XValidation:rule="!has(self.observations) || self.observations.all(o, (!has(o.creditsOf) || self.targets.exists(t, t.name == o.creditsOf)) && (!has(o.phases) || o.phases.all(n, self.phases.exists(p, p.name == n))))",message="observations: creditsOf must be the name of one of run.targets, and phases those of run.phases; correct the name",fieldPath=".observations"
type RunSpec struct {
	// targets are the storage systems to measure. With several targets, the mode of each phase
	// determines whether they are measured together or one after the other.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Targets []Target `json:"targets"`

	// clients are the pods that load each target.
	// +optional
	// +kubebuilder:default={}
	Clients Clients `json:"clients,omitzero"`

	// workload is the workload of each phase that does not set its own.
	// +optional
	Workload *Workload `json:"workload,omitempty"`

	// phases are the phases of the run, in order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Phases []Phase `json:"phases"`

	// observations are PromQL queries that are evaluated over the time of each step. They do not
	// change what is run, so the hash of spec.run does not include them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Observations []Observation `json:"observations,omitempty"`

	// startTimeout is the maximum time for the clients to become ready.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; use a time such as 10m"
	StartTimeout Duration `json:"startTimeout,omitempty"`

	// orphanTimeout is the time that agents wait without contact with the operator before they clean up and exit. The time
	// counts from the last contact or the deadline of the running step, whichever is later.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; use a time such as 1h"
	OrphanTimeout Duration `json:"orphanTimeout,omitempty"`

	// activeDeadline is the time limit of the run, at most seven days (168h), counted from the creation of its pods.
	// +optional
	// +kubebuilder:default="48h"
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; use a time such as 48h"
	ActiveDeadline Duration `json:"activeDeadline,omitempty"`
}

// Limits on the size of a run, because a single operator process conducts it.
const (
	// MaxRunClients limits the number of clients, over all targets.
	MaxRunClients = 1000
	// MaxRunClaims limits the number of claims that are created from claim templates.
	MaxRunClaims = 1000
)
