package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of all kinds in this package.
const Group = "storagebench.dev"

// Version is the API version that this package defines.
const Version = "v1alpha1"

// GroupVersion identifies this API: storagebench.dev/v1alpha1.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// Names of the kinds, for code that handles unstructured objects.
const (
	StorageBenchmarkKind       = "StorageBenchmark"
	WorkloadProfileKind        = "WorkloadProfile"
	ClusterWorkloadProfileKind = "ClusterWorkloadProfile"
	BenchmarkRunKind           = "BenchmarkRun"
)

var (
	// SchemeBuilder collects the functions that AddToScheme runs.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&StorageBenchmark{}, &StorageBenchmarkList{},
		&WorkloadProfile{}, &WorkloadProfileList{},
		&ClusterWorkloadProfile{}, &ClusterWorkloadProfileList{},
		&BenchmarkRun{}, &BenchmarkRunList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
