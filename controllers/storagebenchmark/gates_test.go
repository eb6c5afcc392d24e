package storagebenchmark

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/gitops"
	"github.com/storagebench/storagebench/test/gates"
)

func gitopsFile(tb testing.TB, name string) string {
	tb.Helper()
	text, err := gitops.Files.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// kubectlFolder is removed after all tests. It is empty if no test used kubectl.
var kubectlFolder string

// kubectl returns the administrator's kubectl, created once for all tests.
var kubectl = sync.OnceValues(func() (gates.Kubectl, error) {
	folder, err := os.MkdirTemp("", "kubectl-")
	if err != nil {
		return gates.Kubectl{}, err
	}
	kubectlFolder = folder
	return gates.NewKubectl(context.Background(), clusterConfig, folder)
})

// waited holds the states, as kubectl evaluates them, that kubectl wait was already tested with: each call starts a
// process.
var waited sync.Map

// checkGates checks that the health in Argo CD and the result of kubectl wait agree with kstatus.
func (b *bed) checkGates(kstatus string) {
	b.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.StorageBenchmarkKind))
	if err := cluster.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: "bench"}, object); err != nil {
		b.Fatal(err)
	}
	want := map[string]string{"Current": "Healthy", "Failed": "Degraded", "InProgress": "Progressing"}[kstatus]
	health, err := gates.Argo(b.Context(), gitopsFile(b, "argocd/health-storagebenchmark.lua"), object.Object)
	if err != nil || health.Status != want {
		b.Errorf("Argo CD says %+v, %v, where kstatus says %s", health, err, kstatus)
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	seen := fmt.Sprint(kstatus, observed == object.GetGeneration())
	for _, one := range conditions {
		if condition, ok := one.(map[string]any); ok {
			seen += fmt.Sprintf(" %s=%s", condition["type"], condition["status"])
		}
	}
	if _, known := waited.LoadOrStore(seen, true); known {
		return
	}
	waits, err := kubectl()
	if err != nil {
		b.Fatal(err)
	}
	if ready, err := waits.Ready(b.Context(), b.namespace, "bench"); err != nil || ready != (kstatus == "Current") {
		b.Errorf("kubectl wait says %t, %v, where kstatus says %s", ready, err, kstatus)
	}
}

// TestExamplesHoldTheScripts checks that the example manifests contain the tested scripts.
func TestExamplesHoldTheScripts(t *testing.T) {
	for _, one := range []struct{ manifest, key, script string }{
		{"argocd/argocd-cm.yaml", "resource.customizations.health.storagebench.dev_StorageBenchmark", "argocd/health-storagebenchmark.lua"},
		{"argocd/argocd-cm.yaml", "resource.customizations.health.storagebench.dev_BenchmarkRun", "argocd/health-benchmarkrun.lua"},
		{"argocd/postsync.yaml", "gate.sh", "pipeline/gate.sh"},
	} {
		found := false
		for _, document := range strings.Split(gitopsFile(t, one.manifest), "\n---\n") {
			var config corev1.ConfigMap
			if yaml.Unmarshal([]byte(document+"\n"), &config) == nil && config.Kind == "ConfigMap" && config.Data[one.key] == gitopsFile(t, one.script) {
				found = true
			}
		}
		if !found {
			t.Errorf("%s does not hold %s", one.manifest, one.script)
		}
	}
}

// TestPostSyncHook checks that the hook has a fixed name: by it, Argo CD finds and deletes the Job of the previous
// sync.
func TestPostSyncHook(t *testing.T) {
	found := false
	for _, document := range strings.Split(gitopsFile(t, "argocd/postsync.yaml"), "\n---\n") {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Annotations["argocd.argoproj.io/hook-delete-policy"] != "BeforeHookCreation" {
			continue
		}
		found = true
		if object.Name == "" || object.GenerateName != "" {
			t.Errorf("%s has the name %q and generateName %q", object.Kind, object.Name, object.GenerateName)
		}
	}
	if !found {
		t.Error("no hook is deleted before the next one is created")
	}
}

