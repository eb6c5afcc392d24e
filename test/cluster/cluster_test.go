package cluster

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagebench/storagebench/test/binaries"
)

const (
	probeImage     = "storagebench.dev/test-probe:1"
	probeNamespace = "probe"
)

// bench is a cluster of this test's own, beside the one that other tests use.
type bench struct {
	t       *testing.T
	state   State
	program string
	client  kubernetes.Interface
}

// The life of a cluster: up, used, used again, its parts killed, all of it
// killed, down with nothing left.
func TestLifeOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Kubernetes, which -short leaves out")
	}
	b := newBench(t)
	b.up("up from nothing")
	b.mustBeQuick("up again", 2*time.Second, "up")

	archive := b.probeArchive()
	b.mustBeQuick("load-image", 10*time.Second, "load-image", archive)
	b.mustBeQuick("load-image again", 2*time.Second, "load-image", archive)
	b.prepareNamespace()
	b.podWithVolume("first")
	b.logAndExec("second")

	for _, name := range []string{binaries.Kubelet, binaries.Containerd, binaries.APIServer} {
		b.kill(name)
		b.up("up after " + name + " was killed")
	}
	b.podWithVolume("third")
	if log := b.log("second"); !strings.Contains(log, "waiting") {
		t.Errorf("the pod did not live through it: %q", log)
	}
	b.kill(binaries.Cluster()...)
	b.up("up after everything was killed")
	b.podWithVolume("fourth")

	pid, err := b.state.NodePID()
	if err != nil {
		t.Fatal(err)
	}
	if err := mustFind(t, pid).Kill(); err != nil {
		t.Fatal(err)
	}
	b.run("status after the node was killed", false, "status")
	b.up("up after the node was killed")
	b.run("load-image", true, "load-image", archive)
	b.prepareNamespace()
	b.podWithVolume("fifth")

	b.run("down", true, "down")
	b.mustBeGone()
	b.mustBeQuick("down again", 2*time.Second, "down")
}

func newBench(t *testing.T) *bench {
	t.Helper()
	state, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, state: state, program: filepath.Join(t.TempDir(), "cluster")}
	b.build(b.program, "./cmd/cluster")
	t.Cleanup(func() {
		if err := state.Down(context.Background(), os.Stderr); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) build(output, folder string) {
	b.t.Helper()
	command := exec.CommandContext(b.t.Context(), "go", "build", "-o", output, folder)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		b.t.Fatalf("building %s: %v\n%s", folder, err, output)
	}
}

// run runs the command and says how long it took.
func (b *bench) run(what string, succeeds bool, arguments ...string) (string, time.Duration) {
	b.t.Helper()
	begin := time.Now()
	output, err := exec.CommandContext(b.t.Context(), b.program, append([]string{"--state=" + b.state.Folder()}, arguments...)...).CombinedOutput()
	took := time.Since(begin)
	b.t.Logf("%s took %.2f s", what, took.Seconds())
	if (err == nil) != succeeds {
		b.t.Fatalf("%s: %v\n%s", what, err, output)
	}
	return string(output), took
}

func (b *bench) mustBeQuick(what string, limit time.Duration, arguments ...string) {
	b.t.Helper()
	if _, took := b.run(what, true, arguments...); took > limit {
		b.t.Errorf("%s took %v, it has to be done in %v", what, took, limit)
	}
}

func (b *bench) up(what string) {
	b.t.Helper()
	output, _ := b.run(what, true, "up")
	b.t.Log(output)
	client, err := b.state.client()
	if err != nil {
		b.t.Fatal(err)
	}
	b.client = client
	report, err := b.state.Status(b.t.Context())
	if err != nil || !report.Ready {
		b.t.Fatalf("after %s: %+v, %v", what, report, err)
	}
}

