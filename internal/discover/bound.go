package discover

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Bound reports whether a claim is bound to a volume. The volumeName of a claim does not prove that it is bound,
// because a user may write the name of any volume there. The claim's phase and the volume's claimRef are set by the
// cluster.
func Bound(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) bool {
	ref := volume.Spec.ClaimRef
	return claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName == volume.Name &&
		ref != nil && ref.UID != "" && ref.UID == claim.UID && ref.Namespace == claim.Namespace && ref.Name == claim.Name
}

// Provisioned reports whether a claim's volume was provisioned for the claim, and was therefore empty. Any other volume
// existed before it was bound, and may contain data.
func Provisioned(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) bool {
	return volume.Annotations[annotationProvisionedBy] != "" && !volume.CreationTimestamp.Before(&claim.CreationTimestamp)
}

// Adoptable reports whether the cluster would bind a claim without a selector to an existing volume, by the rules of
// Kubernetes. The cluster prefers such a volume even if the claim's StorageClass could provision a new one.
func Adoptable(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) bool {
	wanted, has := &claim.Spec, &volume.Spec
	if volume.DeletionTimestamp != nil || modeOf(wanted.VolumeMode) != modeOf(has.VolumeMode) {
		return false
	}
	if size := has.Capacity[corev1.ResourceStorage]; size.Cmp(wanted.Resources.Requests[corev1.ResourceStorage]) < 0 {
		return false
	}
	// A volume with a claimRef is bound to the claim that it names or, if the UID is missing, reserved for that claim.
	if ref := has.ClaimRef; ref != nil {
		return ref.UID == "" && ref.Namespace == claim.Namespace && ref.Name == claim.Name
	}
	switch volume.Status.Phase {
	case corev1.VolumeBound, corev1.VolumeReleased, corev1.VolumeFailed:
		return false
	case corev1.VolumePending, corev1.VolumeAvailable:
	}
	return has.StorageClassName == value(wanted.StorageClassName) &&
		value(has.VolumeAttributesClassName) == value(wanted.VolumeAttributesClassName) &&
		!slices.ContainsFunc(wanted.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool {
			return !slices.Contains(has.AccessModes, mode)
		})
}

func modeOf(mode *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if mode == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *mode
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
