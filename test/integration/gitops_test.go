package integration

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/discovery"
	"k8s.io/kube-openapi/pkg/util/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/admission/admissiontest"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/gates"
	"github.com/storagebench/storagebench/test/golden"
)

// TestSecondApplyChangesNothing applies each sample and each accepted case twice, as GitOps tools do. The second apply
// must change nothing, and no tool may find a difference between the file and the live object. A default inside a list
// would be one: the file owns the list as a whole, so Argo CD with server-side apply would be OutOfSync forever.
func TestSecondApplyChangesNothing(t *testing.T) {
	needsCluster(t)
	schema := publishedSchema(t)
	for name, file := range applied(t) {
		t.Run(name, func(t *testing.T) {
			t.Run("server-side", func(t *testing.T) { appliedByServer(t, file, schema) })
			t.Run("client-side", func(t *testing.T) { appliedByClient(t, file) })
		})
	}
}

func appliedByServer(t *testing.T, file *unstructured.Unstructured, schema *managedfields.GvkParser) {
	t.Helper()
	apply := func(manager string, options ...client.ApplyOption) *unstructured.Unstructured {
		t.Helper()
		object := file.DeepCopy()
		options = append(options, client.FieldOwner(manager), client.ForceOwnership)
		if err := cluster.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
			t.Fatal(err)
		}
		return object
	}
	apply(gates.ArgoManager)
	removeAfter(t, file)
	live := get(t, file, like(file))
	if found, err := gates.ArgoApplyDiff(file, live, schema); err != nil || found != "" {
		t.Errorf("Argo CD with ServerSideApply is OutOfSync: %v (-live +expected)\n%s", err, found)
	}
	expected := apply(gates.ArgoManager, client.DryRunAll)
	if diff := cmp.Diff(unmanaged(live), unmanaged(expected)); diff != "" {
		t.Errorf("Argo CD with server-side diff is OutOfSync (-live +expected)\n%s", diff)
	}
	apply(gates.ArgoManager)
	again := get(t, file, like(file))
	// Creation stores no status, so the next write of any kind stores its default: a new version of an equal object.
	again.SetResourceVersion(live.GetResourceVersion())
	if diff := cmp.Diff(live.Object, again.Object); diff != "" {
		t.Errorf("a second apply has changed the object (-first +second)\n%s", diff)
	}
	// Flux applies after Argo CD.
	apply("kustomize-controller")
	if diff := cmp.Diff(live.Object["spec"], get(t, file, like(file)).Object["spec"]); diff != "" {
		t.Errorf("another manager's apply has changed the spec (-first +second)\n%s", diff)
	}
}

func appliedByClient(t *testing.T, file *unstructured.Unstructured) {
	t.Helper()
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	modified := file.DeepCopy()
	annotations := modified.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(text)
	modified.SetAnnotations(annotations)
	if err := cluster.Create(t.Context(), modified.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	removeAfter(t, file)
	live := get(t, file, like(file))
	if found, err := gates.ArgoDiff(file, live); err != nil || found != "" {
		t.Errorf("Argo CD is OutOfSync: %v (-live +expected)\n%s", err, found)
	}
	// The patch that kubectl apply sends; {} means "unchanged".
	documents := make([][]byte, 2)
	for i, object := range []*unstructured.Unstructured{modified, live} {
		if documents[i], err = json.Marshal(object); err != nil {
			t.Fatal(err)
		}
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(text, documents[0], documents[1])
	if err != nil || string(patch) != "{}" {
		t.Errorf("kubectl apply is not \"unchanged\", it sends %s, %v", patch, err)
	}
}

// applied returns the objects of all samples, and the accepted cases of the kinds that people apply.
func applied(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, pattern := range []string{"*.yaml", "twins/*.yaml"} {
		files, err := filepath.Glob("../../config/samples/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no samples %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for document := range strings.SplitSeq("\n"+string(text), "\n---\n") {
				object := &unstructured.Unstructured{}
				encoded, err := yaml.YAMLToJSON([]byte(document))
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				if err := object.UnmarshalJSON(encoded); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				all[strings.TrimPrefix(file, "../../config/samples/")+" "+object.GetKind()+" "+object.GetName()] = object
			}
		}
	}
	cases, err := admissiontest.Accepted()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range cases {
		object := &unstructured.Unstructured{Object: one.Object}
		if object.GetKind() == v1alpha1.BenchmarkRunKind || holdsNull(one.Object) {
			continue // people do not apply runs, and server-side apply refuses null
		}
		all["case "+one.Name] = object
	}
	for _, object := range all {
		if object.GetNamespace() == "" && object.GetKind() != v1alpha1.ClusterWorkloadProfileKind {
			object.SetNamespace(metav1.NamespaceDefault)
		}
	}
	return all
}

func holdsNull(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), holdsNull)
	case []any:
		return slices.ContainsFunc(value, holdsNull)
	}
	return false
}

// publishedSchema returns the schema by which Argo CD merges. The API server publishes that of a CRD with a delay.
func publishedSchema(t *testing.T) *managedfields.GvkParser {
	t.Helper()
	asked, err := discovery.NewDiscoveryClientForConfig(administrator)
	if err != nil {
		t.Fatal(err)
	}
	for {
		document, err := asked.OpenAPISchema()
		if err != nil {
			t.Fatal(err)
		}
		models, err := proto.NewOpenAPIData(document)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := managedfields.NewGVKParser(models, false)
		if err != nil {
			t.Fatal(err)
		}
		complete := true
		for _, kind := range []string{
			v1alpha1.StorageBenchmarkKind, v1alpha1.WorkloadProfileKind, v1alpha1.ClusterWorkloadProfileKind,
		} {
			complete = complete && schema.Type(v1alpha1.GroupVersion.WithKind(kind)) != nil
		}
		if complete {
			return schema
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func like(object *unstructured.Unstructured) *unstructured.Unstructured {
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(object.GroupVersionKind())
	return empty
}

func unmanaged(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	return object.Object
}

func removeAfter(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := client.IgnoreNotFound(cluster.Delete(context.Background(), object.DeepCopy())); err != nil {
			t.Error(err)
		}
	})
}

// TestHashesOfStoredBenchmarks checks that a benchmark that was stored with defaults inside lists, which an earlier
// schema set, has the same hash as its file without them. Otherwise an update of the operator, or the next apply, would
// start a run. The golden hashes were recorded with that schema.
func TestHashesOfStoredBenchmarks(t *testing.T) {
	var lines []string
	for name, file := range applied(t) {
		if file.GetKind() != v1alpha1.StorageBenchmarkKind {
			continue
		}
		if problems, err := admission.Check(t.Context(), file.Object); err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v, %v", name, problems, err)
		}
		benchmark := &v1alpha1.StorageBenchmark{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(file.Object, benchmark); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines = append(lines, plan.RunHash(&benchmark.Spec.Run)+" "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[16:], b[16:]) })
	golden.Check(t, "hashes", strings.Join(lines, ""))
}
