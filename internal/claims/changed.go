package claims

import (
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Changed returns the first difference between an existing claim and what its template now requests, or nil if there is
// none. A storage class or volume name that the template does not set is not compared, because the cluster fills in
// these fields of the claim.
func Changed(at *field.Path, there *corev1.PersistentVolumeClaim, wanted *corev1.PersistentVolumeClaimSpec) *field.Error {
	at = at.Child("spec")
	differs := func(where *field.Path, want, have any) *field.Error {
		return field.Invalid(where, want, fmt.Sprintf(
			"claim %s, kept from an earlier run of the benchmark, has %v: use that value, rename the volume, or delete the claim and its data "+
				"to make the next run create a new one", there.Name, have))
	}
	if wanted.StorageClassName != nil && ptr.Deref(there.Spec.StorageClassName, "") != *wanted.StorageClassName {
		return differs(at.Child("storageClassName"), *wanted.StorageClassName, quoted(ptr.Deref(there.Spec.StorageClassName, "")))
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
	if wanted.VolumeAttributesClassName != nil && ptr.Deref(there.Spec.VolumeAttributesClassName, "") != *wanted.VolumeAttributesClassName {
		return differs(at.Child("volumeAttributesClassName"), *wanted.VolumeAttributesClassName, quoted(ptr.Deref(there.Spec.VolumeAttributesClassName, "")))
	}
	if wanted.VolumeName != "" && there.Spec.VolumeName != wanted.VolumeName {
		return differs(at.Child("volumeName"), wanted.VolumeName, quoted(there.Spec.VolumeName))
	}
	if want, have := source(wanted), source(&there.Spec); want != have {
		return differs(at.Child("dataSource"), quoted(want), quoted(have))
	}
	labels := metav1.FormatLabelSelector
	if want, have := labels(wanted.Selector), labels(there.Spec.Selector); want != have {
		return differs(at.Child("selector"), want, have)
	}
	return nil
}

// source returns the kind and the name of the object from which a claim's volume is populated, or "" if there is none.
// The API server copies dataSource to dataSourceRef, and drops a dataSource that is neither a claim nor a snapshot.
func source(spec *corev1.PersistentVolumeClaimSpec) string {
	ref := spec.DataSourceRef
	if old := spec.DataSource; ref == nil && old != nil {
		ref = &corev1.TypedObjectReference{APIGroup: old.APIGroup, Kind: old.Kind, Name: old.Name}
	}
	if ref == nil {
		return ""
	}
	kind := schema.GroupKind{Group: ptr.Deref(ref.APIGroup, ""), Kind: ref.Kind}.String()
	if spec.DataSourceRef == nil && kind != "PersistentVolumeClaim" && kind != "VolumeSnapshot.snapshot.storage.k8s.io" {
		return ""
	}
	return kind + " " + path.Join(ptr.Deref(ref.Namespace, ""), ref.Name)
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

func quoted(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// Raw reports whether a claim is a raw block device.
func Raw(spec *corev1.PersistentVolumeClaimSpec) bool {
	return modeOf(spec.VolumeMode) == corev1.PersistentVolumeBlock
}
