// Package workloadprofile tells whoever applies a WorkloadProfile or ClusterWorkloadProfile whether the
// tool can run it, before any benchmark refers to it.
//
// Admission knows the form of a profile. What the tool makes of it (options that exclude each other, a
// section of a job file without a size) is only known to the engine, which here renders the profile
// as the plan of a run would. The answer is the condition Ready, by the rules of kstatus:
//
//	can be run      Ready=True
//	cannot be run   Ready=False  Stalled=True   the message names the field and the remedy
//
// Nothing depends on the condition: a run plans with what the profile holds when it starts.
//
// +kubebuilder:rbac:groups=storagebench.dev,resources=workloadprofiles;clusterworkloadprofiles,verbs=list;watch
// +kubebuilder:rbac:groups=storagebench.dev,resources=workloadprofiles/status;clusterworkloadprofiles/status,verbs=patch
package workloadprofile
