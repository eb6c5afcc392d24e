package storagebenchmark

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/test/builders"
)

// TestPresetOfAConfigMap checks that a benchmark may use a preset that a ConfigMap adds to the catalog, and that an
// unknown preset is refused.
func TestPresetOfAConfigMap(t *testing.T) {
	ours := builders.CatalogWithFiler(t)
	made := func() *v1alpha1.StorageBenchmark {
		return builders.Benchmark("bench").Target("data").Prepare("layout").Mutate(func(r *v1alpha1.RunSpec) {
			r.Targets[0].Documented = &v1alpha1.Limits{Preset: "my-filer/large"}
			r.Targets[0].Volumes[0] = v1alpha1.Volume{Name: "data", ClaimTemplate: &v1alpha1.ClaimTemplate{Spec: builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")}}
		}).Obj()
	}
	t.Run("known", func(t *testing.T) {
		b := newBed(t)
		b.catalog = func(context.Context) (*limits.Catalog, []string) { return ours, nil }
		b.operator(nil)
		b.put(made())
		if run := b.live(); run.Spec.Run.Targets[0].Documented.Preset != "my-filer/large" {
			t.Errorf("%+v", run.Spec.Run.Targets[0].Documented)
		}
	})
	t.Run("known to nobody", func(t *testing.T) {
		b := newBed(t)
		b.operator(nil)
		b.put(made())
		b.until("a refusal", func(benchmark *v1alpha1.StorageBenchmark) bool {
			stalled := find(benchmark.Status.Conditions, v1alpha1.ConditionStalled)
			return stalled != nil && stalled.Reason == v1alpha1.ReasonInvalidWorkload && strings.Contains(stalled.Message, "my-filer/large")
		})
	})
}
