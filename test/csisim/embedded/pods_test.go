package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/csisim"
	"github.com/storagebench/storagebench/test/csisim/embedded"
	"github.com/storagebench/storagebench/test/hang"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is the namespace of a test in a cluster with simulated drivers.
type world struct {
	*testing.T
	*embedded.Simulation
	client    kubernetes.Interface
	namespace string
}

func newWorld(t *testing.T, drivers ...string) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Kubernetes cluster, which -short leaves out")
	}
	found := cluster.Require(t)
	if !found.Embedded {
		t.Skip("needs the machine of the node, so the cluster of test/cluster")
	}
	client, err := kubernetes.NewForConfig(found.Config)
	must(t, err)
	w := &world{T: t, client: client, Simulation: embedded.Run(t, found.State, drivers...)}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csisim-"},
	}, metav1.CreateOptions{})
	must(t, err)
	w.namespace = namespace.Name
	t.Cleanup(func() {
		must(t, client.CoreV1().Namespaces().Delete(context.Background(), w.namespace, metav1.DeleteOptions{}))
	})
	w.until("the service account is there", func() bool {
		_, err := client.CoreV1().ServiceAccounts(w.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return w
}

func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(hang.Guard); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			events, _ := w.client.CoreV1().Events(w.namespace).List(context.Background(), metav1.ListOptions{})
			for _, event := range events.Items {
				w.Logf("event %s/%s %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message)
			}
			w.Fatalf("after %s not yet: %s\n%s", hang.Guard, what, w.Log())
		}
	}
}

// class creates a StorageClass with a generated name.
func (w *world) class(driver string, parameters map[string]string) string {
	w.Helper()
	mode, grows := storagev1.VolumeBindingWaitForFirstConsumer, true
	class, err := w.client.StorageV1().StorageClasses().Create(w.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: w.namespace + "-"}, Provisioner: driver, Parameters: parameters,
		VolumeBindingMode: &mode, AllowVolumeExpansion: &grows, MountOptions: []string{"noatime", "flock"},
	}, metav1.CreateOptions{})
	must(w.T, err)
	w.Cleanup(func() {
		must(w.T, w.client.StorageV1().StorageClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{}))
	})
	return class.Name
}

func (w *world) claim(name, class string, mode corev1.PersistentVolumeMode, access corev1.PersistentVolumeAccessMode) {
	w.Helper()
	_, err := w.client.CoreV1().PersistentVolumeClaims(w.namespace).Create(w.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeMode: &mode, AccessModes: []corev1.PersistentVolumeAccessMode{access},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	must(w.T, err)
}

// pod creates a pod that uses a claim, and waits until it runs.
func (w *world) pod(name, claim string, block bool, more ...func(*corev1.PodSpec)) *corev1.Pod {
	w.Helper()
	container := corev1.Container{Name: "it", Image: cluster.PauseImage}
	if block {
		container.VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/data"}}
	} else {
		container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data", SubPath: "sub"}}
	}
	grace := int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container}, TerminationGracePeriodSeconds: &grace,
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}},
		},
	}
	for _, change := range more {
		change(&pod.Spec)
	}
	_, err := w.client.CoreV1().Pods(w.namespace).Create(w.Context(), pod, metav1.CreateOptions{})
	must(w.T, err)
	w.until("pod "+name+" runs", func() bool {
		pod, err = w.client.CoreV1().Pods(w.namespace).Get(w.Context(), name, metav1.GetOptions{})
		must(w.T, err)
		return pod.Status.Phase == corev1.PodRunning
	})
	return pod
}

func (w *world) volume(claim string) *corev1.PersistentVolume {
	w.Helper()
	c, err := w.client.CoreV1().PersistentVolumeClaims(w.namespace).Get(w.Context(), claim, metav1.GetOptions{})
	must(w.T, err)
	v, err := w.client.CoreV1().PersistentVolumes().Get(w.Context(), c.Spec.VolumeName, metav1.GetOptions{})
	must(w.T, err)
	return v
}

