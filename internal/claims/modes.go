package claims

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Modes are the access modes of a claim: those of its volume where it is bound, else those that it asks for.
func Modes(claim *corev1.PersistentVolumeClaim) []corev1.PersistentVolumeAccessMode {
	if len(claim.Status.AccessModes) > 0 {
		return claim.Status.AccessModes
	}
	return claim.Spec.AccessModes
}

// OneNode says that all pods of a claim have to be on one node. A claim that many nodes may read only is for those
// that only read.
func OneNode(modes []corev1.PersistentVolumeAccessMode, writes bool) bool {
	return len(modes) > 0 && !slices.ContainsFunc(modes, func(mode corev1.PersistentVolumeAccessMode) bool {
		return mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany && !writes
	})
}

// OnePod says that one pod only may use the claim.
func OnePod(modes []corev1.PersistentVolumeAccessMode) bool {
	return slices.Contains(modes, corev1.ReadWriteOncePod)
}

// ReadOnly says that nothing may be written to the claim. Modes are those that the claim itself asks for: a volume
// may be able to do more.
func ReadOnly(modes []corev1.PersistentVolumeAccessMode) bool {
	return len(modes) > 0 && !slices.ContainsFunc(modes, func(mode corev1.PersistentVolumeAccessMode) bool {
		return mode != corev1.ReadOnlyMany
	})
}

// words are modes as a sentence has them.
func words(modes []corev1.PersistentVolumeAccessMode) string {
	var all []string
	for _, mode := range modes {
		all = append(all, string(mode))
	}
	return strings.Join(all, " or ")
}
