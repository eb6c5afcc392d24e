package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/soak"
)

// loopDevice makes a block device of the node, backed by a file of the given size.
func loopDevice(t *testing.T, bytes int64) (device, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "disk")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Truncate(file, bytes))
	said, err := exec.CommandContext(t.Context(), "losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device can be made here: %v: %s", err, said)
	}
	device = strings.TrimSpace(string(said))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	// As udev does, give the device to the group disk, which pods with devices join.
	must(t, os.Chown(device, 0, 6))
	must(t, os.Chmod(device, 0o660))
	return device, file
}

// blockClaim creates a volume from a block device of the node, and a claim that is bound to it.
func (s *space) blockClaim(name, device string) {
	s.Helper()
	none, block := "", corev1.PersistentVolumeBlock
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, VolumeMode: &block, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{Namespace: s.namespace, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: device}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{cluster.NodeName}}}}}}},
		},
	}
	must(s.T, s.api.Create(s.Context(), volume))
	s.Cleanup(func() {
		if err := s.api.Delete(context.Background(), volume); client.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	})
	s.create(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &none, VolumeMode: &block, VolumeName: volume.Name,
			Resources: corev1.VolumeResourceRequirements{Requests: size}},
	})
}

// TestRawDevices checks raw devices through a real kubelet: an empty one is measured and is empty afterwards; one with
// a file system is refused with the name of that file system, and not a byte of it changes.
func TestRawDevices(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	t.Parallel()
	empty, emptyFile := loopDevice(t, 64<<20)
	used, usedFile := loopDevice(t, 64<<20)
	if said, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", usedFile).CombinedOutput(); err != nil {
		t.Skipf("no mkfs.ext4 here: %v: %s", err, said)
	}
	must(t, exec.CommandContext(t.Context(), "blockdev", "--flushbufs", used).Run())
	content := func(file string) []byte {
		text, err := os.ReadFile(file)
		must(t, err)
		return text
	}
	before := sha256.Sum256(content(usedFile))
	s := newSpace(t)
	s.blockClaim("empty", empty)
	s.blockClaim("used", used)
	benchmark := func(name string) *v1alpha1.StorageBenchmark {
		yes := true
		return builders.Benchmark("raw-"+name).Target(name).Workload(builders.Fio().Dataset("16Mi").Reads()).Prepare("layout").Steady("read", "3s").
			Mutate(func(r *v1alpha1.RunSpec) { r.Targets[0].AllowRawDeviceWrites = &yes }).Obj()
	}
	s.apply(benchmark("empty"))
	run := s.ended(2 * time.Minute)
	s.complete(run)
	operations := run.Status.Phases[1].Targets[0].Operations
	if len(operations) == 0 || operations[0].Bytes == 0 {
		t.Errorf("no figures: %+v", run.Status.Phases[1])
	} else {
		t.Logf("%d bytes were read", operations[0].Bytes)
	}
	s.until("the device is empty again", time.Minute, func() bool { return len(bytes.Trim(content(emptyFile), "\x00")) == 0 })

	s.apply(benchmark("used"))
	s.until("the other benchmark's run is over", 2*time.Minute, func() bool {
		newest := s.run()
		return newest.Spec.BenchmarkRef.Name == "raw-used" && newest.Status.EndTime != nil
	})
	refused := conditionLines(s.run().Status.Conditions)
	for _, part := range []string{"it contains an ext2, ext3 or ext4 file system", "nothing was written"} {
		if !strings.Contains(refused, part) {
			t.Errorf("%q is not in %s", part, refused)
		}
	}
	must(t, exec.CommandContext(t.Context(), "blockdev", "--flushbufs", used).Run())
	if sha256.Sum256(content(usedFile)) != before {
		t.Error("the bytes of the file system have changed")
	}
}
