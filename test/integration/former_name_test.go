package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/hang"
)

// TestFormerName checks that a benchmark that was stored when the field documented was still called limits keeps its
// limits and can be updated, but that a new one is refused. To store one, the test removes the rule that refuses it for
// a moment.
func TestFormerName(t *testing.T) {
	needsCluster(t)
	const rule = "!has(self.limits)"
	targets := func(definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
		run := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["run"].Properties["targets"]
		return run.Items.Schema
	}
	kinds := runtime.NewScheme()
	must(t, apiextensionsv1.AddToScheme(kinds))
	definitions, err := client.New(administrator, client.Options{Scheme: kinds})
	must(t, err)
	var definition apiextensionsv1.CustomResourceDefinition
	must(t, definitions.Get(t.Context(), client.ObjectKey{Name: "storagebenchmarks.storagebench.dev"}, &definition))
	rules := slices.Clone(targets(&definition).XValidations)
	changed := slices.DeleteFunc(slices.Clone(rules), func(r apiextensionsv1.ValidationRule) bool { return r.Rule == rule })
	if len(changed) != len(rules)-1 {
		t.Fatalf("%d rules, of which %d are %s", len(rules), len(rules)-len(changed), rule)
	}
	change := func(rules apiextensionsv1.ValidationRules) {
		before := definition.DeepCopy()
		targets(&definition).XValidations = rules
		must(t, definitions.Patch(t.Context(), &definition, client.MergeFrom(before)))
	}
	named := func(name string) *v1alpha1.StorageBenchmark {
		made := builders.Benchmark(name).Target("data").Workload(builders.Fio()).Prepare("layout").Obj()
		made.Namespace = metav1.NamespaceDefault
		made.Spec.Run.Targets[0].Limits = &v1alpha1.Limits{Preset: "aws-fsx-windows/hdd-32"}
		return made
	}

	refused := cluster.Create(t.Context(), named("new"))
	if !apierrors.IsInvalid(refused) || !strings.Contains(refused.Error(), "renamed; use documented instead") {
		t.Errorf("a new benchmark with limits: %v", refused)
	}
	change(changed)
	hang.Until(t, "a benchmark with limits to be stored", func() bool { return cluster.Create(t.Context(), named("stored")) == nil })
	change(rules)
	hang.Until(t, "the rule to be in force again", func() bool {
		return cluster.Create(t.Context(), named("new"), client.DryRunAll) != nil
	})

	found := get(t, named("stored"), &v1alpha1.StorageBenchmark{})
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := cluster.Delete(context.Background(), found); err != nil {
			t.Error(err)
		}
	})
	if limits := found.Spec.Run.Targets[0].DocumentedLimits(); limits == nil || limits.Preset != "aws-fsx-windows/hdd-32" {
		t.Errorf("the stored limits are %+v", limits)
	}
	found.Spec.Suspend = ptr.To(true)
	if err := cluster.Update(t.Context(), found); err != nil {
		t.Errorf("an update of another field is refused: %v", err)
	}
	found.Spec.Run.Targets[0].Path = "bench"
	if err := cluster.Update(t.Context(), found); !apierrors.IsInvalid(err) {
		t.Errorf("an update of the target: %v", err)
	}
}
