package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestSeveralNodes requires that, in a cluster of three nodes, pods of all nodes reach the API server and a service,
// volumes of the default class stay on their node, and shared volumes are on all. A killed node must come back with its
// disk, and nodes can be removed.
func TestSeveralNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Kubernetes, which -short leaves out")
	}
	b := newBench(t)
	b.up("up from nothing")
	b.run("load-image before the others join", true, "load-image", b.probeArchive())
	b.run("up with three nodes", true, "up", "--nodes=3")
	b.prepareNamespace()
	members, err := b.state.Members()
	if err != nil || len(members) != 3 {
		t.Fatalf("%d nodes: %v", len(members), err)
	}
	b.areReady(members)

	url := b.served(members[1])
	b.claim("shared", SharedClassName)
	var pods []*corev1.Pod
	for _, m := range members {
		b.claim(m.Name(), StorageClassName)
		pods = append(pods, b.onNode(m, "first", url, m.Name(), "shared"))
	}
	b.worked(pods...)
	b.volumesAre(members)

	pid, err := members[2].PID()
	if err != nil {
		t.Fatal(err)
	}
	b.end(pid)
	if said := b.run("status with a dead node", false, "status"); !strings.Contains(said, "node "+members[2].Name()+" does not run") {
		t.Errorf("the status of a cluster with a dead node is %s", said)
	}
	b.up("up after a node was killed")
	b.areReady(members)
	if _, err := os.Stat(filepath.Join(members[2].Outside(nodeVolumes))); err != nil {
		t.Errorf("the node has lost its disk: %v", err)
	}
	b.worked(b.onNode(members[2], "again", url))

	b.run("up with one node", true, "up", "--nodes=1")
	if nodes := b.nodes(); !slices.Equal(nodes, []string{NodeName}) {
		t.Errorf("the remaining nodes are %q", nodes)
	}
	if left, err := os.ReadDir(b.state.workersFolder()); err != nil || len(left) > 0 {
		t.Errorf("disks of removed nodes are left: %v, %v", left, err)
	}
	b.run("up with two nodes", true, "up", "--nodes=2")
	b.run("down", true, "down")
	b.mustBeGone()
}