// mounted returns the path of a file in a pod's volume as this machine sees it.
func (w *world) mounted(pod *corev1.Pod, v *corev1.PersistentVolume, file string) string {
	return w.Path(filepath.Join("/var/lib/kubelet/pods", string(pod.UID), "volumes/kubernetes.io~csi", v.Name, "mount", file))
}

// gone deletes a pod and its claim, and waits until the volume is deleted.
func (w *world) gone(pod, claim string, v *corev1.PersistentVolume) {
	w.Helper()
	must(w.T, w.client.CoreV1().Pods(w.namespace).Delete(w.Context(), pod, metav1.DeleteOptions{}))
	must(w.T, w.client.CoreV1().PersistentVolumeClaims(w.namespace).Delete(w.Context(), claim, metav1.DeleteOptions{}))
	w.until("the volume is deleted", func() bool {
		_, err := w.client.CoreV1().PersistentVolumes().Get(w.Context(), v.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

const lustre = "fsx.csi.aws.com"

// TestClaimOfAFileSystem takes a claim through its life: it is provisioned with the real driver's parameters and
// attributes, its pod writes to it, its store fails on demand, and it grows. Deleting the claim deletes the volume, but
// the store's record is kept.
func TestClaimOfAFileSystem(t *testing.T) {
	w := newWorld(t, lustre, "ebs.csi.aws.com")
	class := w.class(lustre, map[string]string{
		"subnetId": "subnet-0123456789abcdef0", "deploymentType": "PERSISTENT_2", "perUnitStorageThroughput": "250",
		csisim.ScenarioParameter: "fsx-lustre-none",
	})
	w.claim("data", class, corev1.PersistentVolumeFilesystem, corev1.ReadWriteMany)
	pod := w.pod("first", "data", false)
	v := w.volume("data")
	if got := v.Spec.Capacity[corev1.ResourceStorage]; got.String() != "1200Gi" {
		t.Errorf("the capacity is %s, the real driver gives 1200Gi at least", got.String())
	}
	attributes := v.Spec.CSI.VolumeAttributes
	if !strings.HasSuffix(attributes["dnsname"], ".amazonaws.com") || attributes["mountname"] == "" || len(attributes) != 3 {
		t.Errorf("the attributes are %v", attributes)
	}
	must(t, os.WriteFile(w.mounted(pod, v, "sub/file"), make([]byte, 1<<20), 0o644))
	store, err := w.Store(lustre, v.Spec.CSI.VolumeHandle)
	must(t, err)

	config, err := store.Config()
	must(t, err)
	config.Failures = []model.Failure{{Error: model.FailureEROFS}}
	must(t, store.Set(config))
	if err := os.WriteFile(w.mounted(pod, v, "sub/other"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Errorf("writing to a store that is read-only gives %v", err)
	}
	config.Failures = nil
	must(t, store.Set(config))

	claim, err := w.client.CoreV1().PersistentVolumeClaims(w.namespace).Get(t.Context(), "data", metav1.GetOptions{})
	must(t, err)
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Ti")
	_, err = w.client.CoreV1().PersistentVolumeClaims(w.namespace).Update(t.Context(), claim, metav1.UpdateOptions{})
	must(t, err)
	w.until("the claim has grown", func() bool {
		claim, err = w.client.CoreV1().PersistentVolumeClaims(w.namespace).Get(t.Context(), "data", metav1.GetOptions{})
		must(t, err)
		got := claim.Status.Capacity[corev1.ResourceStorage]
		return got.String() == "2400Gi"
	})
	var stat unix.Statfs_t
	must(t, unix.Statfs(w.mounted(pod, v, ""), &stat))
	if got := int64(stat.Blocks) * stat.Bsize; got != 2400<<30 {
		t.Errorf("the pod sees %d bytes", got)
	}

	w.gone("first", "data", v)
	kept, err := w.Store(lustre, v.Spec.CSI.VolumeHandle)
	must(t, err)
	record, err := kept.Truth()
	must(t, err)
	if sums := record.Between(record.Start, time.Now()); sums.WriteBytes != 1<<20 {
		t.Errorf("of 1 MiB the record has %+v", sums)
	}
}

// TestClaimOfADevice checks that a claim can provide a raw device, through a loop device of the kubelet, and that
// deleting the claim deletes the volume.
func TestClaimOfADevice(t *testing.T) {
	w := newWorld(t, "ebs.csi.aws.com=ebs-gp2")
	class := w.class("ebs.csi.aws.com", map[string]string{"type": "gp2", csisim.SizeParameter: "16Mi"})
	w.claim("disk", class, corev1.PersistentVolumeBlock, corev1.ReadWriteOnce)
	pod := w.pod("first", "disk", true)
	v := w.volume("disk")
	link := filepath.Join("/var/lib/kubelet/pods", string(pod.UID), "volumeDevices/kubernetes.io~csi", v.Name)
	target, err := os.Readlink(w.Path(link))
	must(t, err)
	device, err := os.OpenFile(w.Path(target), os.O_WRONLY|unix.O_SYNC, 0)
	must(t, err)
	_, err = device.Write(make([]byte, 1<<20))
	must(t, err)
	must(t, device.Close())
	store, err := w.Store("ebs.csi.aws.com", v.Spec.CSI.VolumeHandle)
	must(t, err)
	w.until("the record has the bytes", func() bool {
		record, err := store.Truth() // fails until a second has passed
		return err == nil && record.Between(record.Start, time.Now()).WriteBytes >= 1<<20
	})
	w.gone("first", "disk", v)
}

// TestGroupOfFiles checks that the kubelet applies a pod's fsGroup to a disk.
func TestGroupOfFiles(t *testing.T) {
	const group = 3000
	w := newWorld(t, "disk.csi.azure.com=azure-p30")
	w.claim("disk", w.class("disk.csi.azure.com", nil), corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce)
	number := int64(group)
	pod := w.pod("first", "disk", false, func(spec *corev1.PodSpec) {
		spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &number}
	})
	v := w.volume("disk")
	var stat unix.Stat_t
	must(t, unix.Stat(w.mounted(pod, v, ""), &stat))
	if stat.Gid != group || stat.Mode&unix.S_ISGID == 0 {
		t.Errorf("the volume is of group %d, mode %o", stat.Gid, stat.Mode)
	}
	w.gone("first", "disk", v)
}

// TestStaticVolume checks that the driver's default scenario serves a static PersistentVolume that has only the
// attributes of the real driver.
func TestStaticVolume(t *testing.T) {
	const driver = "smb.csi.k8s.io"
	w := newWorld(t, driver+"=fsx-windows-32-hdd")
	none := ""
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("32Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	v, err := w.client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-share"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:     &corev1.ObjectReference{Namespace: w.namespace, Name: "share"},
			MountOptions: []string{"dir_mode=0777", "file_mode=0777", "vers=3.0", "cache=none"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: driver, VolumeHandle: "amznfsxabc.corp.example.com/share##", VolumeAttributes: map[string]string{"source": "//amznfsxabc.corp.example.com/share"},
			}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		must(t, w.client.CoreV1().PersistentVolumes().Delete(context.Background(), v.Name, metav1.DeleteOptions{}))
	})
	_, err = w.client.CoreV1().PersistentVolumeClaims(w.namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "share"},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &none, VolumeName: v.Name, AccessModes: modes,
			Resources: corev1.VolumeResourceRequirements{Requests: size}},
	}, metav1.CreateOptions{})
	must(t, err)
	pods := []*corev1.Pod{w.pod("first", "share", false), w.pod("second", "share", false)}
	must(t, os.WriteFile(w.mounted(pods[0], v, "file"), []byte("shared"), 0o644))
	text, err := os.ReadFile(w.mounted(pods[1], v, "file"))
	must(t, err)
	if string(text) != "shared" {
		t.Errorf("the other pod reads %q", text)
	}
	for _, pod := range pods {
		must(t, w.client.CoreV1().Pods(w.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}))
	}
	w.until("the pods are gone", func() bool {
		list, err := w.client.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		return len(list.Items) == 0
	})
}
