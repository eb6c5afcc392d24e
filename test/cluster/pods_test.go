package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// prepareNamespace creates a namespace that accepts only pods of the Pod Security level "restricted", and checks that
// it refuses another pod.
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
		b.t.Errorf("Pod Security does not refuse an unrestricted pod: %v", err)
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

// podWithVolume runs a pod with a new volume until it has succeeded, and removes both. The pod sends a request to url,
// if it is not empty.
func (b *bench) podWithVolume(name, url string) {
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
	pod := onClaim(b.pod(name), name)
	pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: "SERVICE", Value: url})
	b.runPod(pod, corev1.PodSucceeded)
	log := b.log(name)
	for _, line := range []string{"volume: works", "service name: works", "service name of the search list: works", "other name: works", "API server: works", "service of a pod: works"} {
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

// podOnStaticVolume mounts a folder in the node, and runs a pod with a static volume on it.
func (b *bench) podOnStaticVolume(name string) {
	b.t.Helper()
	ctx, folder := b.t.Context(), b.t.TempDir()
	for _, arguments := range [][]string{
		{"mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "tmpfs", folder},
		{"touch", folder + "/inside"},
	} {
		command, err := b.state.Enter(ctx, arguments...)
		if err != nil {
			b.t.Fatal(err)
		}
		if output, err := command.CombinedOutput(); err != nil {
			b.t.Fatalf("%q: %v\n%s", arguments, err, output)
		}
	}
	if _, err := os.Stat(folder + "/inside"); err == nil {
		b.t.Error("a mount in the node is visible on this machine")
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: "static",
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		},
	}
	if _, err := b.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new("static"), VolumeName: name,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	if _, err := b.client.CoreV1().PersistentVolumeClaims(probeNamespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.runPod(onClaim(b.pod(name), name), corev1.PodSucceeded)
	command, err := b.state.Enter(ctx, "cat", folder+"/written")
	if err != nil {
		b.t.Fatal(err)
	}
	if output, err := command.CombinedOutput(); err != nil || string(output) != "by a pod" {
		b.t.Errorf("the pod wrote %q, %v", output, err)
	}
}

// onClaim mounts a claim in a pod.
func onClaim(pod *corev1.Pod, claim string) *corev1.Pod {
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	container := &pod.Spec.Containers[0]
	container.Env = []corev1.EnvVar{{Name: "DATA", Value: "/data"}}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return pod
}

// runPod creates a pod and waits until it reaches a phase.
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
	output := b.run("kubectl logs", true, "kubectl", "--namespace="+probeNamespace, "logs", name)
	return output
}

// logAndExec starts a pod that keeps running, with a service, and checks `kubectl logs` and `kubectl exec`. It returns
// the URL of the service.
func (b *bench) logAndExec(name string) string {
	b.t.Helper()
	pod := b.pod(name, "wait")
	pod.Labels = map[string]string{"name": name}
	b.runPod(pod, corev1.PodRunning)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}
	if _, err := b.client.CoreV1().Services(probeNamespace).Create(b.t.Context(), service, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("pod "+name+" has a log", func(context.Context) bool { return strings.Contains(b.log(name), "waiting") })
	output := b.run("kubectl exec", true, "kubectl", "--namespace="+probeNamespace, "exec", name, "--", "/probe", "echo", "hello")
	if !strings.Contains(output, "echo [hello]") {
		b.t.Errorf("exec printed %q", output)
	}
	return "http://" + name + "." + probeNamespace + ".svc"
}
