package claims

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Modes returns the access modes of the claim's volume if the claim is bound, otherwise the modes that the claim
// requests.
func Modes(claim *corev1.PersistentVolumeClaim) []corev1.PersistentVolumeAccessMode {
	if len(claim.Status.AccessModes) > 0 {
		return claim.Status.AccessModes
	}
	return claim.Spec.AccessModes
}

// OneNode reports whether all pods that use a claim must run on one node. ReadOnlyMany allows several nodes only if the
// claim is mounted read-only.
func OneNode(modes []corev1.PersistentVolumeAccessMode, writable bool) bool {
	return len(modes) > 0 && !slices.ContainsFunc(modes, func(mode corev1.PersistentVolumeAccessMode) bool {
		return mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany && !writable
	})
}

// OnePod reports whether only one pod may use the claim.
func OnePod(modes []corev1.PersistentVolumeAccessMode) bool {
	return slices.Contains(modes, corev1.ReadWriteOncePod)
}

// ReadOnly reports whether the claim must not be written to. modes are the access modes that the claim requests. Its
// volume may support more.
func ReadOnly(modes []corev1.PersistentVolumeAccessMode) bool {
	return len(modes) > 0 && !slices.ContainsFunc(modes, func(mode corev1.PersistentVolumeAccessMode) bool {
		return mode != corev1.ReadOnlyMany
	})
}

// words joins modes for messages, such as "ReadWriteOnce or ReadOnlyMany".
func words(modes []corev1.PersistentVolumeAccessMode) string {
	var all []string
	for _, mode := range modes {
		all = append(all, string(mode))
	}
	return strings.Join(all, " or ")
}