// kill ends components without a warning. Each has to be found.
func (b *bench) kill(names ...string) {
	b.t.Helper()
	report, err := b.state.Status(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	killed := 0
	for _, component := range report.Components {
		if !slices.Contains(names, component.Name) {
			continue
		}
		if err := mustFind(b.t, component.PID).Kill(); err != nil {
			b.t.Fatalf("killing %s: %v", component.Name, err)
		}
		killed++
	}
	if killed == 0 || len(names) == 1 && killed != 1 {
		b.t.Fatalf("killed %d of %q in %+v", killed, names, report.Components)
	}
}

func mustFind(t *testing.T, pid int) *os.Process {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("no process to kill: %d", pid)
	}
	found, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (b *bench) probeArchive() string {
	b.t.Helper()
	folder := b.t.TempDir()
	program := filepath.Join(folder, "probe")
	b.build(program, "./testdata/probe")
	content, err := os.ReadFile(program)
	if err != nil {
		b.t.Fatal(err)
	}
	archive, err := ProgramImage(probeImage, "probe", content)
	if err != nil {
		b.t.Fatal(err)
	}
	again, err := ProgramImage(probeImage, "probe", content)
	if err != nil || !bytes.Equal(archive, again) {
		b.t.Errorf("the same image is another archive (%v)", err)
	}
	path := filepath.Join(folder, "probe.tar")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// prepareNamespace makes a namespace that takes restricted pods only.
func (b *bench) prepareNamespace() {
	b.t.Helper()
	_, err := b.client.CoreV1().Namespaces().Create(b.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   probeNamespace,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.eventually("the namespace has its service account", func(ctx context.Context) bool {
		_, err := b.client.CoreV1().ServiceAccounts(probeNamespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	refused := b.pod("refused")
	refused.Spec.SecurityContext, refused.Spec.Containers[0].SecurityContext = nil, nil
	_, err = b.client.CoreV1().Pods(probeNamespace).Create(b.t.Context(), refused, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		b.t.Errorf("Pod Security does not refuse a pod with rights: %v", err)
	}
}

func (b *bench) pod(name string, arguments ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(1)),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "probe", Image: probeImage, Args: arguments,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					ReadOnlyRootFilesystem:   new(true),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// podWithVolume runs a pod to its end on a volume that is made for it, and
// removes both.
func (b *bench) podWithVolume(name string) {
	b.t.Helper()
	ctx := b.t.Context()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Gi"),
			}},
		},
	}
	if _, err := b.client.CoreV1().PersistentVolumeClaims(probeNamespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	pod := b.pod(name)
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
	container := &pod.Spec.Containers[0]
	container.Env = []corev1.EnvVar{{Name: "DATA", Value: "/data"}}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	begin := time.Now()
	b.runPod(pod, corev1.PodSucceeded)
	b.t.Logf("pod %s ended %.2f s after it was made", name, time.Since(begin).Seconds())
	log := b.log(name)
	for _, line := range []string{"volume: works", "service name: works", "service name of the search list: works", "other name: works", "API server: works"} {
		if !strings.Contains(log, line+"\n") {
			b.t.Errorf("the log of pod %s has no line %q:\n%s", name, line, log)
		}
	}
	written := filepath.Join(b.state.outside(nodeVolumes), "*", "written")
	if found, _ := filepath.Glob(written); len(found) != 1 {
		b.t.Errorf("%d files were written to %s, want one", len(found), written)
	}
	if err := b.client.CoreV1().Pods(probeNamespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.client.CoreV1().PersistentVolumeClaims(probeNamespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("the volume's folder is removed", func(context.Context) bool {
		found, err := os.ReadDir(b.state.outside(nodeVolumes))
		return err == nil && len(found) == 0
	})
}

// runPod makes a pod and waits until it is in a phase.
func (b *bench) runPod(pod *corev1.Pod, phase corev1.PodPhase) {
	b.t.Helper()
	if _, err := b.client.CoreV1().Pods(probeNamespace).Create(b.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("pod "+pod.Name+" is "+string(phase), func(ctx context.Context) bool {
		found, err := b.client.CoreV1().Pods(probeNamespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && found.Status.Phase == corev1.PodFailed {
			b.t.Fatalf("pod %s failed:\n%s", pod.Name, b.log(pod.Name))
		}
		return err == nil && found.Status.Phase == phase
	})
}

func (b *bench) log(name string) string {
	b.t.Helper()
	output, _ := b.run("kubectl logs", true, "kubectl", "--namespace="+probeNamespace, "logs", name)
	return output
}

// logAndExec starts a pod that stays, and looks into it.
func (b *bench) logAndExec(name string) {
	b.t.Helper()
	b.runPod(b.pod(name, "wait"), corev1.PodRunning)
	b.eventually("pod "+name+" has a log", func(context.Context) bool { return strings.Contains(b.log(name), "waiting") })
	output, _ := b.run("kubectl exec", true, "kubectl", "--namespace="+probeNamespace, "exec", name, "--", "/probe", "echo", "hello")
	if !strings.Contains(output, "echo [hello]") {
		b.t.Errorf("exec says %q", output)
	}
}

func (b *bench) eventually(what string, holds func(context.Context) bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	for !holds(ctx) {
		select {
		case <-ctx.Done():
			output, _ := b.run("kubectl describe", true, "kubectl", "--namespace="+probeNamespace, "describe", "pods,pvc")
			b.t.Fatalf("not in time: %s\n%s", what, output)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// mustBeGone looks for everything that a cluster makes.
func (b *bench) mustBeGone() {
	b.t.Helper()
	if entries, err := os.ReadDir(b.state.Folder()); err == nil {
		b.t.Errorf("the state folder is left with %v", entries)
	}
	if b.state.hasLink() {
		b.t.Errorf("the device %s is left", b.state.link())
	}
	trees, err := hierarchies()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, tree := range trees {
		if _, err := os.Stat(filepath.Join(tree.path, b.state.cgroup())); err == nil {
			b.t.Errorf("the control group %s is left in %s", b.state.cgroup(), tree.path)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		b.t.Fatal(err)
	}
	if left := mountsBelow(string(mounts), b.state.Folder()); len(left) > 0 {
		b.t.Errorf("mounts are left: %q", left)
	}
	// Whatever the node ran had the node's /var.
	found, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, path := range found {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), b.state.Folder()) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			b.t.Errorf("a process of the node is left: %s %q", path, name)
		}
	}
}