// TestArgoIgnoresTheStatusOfRuns checks that a change of a run's status does not make Argo CD refresh the application.
// For objects that Argo CD does not track, such as runs, this needs both a setting and an annotation.
func TestArgoIgnoresTheStatusOfRuns(t *testing.T) {
	var config corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(gitopsFile(t, "argocd/argocd-cm.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{v1alpha1.StorageBenchmarkKind, v1alpha1.BenchmarkRunKind} {
		var ignored struct {
			JSONPointers []string `json:"jsonPointers"`
		}
		text := config.Data["resource.customizations.ignoreResourceUpdates."+v1alpha1.GroupVersion.Group+"_"+kind]
		if err := yaml.UnmarshalStrict([]byte(text), &ignored); err != nil || !slices.Equal(ignored.JSONPointers, []string{"/status"}) {
			t.Errorf("%s: %v, %v", kind, ignored, err)
		}
	}
	w := newWorld(t, bench(), claimNamed("data"))
	w.settle()
	if run := w.active(); run.Annotations["argocd.argoproj.io/ignore-resource-updates"] != "true" || toldToStop(run) {
		t.Errorf("annotations of a new run: %v", run.Annotations)
	}
}

// TestHealthOfRuns checks the health that Argo CD shows for a run.
func TestHealthOfRuns(t *testing.T) {
	made := func(end func(*v1alpha1.BenchmarkRun)) map[string]any {
		w := newWorld(t, bench(), claimNamed("data"))
		w.settle()
		run := w.active()
		end(run)
		encoded, err := yaml.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(encoded, &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	for want, end := range map[string]func(*v1alpha1.BenchmarkRun){
		"Progressing": func(run *v1alpha1.BenchmarkRun) { run.Status.Message = "2 of 4 clients are ready" },
		"Healthy":     func(run *v1alpha1.BenchmarkRun) { good(run, begin0) },
		"Degraded":    func(run *v1alpha1.BenchmarkRun) { failed(run, begin0) },
		"Degraded ":   func(run *v1alpha1.BenchmarkRun) { invalid(run, begin0) },
	} {
		health, err := gates.Argo(t.Context(), gitopsFile(t, "argocd/health-benchmarkrun.lua"), made(end))
		if err != nil || health.Status != strings.TrimSpace(want) || health.Message == "" {
			t.Errorf("%+v, %v, want %s", health, err, want)
		}
	}
}

// gateCase describes how the run that the gate requested ends, and the exit code and message that the gate must return.
type gateCase struct {
	name string
	ends func(*bed)
	code int
	told string
	// waits is true if the run must not end before the gate waits for it; otherwise, the gate would mistake the next run
	// for its own.
	waits bool
}

// TestGate checks that the gate for PostSync hooks and pipelines requests a run, waits for its verdict and returns the
// exit code for that verdict, with only the rights that its example grants. The soak test covers more verdicts.
func TestGate(t *testing.T) {
	gateEnds(t,
		gateCase{name: "good", ends: func(b *bed) { b.ends(at(100)) }, code: 0, told: "Passed: run bench-"},
		gateCase{name: "regressed", ends: func(b *bed) { b.ends(at(80)) }, code: 2, told: "Regressed: run bench-"},
		gateCase{name: "not valid", ends: func(b *bed) { b.ends(invalid) }, code: 3, told: "RunInvalid: the results"},
		gateCase{name: "preempted", ends: func(b *bed) { b.loses(preempted) }, code: 1, told: "has no verdict: it was preempted", waits: true},
		gateCase{name: "suspended", ends: func(*bed) {}, code: 1, told: "run bench-"})
}

func gateEnds(t *testing.T, cases ...gateCase) {
	t.Helper()
	if cluster == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.put(claimNamed("data"))
			b.put(with(floor("60M"), compared))
			b.operator(nil)
			b.ends(at(100))
			b.remembers(100_000_000, 101_000_000, 99_000_000, 100_000_000, 101_000_000, 99_000_000)
			timeout := "1m"
			if test.name == "suspended" {
				b.edit(suspend(true))
				timeout = "1s"
			}
			b.steady()
			gate := gateOf(b)
			output, err := os.Create(filepath.Join(b.TempDir(), "output"))
			if err != nil {
				t.Fatal(err)
			}
			defer output.Close()
			command := gate.Command(t.Context(), "/bin/sh", filepath.Join("..", "..", "config", "gitops", "pipeline", "gate.sh"), "bench", b.namespace, timeout)
			command.Stdout, command.Stderr = output, output
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			if test.waits {
				b.until("the gate to wait for its run", func(*v1alpha1.StorageBenchmark) bool {
					return strings.Contains(textOf(b, output), "waiting for the verdict on run bench-")
				})
			}
			test.ends(b)
			_ = command.Wait()
			text := textOf(b, output)
			if code := command.ProcessState.ExitCode(); code != test.code || !strings.Contains(text, test.told) {
				t.Errorf("exit code %d, want %d, and %q in\n%s", code, test.code, test.told, text)
			}
		})
	}
}

func textOf(tb testing.TB, file *os.File) string {
	tb.Helper()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// gateOf creates the objects of the example, and returns a kubectl with the rights of its ServiceAccount.
func gateOf(b *bed) gates.Kubectl {
	b.Helper()
	for _, document := range strings.Split(gitopsFile(b, "argocd/postsync.yaml"), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			b.Fatalf("%v in\n%s", err, document)
		}
		object.SetNamespace(b.namespace)
		if object.GetKind() == "RoleBinding" {
			subject := []any{map[string]any{"kind": rbacv1.ServiceAccountKind, "name": "storage-gate", "namespace": b.namespace}}
			if err := unstructured.SetNestedSlice(object.Object, subject, "subjects"); err != nil {
				b.Fatal(err)
			}
		}
		// Strict validation refuses unknown fields.
		if err := cluster.Create(b.Context(), object, &client.CreateOptions{Raw: &metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}}); err != nil {
			b.Fatalf("%s: %v", object.GetKind(), err)
		}
	}
	as := rest.CopyConfig(clusterConfig)
	as.Impersonate = rest.ImpersonationConfig{UserName: fmt.Sprintf("system:serviceaccount:%s:storage-gate", b.namespace)}
	b.mayRead(as)
	gate, err := gates.NewKubectl(b.Context(), as, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	return gate
}

// mayRead waits until newly granted rights take effect.
func (b *bed) mayRead(as *rest.Config) {
	b.Helper()
	reader, err := client.New(as, client.Options{Scheme: fullScheme})
	if err != nil {
		b.Fatal(err)
	}
	b.until("the rights of the gate", func(benchmark *v1alpha1.StorageBenchmark) bool {
		return reader.Get(b.Context(), client.ObjectKeyFromObject(benchmark), benchmark.DeepCopy()) == nil
	})
}
