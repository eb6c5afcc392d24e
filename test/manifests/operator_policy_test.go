package manifests

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/hang"
)

const operatorUser = "system:serviceaccount:" + namespace + ":" + name

// clientPod returns a client's pod as the operator creates it, in a namespace that enforces no Pod Security.
func clientPod(space string) *corev1.Pod { return clientPodOf("bench-1", space) }

// clientPodOf is clientPod for a run with the given name.
func clientPodOf(name, space string) *corev1.Pod {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, UID: "1"}}
	run.Spec.BenchmarkRef.Name = "bench"
	run.Spec.Run = *builders.Benchmark("bench").Target("data").Clients(2).Steady("write", "1m").Run()
	return objects.Pod(objects.Settings{AgentImage: "a", FioImage: "f", OperatorNamespace: namespace}, run,
		objects.Client{Target: "data", Index: 1, Attempt: 1}, objects.Storage{})
}

// strangeTo lists changes that no pod of the operator has, each with a part of the refusal.
var strangeTo = map[string]struct {
	change func(*corev1.Pod)
	says   string
}{
	"privileged": {func(pod *corev1.Pod) {
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	}, "privileged"},
	"a privileged init container": {func(pod *corev1.Pod) {
		pod.Spec.InitContainers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	}, "privileged"},
	"a capability": {func(pod *corev1.Pod) {
		pod.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
	}, "capabilities"},
	"hostPID": {func(pod *corev1.Pod) { pod.Spec.HostPID = true }, "hostPID"},
	"hostIPC": {func(pod *corev1.Pod) { pod.Spec.HostIPC = true }, "hostIPC"},
	"the default about tokens": {func(pod *corev1.Pod) { pod.Spec.AutomountServiceAccountToken = nil },
		"service account token"},
	"a token":            {func(pod *corev1.Pod) { pod.Spec.AutomountServiceAccountToken = new(true) }, "service account token"},
	"a path of the node": {volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}), "other types"},
	"a file server":      {volume(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}), "other types"},
	"a projected token": {func(pod *corev1.Pod) {
		pod.Spec.ServiceAccountName = "default"
		volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}}})(pod)
	}, "project"},
	"a projected Secret": {volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "bench-1-data-1-1"}}}}}}), "project"},
	"a Secret of others":                          {volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "others"}}), "no Secret"},
	"the name of a Secret of others":              {called("others"), "no Secret"},
	"the name of a Secret of others, like a hash": {called("registry-0123456789"), "no Secret"},
	"a variable of a Secret": {func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: pod.Name}, Key: "a"}}}}
	}, "no Secret"},
	"variables of a Secret": {func(pod *corev1.Pod) {
		pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: pod.Name}}}}
	}, "no Secret"},
	"no labels":               {func(pod *corev1.Pod) { pod.Labels = nil }, v1alpha1.LabelBenchmark},
	"no label of a run":       {func(pod *corev1.Pod) { delete(pod.Labels, v1alpha1.LabelRun) }, v1alpha1.LabelRun},
	"no label of a benchmark": {func(pod *corev1.Pod) { delete(pod.Labels, v1alpha1.LabelBenchmark) }, v1alpha1.LabelBenchmark},
}

func volume(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "more", VolumeSource: source})
	}
}

// debug adds an ephemeral container, as kubectl debug does.
func debug(pod *corev1.Pod) {
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debug", Image: "debug", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_PTRACE"}}},
	}}}
}

// called renames a pod and its Secret.
func called(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Name = name
		for _, volume := range pod.Spec.Volumes {
			if volume.Secret != nil {
				volume.Secret.SecretName = name
			}
		}
	}
}

// refusedBy reports whether one of the operator's policies refuses with the given words.
func refusedBy(err error, says string) bool {
	return err != nil && strings.Contains(err.Error(), "storagebench-operator-") && strings.Contains(err.Error(), says)
}

// TestTheOperatorsPods checks that the API server lets the operator create the pods of a run and no others, even in a
// namespace that enforces no Pod Security, and that this limits only the operator's account.
func TestTheOperatorsPods(t *testing.T) {
	admin, operator := as(t, ""), as(t, operatorUser)
	space := freeSpace(t, admin)
	try := func(who client.Client, change func(*corev1.Pod)) error {
		pod := clientPod(space)
		change(pod)
		return who.Create(t.Context(), pod, client.DryRunAll)
	}
	policiesHold(t, func() error { return try(operator, strangeTo["hostPID"].change) })
	if err := try(operator, func(*corev1.Pod) {}); err != nil {
		t.Errorf("a client: %v", err)
	}
	// A long name ends in a hash.
	if err := operator.Create(t.Context(), clientPodOf(strings.Repeat("b", 250), space), client.DryRunAll); err != nil {
		t.Errorf("a client with a long name: %v", err)
	}
	if err := try(operator, volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "authorities"}}})); err != nil {
		t.Errorf("a client with a volume that a webhook has added: %v", err)
	}
	// The API itself refuses this, so the policies do not check it.
	if err := try(operator, debug); err == nil || !strings.Contains(err.Error(), "cannot be set on create") {
		t.Errorf("a client with an ephemeral container: %v", err)
	}
	for what, one := range strangeTo {
		if err := try(operator, one.change); !refusedBy(err, one.says) {
			t.Errorf("%s, by the operator: %v", what, err)
		}
		if err := try(admin, one.change); err != nil {
			t.Errorf("%s, by somebody else: %v", what, err)
		}
	}
}

