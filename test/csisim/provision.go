package csisim

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const (
	// identityAttribute is an attribute that external-provisioner adds to every volume.
	identityAttribute = "storage.kubernetes.io/csiProvisionerIdentity"
	// Parameters of a StorageClass that are for the provisioner, not for the driver.
	fileSystemParameter = metadataPrefix + "fstype"
	secretSuffix        = "-secret-name"
	namespaceSuffix     = "-secret-namespace"
)

// provisioner takes the place of external-provisioner.
type provisioner struct {
	driver *Driver
	client kubernetes.Interface
}

var _ controller.BlockProvisioner = provisioner{}

// provisioning returns a controller that creates volumes for claims of the driver's StorageClasses and deletes released
// volumes. Call it before anything else uses an API server: the library registers its types again.
func (d *Driver) provisioning(ctx context.Context, client kubernetes.Interface) (*controller.ProvisionController, error) {
	if err := d.announce(ctx, client); err != nil {
		return nil, err
	}
	return controller.NewProvisionController(ctx, client, d.Name, provisioner{driver: d, client: client},
		controller.LeaderElection(false), controller.Threadiness(4),
		// A volume is released slightly before the kubelet has unmounted it, so the first deletion may fail.
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, 5*time.Second))), nil
}

// announce creates the CSIDriver object, which says that volumes need no attaching.
func (d *Driver) announce(ctx context.Context, client kubernetes.Interface) error {
	no := false
	policy := storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
	_, err := client.StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: d.Name, Labels: map[string]string{SimulationLabel: "csisim"}},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired: &no, PodInfoOnMount: &no, FSGroupPolicy: &policy,
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the CSIDriver of %s: %w", d.Name, err)
	}
	return nil
}

// SimulationLabel marks the CSIDriver objects that csisim creates.
const SimulationLabel = "storagebench.dev/simulation"

// SupportsBlock reports whether volumes can be raw devices.
func (p provisioner) SupportsBlock(context.Context) bool { return p.driver.shape.block }

// Provision creates the volume of a claim.
func (p provisioner) Provision(ctx context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	claim, class := o.PVC, o.StorageClass
	if claim.Spec.Selector != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("claim %s has a selector; there is nothing to select from", claim.Name)
	}
	mutable, err := p.mutable(ctx, claim)
	if err != nil {
		return nil, controller.ProvisioningNoChange, err
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	response, err := p.driver.CreateVolume(ctx, &csi.CreateVolumeRequest{
		Name: o.PVName, CapacityRange: &csi.CapacityRange{RequiredBytes: size.Value()},
		Parameters: driverParameters(class.Parameters, claim, o.PVName), MutableParameters: mutable,
		VolumeCapabilities: capabilitiesOf(claim, class),
	})
	if err != nil {
		return nil, controller.ProvisioningFinished, err // a retry is safe: it finds what the first try has created
	}
	return p.object(o, response.GetVolume()), controller.ProvisioningFinished, nil
}

// mutable returns the parameters of a claim's VolumeAttributesClass.
func (p provisioner) mutable(ctx context.Context, claim *corev1.PersistentVolumeClaim) (map[string]string, error) {
	name := claim.Spec.VolumeAttributesClassName
	if name == nil || *name == "" {
		return nil, nil
	}
	class, err := p.client.StorageV1().VolumeAttributesClasses().Get(ctx, *name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading VolumeAttributesClass %s: %w", *name, err)
	}
	if class.DriverName != p.driver.Name {
		return nil, fmt.Errorf("VolumeAttributesClass %s is for driver %s, not %s", *name, class.DriverName, p.driver.Name)
	}
	return class.Parameters, nil
}

// driverParameters returns the parameters for the driver, and the names of claim and volume as with
// --extra-create-metadata.
func driverParameters(all map[string]string, claim *corev1.PersistentVolumeClaim, volume string) map[string]string {
	parameters := map[string]string{
		metadataPrefix + "pvc/name": claim.Name, metadataPrefix + "pvc/namespace": claim.Namespace, metadataPrefix + "pv/name": volume,
	}
	for name, value := range all {
		if !strings.HasPrefix(name, metadataPrefix) {
			parameters[name] = value
		}
	}
	return parameters
}

func capabilitiesOf(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) []*csi.VolumeCapability {
	modes := map[corev1.PersistentVolumeAccessMode]csi.VolumeCapability_AccessMode_Mode{
		corev1.ReadWriteOnce: csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER, corev1.ReadOnlyMany: csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY,
		corev1.ReadWriteMany:    csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER,
		corev1.ReadWriteOncePod: csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER,
	}
	var all []*csi.VolumeCapability
	for _, mode := range claim.Spec.AccessModes {
		c := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: modes[mode]}}
		if isBlock(claim) {
			c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		} else {
			c.AccessType = &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{
				FsType: class.Parameters[fileSystemParameter], MountFlags: class.MountOptions,
			}}
		}
		all = append(all, c)
	}
	return all
}

func isBlock(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock
}

// object returns the PersistentVolume as external-provisioner would create it.
func (p provisioner) object(o controller.ProvisionOptions, made *csi.Volume) *corev1.PersistentVolume {
	driver := p.driver.Name
	attributes := map[string]string{identityAttribute: fmt.Sprintf("%d-csisim-%s", os.Getpid(), driver)}
	for name, value := range made.GetVolumeContext() {
		attributes[name] = value
	}
	source := &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: made.GetVolumeId(), VolumeAttributes: attributes}
	if !isBlock(o.PVC) {
		source.FSType = or(o.StorageClass.Parameters[fileSystemParameter], p.driver.shape.fileSystem)
	}
	for kind, reference := range map[string]**corev1.SecretReference{
		"node-stage": &source.NodeStageSecretRef, "node-publish": &source.NodePublishSecretRef,
		"controller-expand": &source.ControllerExpandSecretRef,
	} {
		*reference = secretOf(o, kind)
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			MountOptions:                  o.StorageClass.MountOptions,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(made.GetCapacityBytes(), resource.BinarySI)},
			VolumeMode:                    o.PVC.Spec.VolumeMode,
			VolumeAttributesClassName:     o.PVC.Spec.VolumeAttributesClassName,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: source},
		},
	}
}

// secretOf returns the Secret that a StorageClass names for a purpose. The kubelet requires it to exist.
func secretOf(o controller.ProvisionOptions, kind string) *corev1.SecretReference {
	parameters := o.StorageClass.Parameters
	name := parameters[metadataPrefix+kind+secretSuffix]
	if name == "" {
		return nil
	}
	fill := strings.NewReplacer("${pv.name}", o.PVName, "${pvc.name}", o.PVC.Name, "${pvc.namespace}", o.PVC.Namespace)
	return &corev1.SecretReference{
		Name: fill.Replace(name), Namespace: fill.Replace(parameters[metadataPrefix+kind+namespaceSuffix]),
	}
}

// Delete deletes a released volume with its contents.
func (p provisioner) Delete(ctx context.Context, object *corev1.PersistentVolume) error {
	if object.Spec.CSI == nil || object.Spec.CSI.Driver != p.driver.Name {
		return &controller.IgnoredError{Reason: "volume " + object.Name + " is of another driver"}
	}
	_, err := p.driver.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: object.Spec.CSI.VolumeHandle})
	return err
}
