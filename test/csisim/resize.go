package csisim

import (
	"context"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// looking is the interval at which claims are checked for larger sizes and other classes.
const looking = 2 * time.Second

// Resize takes the place of external-resizer: volumes grow with their claims and follow changes of a claim's
// VolumeAttributesClass. It returns when the context ends.
func (d *Driver) Resize(ctx context.Context, client kubernetes.Interface) error {
	ticker := time.NewTicker(looking)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := d.resizeAll(ctx, client); err != nil && ctx.Err() == nil {
			d.Log.Warn("Looking for claims that have changed", "driver", d.Name, "error", err)
		}
	}
}

func (d *Driver) resizeAll(ctx context.Context, client kubernetes.Interface) error {
	all, err := d.home.all()
	if err != nil || len(all) == 0 {
		return err
	}
	objects, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing volumes: %w", err)
	}
	for i := range objects.Items {
		object := &objects.Items[i]
		if object.Spec.CSI == nil || object.Spec.CSI.Driver != d.Name || object.Status.Phase != corev1.VolumeBound {
			continue
		}
		if err := d.resize(ctx, client, object); err != nil {
			d.Log.Warn("Changing a volume", "driver", d.Name, "volume", object.Name, "error", err)
		}
	}
	return nil
}

// resize changes a volume to what its claim asks for.
func (d *Driver) resize(ctx context.Context, client kubernetes.Interface, object *corev1.PersistentVolume) error {
	reference := object.Spec.ClaimRef
	claim, err := client.CoreV1().PersistentVolumeClaims(reference.Namespace).Get(ctx, reference.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the claim: %w", err)
	}
	p := provisioner{driver: d, client: client}
	changed := false
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if wanted.Cmp(object.Spec.Capacity[corev1.ResourceStorage]) > 0 {
		response, err := d.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{
			VolumeId: object.Spec.CSI.VolumeHandle, CapacityRange: &csi.CapacityRange{RequiredBytes: wanted.Value()},
		})
		if err != nil {
			return err
		}
		object.Spec.Capacity[corev1.ResourceStorage] = *resource.NewQuantity(response.GetCapacityBytes(), resource.BinarySI)
		changed = true
	}
	if class := claim.Spec.VolumeAttributesClassName; class != nil && *class != "" && !same(class, object.Spec.VolumeAttributesClassName) {
		mutable, err := p.mutable(ctx, claim)
		if err != nil {
			return err
		}
		if _, err := d.ControllerModifyVolume(ctx, &csi.ControllerModifyVolumeRequest{
			VolumeId: object.Spec.CSI.VolumeHandle, MutableParameters: mutable,
		}); err != nil {
			return err
		}
		object.Spec.VolumeAttributesClassName = class
		changed = true
	}
	if changed {
		if object, err = client.CoreV1().PersistentVolumes().Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("noting the change: %w", err)
		}
	}
	return noteOnClaim(ctx, client, claim, object)
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// noteOnClaim writes the volume's capacity and class into the claim's status. The node has nothing left to do.
func noteOnClaim(ctx context.Context, client kubernetes.Interface, claim *corev1.PersistentVolumeClaim, object *corev1.PersistentVolume) error {
	capacity := object.Spec.Capacity[corev1.ResourceStorage]
	if claim.Status.Phase != corev1.ClaimBound ||
		capacity.Cmp(claim.Status.Capacity[corev1.ResourceStorage]) == 0 &&
			same(claim.Status.CurrentVolumeAttributesClassName, object.Spec.VolumeAttributesClassName) {
		return nil
	}
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: capacity}
	claim.Status.CurrentVolumeAttributesClassName = object.Spec.VolumeAttributesClassName
	if _, err := client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("noting the change on claim %s: %w", claim.Name, err)
	}
	return nil
}
