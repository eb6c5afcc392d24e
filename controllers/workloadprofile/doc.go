// Package workloadprofile reports whether the tool can run a WorkloadProfile or ClusterWorkloadProfile, before any
// benchmark refers to it.
//
// Admission checks the form of a profile. Only the engine can check its meaning, for example whether options exclude
// each other or a section of a job file lacks a size. The controller therefore renders the profile as the plan of a run
// would. The result is the Ready condition, which follows kstatus:
//
//	can be run      Ready=True
//	cannot be run   Ready=False  Stalled=True   the message names the field and the remedy
//
// Nothing depends on the condition. When a run starts, it is planned from the current contents of the profile.
//
// +kubebuilder:rbac:groups=storagebench.dev,resources=workloadprofiles;clusterworkloadprofiles,verbs=list;watch
// +kubebuilder:rbac:groups=storagebench.dev,resources=workloadprofiles/status;clusterworkloadprofiles/status,verbs=patch
package workloadprofile