func (b *bench) nodes() []string {
	b.t.Helper()
	list, err := b.client.CoreV1().Nodes().List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, one := range list.Items {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

// areReady checks that each node runs, is ready, and has its own zone.
func (b *bench) areReady(members []Member) {
	b.t.Helper()
	report := b.ready("all nodes are ready")
	zones := map[string]bool{}
	for _, m := range members {
		found, err := b.client.CoreV1().Nodes().Get(b.t.Context(), m.Name(), metav1.GetOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		zones[found.Labels[corev1.LabelTopologyZone]] = true
		if found.Labels[corev1.LabelHostname] != m.Name() || found.Labels[corev1.LabelTopologyRegion] != Region {
			b.t.Errorf("node %s has the labels %v", m.Name(), found.Labels)
		}
		if !slices.ContainsFunc(report.Components, func(c ComponentReport) bool { return c.Node == m.Name() && c.Name == "kubelet" && c.PID > 0 }) {
			b.t.Errorf("the status has no kubelet of %s: %+v", m.Name(), report.Components)
		}
	}
	if len(zones) != len(members) {
		b.t.Errorf("the zones of %d nodes are %v", len(members), zones)
	}
}

// served starts a pod with a service on a node and returns the service's URL.
func (b *bench) served(m Member) string {
	b.t.Helper()
	const name = "server"
	pod := b.pod(name, "wait")
	pod.Labels = map[string]string{"name": name}
	pod.Spec.NodeName = m.Name()
	b.runPod(pod, corev1.PodRunning)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}
	if _, err := b.client.CoreV1().Services(probeNamespace).Create(b.t.Context(), service, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("pod "+name+" has a log", func(context.Context) bool { return strings.Contains(b.log(name), "waiting") })
	return "http://" + name + "." + probeNamespace + ".svc"
}

func (b *bench) claim(name, class string) {
	b.t.Helper()
	_, err := b.client.CoreV1().PersistentVolumeClaims(probeNamespace).Create(b.t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
}

// onNode starts a pod on a node. The pod sends a request to url, and writes a file named after the node to each claim.
func (b *bench) onNode(m Member, name, url string, claims ...string) *corev1.Pod {
	b.t.Helper()
	pod := b.pod(name + "-" + m.Name())
	// A pod with a NodeName bypasses the scheduler, which chooses the node of a volume. So use a selector.
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: m.Name()}
	container := &pod.Spec.Containers[0]
	var paths []string
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: "/" + claim})
		paths = append(paths, "/"+claim)
	}
	container.Env = []corev1.EnvVar{{Name: "DATA", Value: strings.Join(paths, ":")}, {Name: "FILE", Value: m.Name()}, {Name: "SERVICE", Value: url}}
	if _, err := b.client.CoreV1().Pods(probeNamespace).Create(b.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	return pod
}

// worked waits until pods have succeeded, and checks that each could write to its volumes, resolve names, and reach the
// API server and the service.
func (b *bench) worked(pods ...*corev1.Pod) {
	b.t.Helper()
	for _, pod := range pods {
		b.eventually("pod "+pod.Name+" has succeeded", func(ctx context.Context) bool {
			found, err := b.client.CoreV1().Pods(probeNamespace).Get(ctx, pod.Name, metav1.GetOptions{})
			if err == nil && found.Status.Phase == corev1.PodFailed {
				b.t.Fatalf("pod %s failed:\n%s", pod.Name, b.log(pod.Name))
			}
			return err == nil && found.Status.Phase == corev1.PodSucceeded
		})
		log := b.log(pod.Name)
		for _, line := range []string{"volume: works", "service name: works", "API server: works", "service of a pod: works"} {
			if !strings.Contains(log, line+"\n") {
				b.t.Errorf("the log of pod %s has no line %q:\n%s", pod.Name, line, log)
			}
		}
	}
}

// volumesAre checks where the pods of all nodes have written: a node's volume is on its own disk only, and the shared
// volume contains the files of all. It then deletes the pods and claims, and waits until the volumes' folders are
// removed.
func (b *bench) volumesAre(members []Member) {
	b.t.Helper()
	var all []string
	for _, m := range members {
		all = append(all, m.Name())
		if found := filesIn(m.Outside(nodeVolumes)); !slices.Equal(found, []string{m.Name()}) {
			b.t.Errorf("the volumes of node %s hold %q", m.Name(), found)
		}
	}
	if found := filesIn(b.state.sharedFolder()); !slices.Equal(found, all) {
		b.t.Errorf("the shared volume holds %q, want %q", found, all)
	}
	pods, claims := b.client.CoreV1().Pods(probeNamespace), b.client.CoreV1().PersistentVolumeClaims(probeNamespace)
	if err := pods.DeleteCollection(b.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "!name"}); err != nil {
		b.t.Fatal(err)
	}
	if err := claims.DeleteCollection(b.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("the folders of all volumes are removed", func(context.Context) bool {
		left := folders(b.state.sharedFolder())
		for _, m := range members {
			left = append(left, folders(m.Outside(nodeVolumes))...)
		}
		return len(left) == 0
	})
}

// folders returns the volumes below a folder. filesIn returns the names of the files in them.
func folders(folder string) []string {
	found, _ := filepath.Glob(filepath.Join(folder, "*"))
	return found
}

func filesIn(folder string) []string {
	found, _ := filepath.Glob(filepath.Join(folder, "*", "*"))
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	slices.Sort(found)
	return found
}

// TestNumberOfNodes requires that Up refuses an impossible number of nodes before it creates anything.
func TestNumberOfNodes(t *testing.T) {
	state := State{folder: filepath.Join(t.TempDir(), "state")}
	for _, nodes := range []int{-1, MaxNodes + 1} {
		err := state.Up(t.Context(), os.Stderr, nodes)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("1 to %d nodes, not %d", MaxNodes, nodes)) {
			t.Errorf("%d nodes: %v", nodes, err)
		}
	}
	if _, err := os.Stat(state.folder); err == nil {
		t.Error("the state folder was created")
	}
}
