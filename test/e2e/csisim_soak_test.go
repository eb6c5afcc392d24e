package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/csisim"
	"github.com/storagebench/storagebench/test/csisim/embedded"
	"github.com/storagebench/storagebench/test/soak"
)

// azureDisk is the name of the driver that is simulated.
const azureDisk = "disk.csi.azure.com"

// simulatedClaim creates a StorageClass of a simulated driver, and a claim for it in the space. Both are removed when
// the test ends.
func (s *space) simulatedClaim(name, driver, size string, mode corev1.PersistentVolumeAccessMode, parameters map[string]string) {
	s.Helper()
	binding := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + name}, Provisioner: driver, Parameters: parameters, VolumeBindingMode: &binding,
	}
	must(s.T, s.api.Create(s.Context(), class))
	s.Cleanup(func() {
		if err := s.api.Delete(context.Background(), class); client.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	})
	s.create(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class.Name, AccessModes: []corev1.PersistentVolumeAccessMode{mode},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	})
}

// simulatedStore returns the store behind a bound claim.
func (s *space) simulatedStore(simulation *embedded.Simulation, claim string) csisim.Store {
	s.Helper()
	var c corev1.PersistentVolumeClaim
	if !s.get(claim, &c) {
		s.Fatalf("there is no claim %s", claim)
	}
	var v corev1.PersistentVolume
	must(s.T, s.api.Get(s.Context(), client.ObjectKey{Name: c.Spec.VolumeName}, &v))
	store, err := simulation.Store(v.Spec.CSI.Driver, v.Spec.CSI.VolumeHandle)
	must(s.T, err)
	return store
}

// TestSteadyOnASimulatedDriver checks that a claim with a StorageClass as on Azure is provisioned by a driver of that
// name and mounted by the kubelet, and that the figures agree with the record of its disk.
func TestSteadyOnASimulatedDriver(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	// Start the drivers before the space: the space's pods and claims are then deleted first.
	simulation := embedded.Run(t, in.State, azureDisk)
	s := newSpace(t)
	s.simulatedClaim("data", azureDisk, "1Ti", corev1.ReadWriteOnce, map[string]string{
		"skuName": "Premium_LRS", "cachingMode": "None", csisim.ScenarioParameter: "azure-p30",
	})
	s.apply(builders.Benchmark("steady").Target("data").Prepare("layout").
		Steady("write", "8s").WarmUp("1s").
		Steady("read", "8s").With(builders.Fio().Reads()).Obj())
	run := s.ended(2 * time.Minute)
	s.log(run)
	store := s.simulatedStore(simulation, "data")
	config, err := store.Config()
	must(t, err)
	time.Sleep(time.Second) // until the second in which the run ended is complete
	record, err := store.Truth()
	must(t, err)
	rows := truth.Compare(record, config, run.Status)
	soak.Report(t, "A pod on a simulated "+azureDisk+" with azure-p30", "%s", truth.Table(rows))
	if len(rows) == 0 {
		t.Error("nothing was measured")
	}
	judge(t, rows)
}