// TestTheOperatorsChanges checks that the operator, given the permission to patch pods, can only annotate its own ones,
// and that it can neither delete objects of others nor create Secrets that are none of its own.
func TestTheOperatorsChanges(t *testing.T) {
	admin, operator := as(t, ""), as(t, operatorUser)
	space := freeSpace(t, admin)
	role, binding := kueueRole(t)
	for _, object := range []client.Object{role, binding} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(t.Context(), object) })
	}
	own, others := clientPod(space), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "others"}}
	others.Labels = map[string]string{"app": "shop"}
	others.Spec.Containers = []corev1.Container{{Name: "shop", Image: "shop"}}
	others.Spec.AutomountServiceAccountToken = new(false)
	for _, pod := range []*corev1.Pod{own, others} {
		if err := admin.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	patch := func(pod *corev1.Pod, change func(*corev1.Pod)) error {
		changed := pod.DeepCopy()
		change(changed)
		return operator.Patch(t.Context(), changed, client.MergeFrom(pod), client.DryRunAll)
	}
	annotate := func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"kueue.x-k8s.io/retriable-in-group": "false"}
	}
	image := func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "miner" }
	policiesHold(t, func() error { return patch(own, image) })
	if err := patch(own, annotate); err != nil {
		t.Errorf("an annotation of its own pod: %v", err)
	}
	debugged := own.DeepCopy()
	debug(debugged)
	if err := admin.SubResource("ephemeralcontainers").Update(t.Context(), debugged); err != nil {
		t.Fatal(err)
	}
	if err := patch(debugged, annotate); err != nil {
		t.Errorf("an annotation of its own pod while a user debugs it: %v", err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "others"},
		Spec: builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")}
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "others"}}
	for _, object := range []client.Object{claim, policy} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	secret := func(in, called, label string, of corev1.SecretType) error {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: called, Labels: map[string]string{label: "x"},
			Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}}, Type: of}
		return operator.Create(t.Context(), made, client.DryRunAll)
	}
	for what, err := range map[string]error{
		"another image":               patch(own, image),
		"a label fewer":               patch(own, func(pod *corev1.Pod) { delete(pod.Labels, v1alpha1.LabelRun) }),
		"an annotation of others":     patch(others, annotate),
		"a pod of others, deleted":    operator.Delete(t.Context(), others, client.DryRunAll),
		"a claim of others, deleted":  operator.Delete(t.Context(), claim, client.DryRunAll),
		"a policy of others, deleted": operator.Delete(t.Context(), policy, client.DryRunAll),
		"a Secret without its label":  secret(space, "x", "app", corev1.SecretTypeOpaque),
		"credentials of an account":   secret(space, "x", v1alpha1.LabelBenchmark, corev1.SecretTypeServiceAccountToken),
		"a master key elsewhere":      secret(space, installation.MasterSecret, "app", corev1.SecretTypeOpaque),
		"credentials as a master key": secret(namespace, installation.MasterSecret, "app", corev1.SecretTypeServiceAccountToken),
	} {
		if !refusedBy(err, "the operator may") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"the Secret of a client":       secret(space, own.Name, v1alpha1.LabelBenchmark, corev1.SecretTypeOpaque),
		"the Secret of the master key": secret(namespace, installation.MasterSecret, "app", corev1.SecretTypeOpaque),
		"its own pod, deleted":         operator.Delete(t.Context(), own, client.DryRunAll),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// freeSpace creates a namespace that enforces no Pod Security.
func freeSpace(t *testing.T, admin client.Client) string {
	t.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "free-"}}
	if err := admin.Create(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	return space.Name
}

// policiesHold waits until the API server enforces the policies and the operator's roles, which it learns of by
// watching.
func policiesHold(t *testing.T, refused func() error) {
	t.Helper()
	for deadline := time.Now().Add(hang.Guard); ; time.Sleep(100 * time.Millisecond) {
		err := refused()
		if refusedBy(err, "") {
			return
		}
		if err != nil && !apierrors.IsForbidden(err) || time.Now().After(deadline) {
			t.Fatalf("the policy never holds: %v", err)
		}
	}
}

// TestKueueFolder checks that config/kueue grants the operator the permission that it needs for Kueue and no other, and
// that the operator does not have it otherwise.
func TestKueueFolder(t *testing.T) {
	objects := folder(t, render.Kueue)
	role, binding := kueueRole(t)
	if len(objects) != 2 || len(role.Rules) != 1 || !slices.Equal(verbsOn(role.Rules, "", "pods"), []string{"patch"}) {
		t.Errorf("it has %d objects, and grants %v", len(objects), role.Rules)
	}
	if len(binding.Subjects) != 1 || binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != name || binding.Subjects[0].Namespace != namespace {
		t.Errorf("it is bound by %+v", binding)
	}
	everywhere, _ := operatorRules(t)
	if slices.Contains(verbsOn(everywhere, "", "pods"), "patch") {
		t.Error("without it the operator may patch pods")
	}
}

// kueueRole returns the role for Kueue and its binding.
func kueueRole(t *testing.T) (*rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding) {
	t.Helper()
	objects := folder(t, render.Kueue)
	role := read[rbacv1.ClusterRole](t, objects, "ClusterRole "+name+"-kueue")
	binding := read[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding "+name+"-kueue")
	return &role, &binding
}
