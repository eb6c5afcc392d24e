package discover_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/internal/discover"
)

// TestBound checks that a claim owns the volume that it names only if the cluster has bound the two to each other.
func TestBound(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume)
		want   bool
	}{
		"bound": {func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {}, true},
		"not bound yet": {func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Status.Phase = corev1.ClaimPending
		}, false},
		"lost": {func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.Status.Phase = corev1.ClaimLost }, false},
		"another volume": {func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Spec.VolumeName = "pv-2"
		}, false},
		"a volume of nobody": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil }, false},
		"a volume of another namespace": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.ClaimRef.Namespace = "theirs"
		}, false},
		"a volume of another claim": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.ClaimRef.Name = "other"
		}, false},
		"a volume of a claim that had the name before": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.ClaimRef.UID = "old"
		}, false},
		"a volume that is reserved for the name": {func(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			c.UID, v.Spec.ClaimRef.UID = "", ""
		}, false},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "mine", Name: "data", UID: "uid"},
			Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: "pv-1"},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}, Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "mine", Name: "data", UID: "uid"}}}
		test.change(claim, volume)
		if got := discover.Bound(claim, volume); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestProvisioned checks that a volume does not count as provisioned for a claim if it is older than the claim or was
// created by hand.
func TestProvisioned(t *testing.T) {
	now := metav1.Now()
	before, after := metav1.NewTime(now.Add(-time.Hour)), metav1.NewTime(now.Add(time.Second))
	for name, test := range map[string]struct {
		by      string
		created metav1.Time
		want    bool
	}{
		"provisioned":                {"ebs.csi.aws.com", after, true},
		"in the second of the claim": {"ebs.csi.aws.com", now, true},
		"for an earlier claim":       {"ebs.csi.aws.com", before, false},
		"by hand":                    {"", after, false},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: now}}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: test.created,
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": test.by}}}
		if got := discover.Provisioned(claim, volume); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestAdoptable checks which volumes the cluster may bind to a claim.
func TestAdoptable(t *testing.T) {
	none, gold := "", "gold"
	block := corev1.PersistentVolumeBlock
	for name, test := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume)
		want   bool
	}{
		"the same class": {func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {}, true},
		"no class, and a cluster without a default": {func(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			c.Spec.StorageClassName, v.Spec.StorageClassName = nil, ""
		}, true},
		"an empty class": {func(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			c.Spec.StorageClassName, v.Spec.StorageClassName = &none, ""
		}, true},
		"another class": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.StorageClassName = "slow" }, false},
		"too small": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("1Gi")
		}, false},
		"other access modes": {func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Spec.AccessModes = append(c.Spec.AccessModes, corev1.ReadOnlyMany)
		}, false},
		"a device": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.VolumeMode = &block }, false},
		"other attributes": {func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Spec.VolumeAttributesClassName = &gold
		}, false},
		"released": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Status.Phase = corev1.VolumeReleased
		}, false},
		"being deleted": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			now := metav1.Now()
			v.DeletionTimestamp = &now
		}, false},
		"reserved for this claim": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.ClaimRef, v.Spec.StorageClassName = &corev1.ObjectReference{Namespace: "mine", Name: "data"}, "slow"
		}, true},
		"reserved for another claim": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "theirs", Name: "data"}
		}, false},
		"bound": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "mine", Name: "data", UID: "uid"}
		}, false},
	} {
		class, modes := "fast", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		size := func(text string) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "mine", Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: modes,
				Resources: corev1.VolumeResourceRequirements{Requests: size("10Gi")}}}
		volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{StorageClassName: class, AccessModes: modes, Capacity: size("10Gi")},
			Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}
		test.change(claim, volume)
		if got := discover.Adoptable(claim, volume); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
