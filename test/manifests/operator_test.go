package manifests

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	podsecurityapi "k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
)

// restricted returns how a pod violates the strictest Pod Security level, by the API server's own code.
func restricted(t *testing.T, pod corev1.PodTemplateSpec) []string {
	t.Helper()
	evaluator, err := podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for _, result := range evaluator.EvaluatePod(podsecurityapi.LevelVersion{Level: podsecurityapi.LevelRestricted, Version: podsecurityapi.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			problems = append(problems, result.ForbiddenReason+": "+result.ForbiddenDetail)
		}
	}
	return problems
}

func TestTheOperatorIsRestricted(t *testing.T) {
	template := deployment(t).Spec.Template
	if problems := restricted(t, template); len(problems) > 0 {
		t.Errorf("Pod Security: %s", strings.Join(problems, "; "))
	}
	// Check that the check can fail.
	template.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil
	if len(restricted(t, template)) == 0 {
		t.Error("the check finds nothing in a pod that is not restricted")
	}
}

func TestTheOperatorsContainer(t *testing.T) {
	pod := deployment(t).Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) > 0 || len(pod.Volumes) > 0 {
		t.Fatalf("more than a container: %+v", pod)
	}
	container := pod.Containers[0]
	if want := "storagebench.invalid/operator:" + version; container.Image != want {
		t.Errorf("image %s, want %s", container.Image, want)
	}
	if container.ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("imagePullPolicy %s: an image that was loaded would not be found", container.ImagePullPolicy)
	}
	if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
		t.Error("the root file system can be written to")
	}
	if !slices.Equal(container.Command, []string{"/storagebench-operator"}) {
		t.Errorf("command %v is not the one in the image", container.Command)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if container.Resources.Requests[name] == (resource.Quantity{}) {
			t.Errorf("no request of %s", name)
		}
	}
	if container.Resources.Limits.Memory().IsZero() {
		t.Error("no limit of memory")
	}
	environment := map[string]corev1.EnvVar{}
	for _, variable := range container.Env {
		environment[variable.Name] = variable
	}
	if source := environment["POD_NAMESPACE"].ValueFrom; source == nil || source.FieldRef == nil || source.FieldRef.FieldPath != "metadata.namespace" {
		t.Error("the operator is not told its namespace")
	}
	soft, err := resource.ParseQuantity(strings.TrimSuffix(environment["GOMEMLIMIT"].Value, "B"))
	if err != nil {
		t.Fatalf("GOMEMLIMIT: %v", err)
	}
	if hard := container.Resources.Limits.Memory(); soft.Cmp(*hard) >= 0 {
		t.Errorf("GOMEMLIMIT %s is not below the limit of %s", soft.String(), hard)
	}
	priority := theOne[schedulingv1.PriorityClass](t, "PriorityClass")
	if pod.PriorityClassName != priority.Name || priority.Name != plan.OperatorPriorityClass || priority.GlobalDefault || priority.Value <= 0 ||
		priority.PreemptionPolicy == nil || *priority.PreemptionPolicy != corev1.PreemptNever {
		t.Errorf("priority class %q of the pod, %+v", pod.PriorityClassName, priority)
	}
}

// TestRunsAdmitTheOperator checks that the NetworkPolicy of a run admits the operator's pods by their labels. Changing
// these labels alone would cut the operator off from its agents.
func TestRunsAdmitTheOperator(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	run.Name, run.Namespace = "run", "users"
	peer := objects.NetworkPolicy(objects.Settings{OperatorNamespace: namespace}, run).Spec.Ingress[0].From[0]
	wanted := labels.SelectorFromSet(peer.PodSelector.MatchLabels)
	template := deployment(t).Spec.Template
	if !wanted.Matches(labels.Set(template.Labels)) {
		t.Errorf("the policy of a run wants %s, the operator's pods have %v", wanted, template.Labels)
	}
	// Pods in the operator's namespace without its labels are not admitted.
	if len(peer.PodSelector.MatchLabels) == 0 || peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != namespace {
		t.Errorf("a run admits %+v", peer)
	}
}

func TestOnlyTheProbePortIsOpen(t *testing.T) {
	found, workload := policy(t), deployment(t)
	if !labels.SelectorFromSet(found.Spec.PodSelector.MatchLabels).Matches(labels.Set(workload.Spec.Template.Labels)) {
		t.Errorf("the policy is for %v, the pods have %v", found.Spec.PodSelector.MatchLabels, workload.Spec.Template.Labels)
	}
	if len(found.Spec.Ingress) != 1 || len(found.Spec.Ingress[0].Ports) != 1 {
		t.Fatalf("ingress %+v", found.Spec.Ingress)
	}
	open := *found.Spec.Ingress[0].Ports[0].Port
	container := workload.Spec.Template.Spec.Containers[0]
	if len(container.Ports) != 1 || intstr.FromString(container.Ports[0].Name) != open {
		t.Errorf("open is %s, the container's ports are %+v", open.String(), container.Ports)
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port != open {
			t.Errorf("probe %+v does not use port %s", probe, open.String())
		}
	}
}

// TestOrder checks the order of the objects: applying an object before its namespace or its kind exists would fail.
func TestOrder(t *testing.T) {
	var kinds []string
	for _, object := range all(t) {
		kinds = append(kinds, object.GetKind())
		if object.GetLabels()["app.kubernetes.io/name"] == "" && !slices.Contains([]string{"CustomResourceDefinition", "ClusterRole", "Role"}, object.GetKind()) {
			t.Errorf("%s %s does not say what it belongs to", object.GetKind(), object.GetName())
		}
	}
	if kinds[0] != "Namespace" || slices.Index(kinds, "Deployment") < slices.Index(kinds, "ClusterRoleBinding") {
		t.Errorf("the order is %v", kinds)
	}
	if count := len(slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return kind != "CustomResourceDefinition" })); count != 4 {
		t.Errorf("there are %d kinds of ours", count)
	}
}

func TestTagOfTheFilesWithoutAVersion(t *testing.T) {
	config := os.DirFS("../../config")
	plain, err := render.Folder(config, render.Default, "")
	if err != nil {
		t.Fatal(err)
	}
	stamped, err := render.Folder(config, render.Default, "v9")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(plain, []byte("image: storagebench.invalid/operator:dev\n")) {
		t.Error("the committed files do not name the image `dev`")
	}
	if !bytes.Equal(bytes.ReplaceAll(plain, []byte("storagebench.invalid/operator:dev"), []byte("storagebench.invalid/operator:v9")), stamped) {
		t.Error("a version changes more than the tag")
	}
	if _, err := render.Folder(os.DirFS(t.TempDir()), render.Default, ""); err == nil {
		t.Error("an empty folder gives manifests")
	}
}
