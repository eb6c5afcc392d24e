package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons for a profile's Ready condition when it is True. When Ready is False, the reason is ReasonInvalidWorkload.
const (
	// ReasonValidWorkload: the tool can run the workload.
	ReasonValidWorkload = "ValidWorkload"
)

// WorkloadProfile is a named workload for the benchmarks of its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=wprofile,categories=storagebench
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.status.engine`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type WorkloadProfile struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the workload.
	// +required
	Spec WorkloadProfileSpec `json:"spec"`

	// status reports whether the workload can be run.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status WorkloadProfileStatus `json:"status,omitzero"`
}

// WorkloadProfileList is a list of WorkloadProfiles.
//
// +kubebuilder:object:root=true
type WorkloadProfileList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WorkloadProfile `json:"items"`
}

// ClusterWorkloadProfile is a named workload for the benchmarks of every
// namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cwprofile,categories=storagebench
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.status.engine`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterWorkloadProfile struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the workload.
	// +required
	Spec WorkloadProfileSpec `json:"spec"`

	// status reports whether the workload can be run.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status WorkloadProfileStatus `json:"status,omitzero"`
}

// ClusterWorkloadProfileList is a list of ClusterWorkloadProfiles.
//
// +kubebuilder:object:root=true
type ClusterWorkloadProfileList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterWorkloadProfile `json:"items"`
}

// Engine holds the settings of one tool. Exactly one of the fields is set.
type Engine struct {
	// fio generates I/O of a given shape.
	// +optional
	Fio *FioProfile `json:"fio,omitempty"`

	// ior runs IOR under MPI.
	// +optional
	IOR *IORProfile `json:"ior,omitempty"`

	// mdtest runs mdtest, a metadata benchmark, under MPI.
	// +optional
	Mdtest *MdtestProfile `json:"mdtest,omitempty"`

	// command runs a user-supplied program and measures its I/O.
	// +optional
	Command *CommandProfile `json:"command,omitempty"`
}

// EngineKind is the name of an engine and of its field in Engine.
//
// +kubebuilder:validation:Enum=fio;ior;mdtest;command
type EngineKind string

// Possible values of EngineKind.
const (
	EngineFio     EngineKind = "fio"
	EngineIOR     EngineKind = "ior"
	EngineMdtest  EngineKind = "mdtest"
	EngineCommand EngineKind = "command"
)

// EngineKind returns the engine that is set, or "" if none is set.
func (e *Engine) EngineKind() EngineKind {
	switch {
	case e.Fio != nil:
		return EngineFio
	case e.IOR != nil:
		return EngineIOR
	case e.Mdtest != nil:
		return EngineMdtest
	case e.Command != nil:
		return EngineCommand
	}
	return ""
}

// LimitsRate reports whether the profile limits the rate of the load. The throughput then
// characterizes the storage only if it stays below the limit.
func (e *Engine) LimitsRate() bool { return e.Fio != nil && e.Fio.RateLimit != nil }

// WorkloadProfileSpec is a workload. Exactly one of the engines is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.fio), has(self.ior), has(self.mdtest), has(self.command)].filter(x, x).size() == 1",message="set exactly one engine: fio, ior, mdtest or command"
type WorkloadProfileSpec struct {
	Engine `json:",inline"`
}

// Workload refers to a profile or defines a workload inline. Exactly one of profileRef and the engines is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.profileRef), has(self.fio), has(self.ior), has(self.mdtest), has(self.command)].filter(x, x).size() == 1",message="set exactly one of profileRef, fio, ior, mdtest and command"
type Workload struct {
	// profileRef refers to a profile.
	// +optional
	ProfileRef *ProfileRef `json:"profileRef,omitempty"`

	Engine `json:",inline"`
}

// ProfileRef refers to a profile.
type ProfileRef struct {
	// kind is WorkloadProfile, for a profile in the benchmark's namespace, or ClusterWorkloadProfile. If unset, a
	// WorkloadProfile takes precedence over a ClusterWorkloadProfile.
	// +optional
	// +kubebuilder:validation:Enum=WorkloadProfile;ClusterWorkloadProfile
	Kind string `json:"kind,omitempty"`

	// name is the name of the profile.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// datasetSize replaces the datasetSize of the profile, which must be a fio profile without a jobFile. This lets
	// many storage systems share a profile: the amount of data depends on the system, but the shape of the load does
	// not.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (!s.matches('[kMGTPE]$') || quantity(s).isGreaterThan(quantity('1Pi')) || int(quantity(s).asApproximateFloat()) % 4096 == 0))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes, such as 8Gi'"
	DatasetSize *resource.Quantity `json:"datasetSize,omitempty"`
}

// WorkloadProfileStatus reports whether the workload can be run.
type WorkloadProfileStatus struct {
	// observedGeneration is the generation that the status is based on; -1 before the operator has
	// processed the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain Ready, which is True if the tool can run the workload. Otherwise Ready is False and Stalled is
	// True, and their message names the field and the remedy.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// engine is the engine of the workload.
	// +optional
	Engine EngineKind `json:"engine,omitempty"`
}
