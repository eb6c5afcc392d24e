package csisim

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestProvisioning checks that a claim gets the PersistentVolume that external-provisioner would create, and that later
// changes of the claim are applied to it.
func TestProvisioning(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounts, which needs root")
	}
	const disk = "disk.csi.azure.com"
	fast := "fast"
	client := fake.NewClientset(&storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: fast}, DriverName: disk,
		Parameters: map[string]string{"DiskIOPSReadWrite": "9000", OverridesParameter: "buckets: [{name: operations, baselinePerSecond: 2000}]"},
	})
	d, err := NewDriver(t.Context(), Options{
		Name: disk, Home: t.TempDir(), Node: "here", Program: []string{"/bin/false"}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	must(t, err)
	p := provisioner{driver: d, client: client}
	must(t, d.announce(t.Context(), client))
	must(t, d.announce(t.Context(), client)) // as after a restart
	object, err := client.StorageV1().CSIDrivers().Get(t.Context(), disk, metav1.GetOptions{})
	must(t, err)
	if *object.Spec.AttachRequired {
		t.Error("nobody attaches volumes, and the CSIDriver asks for it")
	}
	mode, retain := corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeReclaimRetain
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeMode: &mode, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
	o := controller.ProvisionOptions{PVName: "pvc-1", PVC: claim, StorageClass: &storagev1.StorageClass{
		ReclaimPolicy: &retain, MountOptions: []string{"noatime"},
		Parameters: map[string]string{
			"skuName": "Premium_LRS", ScenarioParameter: "azure-p30", "csi.storage.k8s.io/fstype": "xfs",
			"csi.storage.k8s.io/node-stage-secret-name": "of-${pvc.name}", "csi.storage.k8s.io/node-stage-secret-namespace": "${pvc.namespace}",
		},
	}}
	v, state, err := p.Provision(t.Context(), o)
	must(t, err)
	source := v.Spec.CSI
	if state != controller.ProvisioningFinished || source.FSType != "xfs" || source.Driver != disk || v.Spec.MountOptions[0] != "noatime" ||
		*source.NodeStageSecretRef != (corev1.SecretReference{Name: "of-data", Namespace: "team"}) || v.Spec.PersistentVolumeReclaimPolicy != retain {
		t.Errorf("%s: %+v", state, v.Spec)
	}
	names := strings.Join(slices.Sorted(maps.Keys(source.VolumeAttributes)), " ")
	if names != "csi.storage.k8s.io/pv/name csi.storage.k8s.io/pvc/name csi.storage.k8s.io/pvc/namespace csisim/scenario requestedsizegib skuName "+identityAttribute {
		t.Errorf("the attributes are %s", names)
	}

	v.Status.Phase, v.Spec.ClaimRef = corev1.VolumeBound, &corev1.ObjectReference{Namespace: "team", Name: "data"}
	claim.Spec.VolumeAttributesClassName = &fast
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("200Gi")
	must(t, client.Tracker().Add(v))
	must(t, client.Tracker().Add(claim))
	must(t, d.resizeAll(t.Context(), client))
	claim, err = client.CoreV1().PersistentVolumeClaims("team").Get(t.Context(), "data", metav1.GetOptions{})
	must(t, err)
	if got := claim.Status.Capacity[corev1.ResourceStorage]; got.String() != "200Gi" || claim.Status.CurrentVolumeAttributesClassName == nil ||
		*claim.Status.CurrentVolumeAttributesClassName != fast {
		t.Errorf("the claim's status is %+v", claim.Status)
	}
	store, err := StoreOf(d.Home, disk, source.VolumeHandle)
	must(t, err)
	config, err := store.Config()
	must(t, err)
	if got := config.Buckets[1].BaselinePerSecond; got != 2000 {
		t.Errorf("the class of attributes gives %g operations a second", got)
	}

	foreign := v.DeepCopy()
	foreign.Spec.CSI.Driver = "other"
	var ignored *controller.IgnoredError
	if err := p.Delete(t.Context(), foreign); !errors.As(err, &ignored) {
		t.Errorf("a volume of another driver: %v", err)
	}
	must(t, p.Delete(t.Context(), v))
	if all, err := d.home.all(); err != nil || len(all) > 0 {
		t.Errorf("left are %v, %v", all, err)
	}
	must(t, d.Close())
}
