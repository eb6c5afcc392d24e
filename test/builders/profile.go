package builders

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Profile returns a WorkloadProfile.
func Profile(namespace, name string, fio *FioBuilder) *v1alpha1.WorkloadProfile {
	return &v1alpha1.WorkloadProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.WorkloadProfileKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.WorkloadProfileSpec{Engine: fio.Engine()},
	}
}

// ClusterProfile returns a ClusterWorkloadProfile.
func ClusterProfile(name string, fio *FioBuilder) *v1alpha1.ClusterWorkloadProfile {
	return &v1alpha1.ClusterWorkloadProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.ClusterWorkloadProfileKind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.WorkloadProfileSpec{Engine: fio.Engine()},
	}
}
