package builders

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// ClaimSpec returns the specification of a claim of the default storage class.
func ClaimSpec(mode corev1.PersistentVolumeAccessMode, size string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{mode},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}
}

// Template makes the last target create its claims instead of using an existing one.
func (b *BenchmarkBuilder) Template(scope v1alpha1.ClaimScope, lifetime v1alpha1.ClaimLifetime, spec corev1.PersistentVolumeClaimSpec) *BenchmarkBuilder {
	targets := b.benchmark.Spec.Run.Targets
	volume := &targets[len(targets)-1].Volumes[0]
	volume.ClaimName, volume.ClaimTemplate = "", &v1alpha1.ClaimTemplate{Scope: scope, Lifetime: lifetime, Spec: spec}
	return b
}

// Spread sets how clients are spread over nodes.
func (b *BenchmarkBuilder) Spread(spread v1alpha1.Spread) *BenchmarkBuilder {
	b.benchmark.Spec.Run.Clients.Spread = spread
	return b
}
