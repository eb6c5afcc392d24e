package manifests

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/hang"
)

const admissionFile = "../../config/admission/limit_benchmarks.yaml"

// TestAdmissionPolicy checks that a real API server with config/admission refuses what the file says, in the namespaces
// that the policy applies to, and nothing else.
func TestAdmissionPolicy(t *testing.T) {
	admin := as(t, "")
	text, err := os.ReadFile(admissionFile)
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatal(err)
		}
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(t.Context(), object) })
	}
	spaces := map[string]string{}
	for name, labels := range map[string]map[string]string{"limited": {"example.com/limit-benchmarks": "yes"}, "free": nil} {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: labels}}
		if err := admin.Create(t.Context(), space); err != nil {
			t.Fatal(err)
		}
		spaces[name] = space.Name
	}
	usual := func() *builders.BenchmarkBuilder {
		return builders.Benchmark("bench").Target("data").Clients(2).Workload(builders.Fio()).Prepare("layout").Steady("write", "1m")
	}
	command := v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"dd"}}}
	template := func(template v1alpha1.PodTemplate) *builders.BenchmarkBuilder {
		return usual().Mutate(func(run *v1alpha1.RunSpec) { run.Clients.Template = &template })
	}
	refused := map[string]struct {
		benchmark *builders.BenchmarkBuilder
		says      string
	}{
		"a command for all phases": {usual().Load(command), "the engine `command`"},
		"a command for a phase":    {usual().WithLoad(command), "the engine `command`"},
		"a command for a target":   {usual().ForLoad("data", command), "the engine `command`"},
		"a raw device":             {usual().Mutate(func(run *v1alpha1.RunSpec) { run.Targets[0].AllowRawDeviceWrites = new(true) }), "allowRawDeviceWrites"},
		"an image":                 {usual().Mutate(func(run *v1alpha1.RunSpec) { run.Clients.Image = "example.org/miner" }), "registry.example.com/storagebench/"},
		"too many clients":         {usual().Target("more").Clients(9), "at most 16 clients over all targets, not 18"},
		"a toleration":             {template(v1alpha1.PodTemplate{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}), "tolerations"},
		"annotations":              {template(v1alpha1.PodTemplate{Annotations: map[string]string{"a": "b"}}), "annotations"},
		"a node label":             {template(v1alpha1.PodTemplate{NodeSelector: map[string]string{"a": "b"}}), "nodeSelector"},
		"an affinity":              {template(v1alpha1.PodTemplate{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}}), "affinity"},
		"a spread over nodes":      {template(v1alpha1.PodTemplate{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}}}), "topologySpreadConstraints"},
		"root":                     {template(v1alpha1.PodTemplate{SecurityContext: &v1alpha1.ClientSecurityContext{RunAsUser: new(int64(0))}}), "runAsUser: 0"},
		"a priority":               {template(v1alpha1.PodTemplate{PriorityClassName: "system-node-critical"}), "priorityClassName"},
		"the node's network":       {template(v1alpha1.PodTemplate{HostNetwork: new(true)}), "hostNetwork"},
	}
	try := func(space string, benchmark *builders.BenchmarkBuilder) error {
		object := benchmark.Obj()
		object.Namespace = spaces[space]
		return admin.Create(t.Context(), object, client.DryRunAll)
	}
	// The API server enforces a new policy after a moment.
	hang.Until(t, "the policy holds", func() bool { return try("limited", refused["an image"].benchmark) != nil })
	for name, test := range refused {
		if err := try("limited", test.benchmark); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err := try("free", test.benchmark); err != nil {
			t.Errorf("%s in a namespace without limits: %v", name, err)
		}
		// Settings from a profile are in the run only, so the policy must apply to runs as well.
		run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: spaces["limited"], Name: "run"}}
		run.Spec.BenchmarkRef, run.Spec.Hash, run.Spec.Run = v1alpha1.BenchmarkReference{Name: "bench"}, strings.Repeat("a", 64), *test.benchmark.Run()
		run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "00-write", Phase: "write", Kind: v1alpha1.PhaseSteady, Purpose: v1alpha1.StepMeasure,
			Targets: []string{"data"}, Clients: 1, MaxDuration: "1m"}}
		if err := admin.Create(t.Context(), run, client.DryRunAll); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("a run with %s: %v", name, err)
		}
	}
	heldFromThen(t, admin, spaces["free"], refused["an image"].benchmark.Obj())
	for name, benchmark := range map[string]*builders.BenchmarkBuilder{
		"nothing special":      usual(),
		"an image that may be": usual().Mutate(func(run *v1alpha1.RunSpec) { run.Clients.Image = "registry.example.com/storagebench/fio:1" }),
		"sixteen clients":      usual().Target("more").Clients(8),
		"another user":         template(v1alpha1.PodTemplate{SecurityContext: &v1alpha1.ClientSecurityContext{RunAsUser: new(int64(1000))}}),
		"a group alone":        template(v1alpha1.PodTemplate{SecurityContext: &v1alpha1.ClientSecurityContext{FSGroup: new(int64(7))}}),
		"pods with a label":    template(v1alpha1.PodTemplate{Labels: map[string]string{"a": "b"}}),
	} {
		if err := try("limited", benchmark); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// heldFromThen checks that a benchmark that existed before its namespace was limited can still be labelled and deleted
// in the foreground, but that a new specification is refused.
func heldFromThen(t *testing.T, admin client.Client, space string, benchmark *v1alpha1.StorageBenchmark) {
	t.Helper()
	benchmark.Namespace = space
	if err := admin.Create(t.Context(), benchmark); err != nil {
		t.Fatal(err)
	}
	limited := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}
	merge := func(object client.Object, text string) error {
		return admin.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(text)))
	}
	if err := merge(limited, `{"metadata":{"labels":{"example.com/limit-benchmarks":"yes"}}}`); err != nil {
		t.Fatal(err)
	}
	var refusal error
	for deadline := time.Now().Add(hang.Guard); refusal == nil && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		suspend := benchmark.DeepCopy()
		suspend.Spec.Suspend = new(suspend.Spec.Suspend == nil || !*suspend.Spec.Suspend)
		if refusal = admin.Update(t.Context(), suspend); refusal == nil {
			benchmark = suspend
		}
	}
	if refusal == nil || !strings.Contains(refusal.Error(), "registry.example.com") {
		t.Errorf("a new specification of a benchmark that is not allowed: %v", refusal)
	}
	if err := merge(benchmark.DeepCopy(), `{"metadata":{"labels":{"team":"storage"},"finalizers":["foregroundDeletion"]}}`); err != nil {
		t.Errorf("a benchmark that existed before can no longer be labelled or deleted: %v", err)
	}
}
