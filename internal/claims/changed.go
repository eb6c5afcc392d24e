package claims

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Changed says in what a claim that was made before differs from what its template asks for now. What the template
// leaves open is whatever the cluster has filled in. Nil where nothing differs.
func Changed(at *field.Path, there *corev1.PersistentVolumeClaim, wanted *corev1.PersistentVolumeClaimSpec) *field.Error {
	at = at.Child("spec")
	differs := func(path *field.Path, want, have any) *field.Error {
		return field.Invalid(path, want, fmt.Sprintf(
			"the claim %s, which was made for the benchmark before and is kept for its next runs, has %v: write that, or delete the claim and its data, "+
				"so that the next run makes it anew, or give the volume another name", there.Name, have))
	}
	if wanted.StorageClassName != nil && value(there.Spec.StorageClassName) != *wanted.StorageClassName {
		return differs(at.Child("storageClassName"), *wanted.StorageClassName, quoted(value(there.Spec.StorageClassName)))
	}
	if !sameModes(there.Spec.AccessModes, wanted.AccessModes) {
		return differs(at.Child("accessModes"), words(wanted.AccessModes), words(there.Spec.AccessModes))
	}
	want, have := wanted.Resources.Requests[corev1.ResourceStorage], there.Spec.Resources.Requests[corev1.ResourceStorage]
	if want.Cmp(have) != 0 {
		return differs(at.Child("resources", "requests", "storage"), want.String(), have.String())
	}
	if mode := modeOf(wanted.VolumeMode); mode != modeOf(there.Spec.VolumeMode) {
		return differs(at.Child("volumeMode"), string(mode), string(modeOf(there.Spec.VolumeMode)))
	}
	if wanted.VolumeAttributesClassName != nil && value(there.Spec.VolumeAttributesClassName) != *wanted.VolumeAttributesClassName {
		return differs(at.Child("volumeAttributesClassName"), *wanted.VolumeAttributesClassName, quoted(value(there.Spec.VolumeAttributesClassName)))
	}
	if wanted.VolumeName != "" && there.Spec.VolumeName != wanted.VolumeName {
		return differs(at.Child("volumeName"), wanted.VolumeName, quoted(there.Spec.VolumeName))
	}
	return nil
}

func sameModes(a, b []corev1.PersistentVolumeAccessMode) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(mode corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(b, mode) })
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

func quoted(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// Raw says that a claim is a raw device.
func Raw(spec *corev1.PersistentVolumeClaimSpec) bool {
	return modeOf(spec.VolumeMode) == corev1.PersistentVolumeBlock
}
