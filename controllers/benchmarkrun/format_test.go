package benchmarkrun

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestRunOfAnotherPlanner checks that a live run follows its stored steps, even under a new operator that would plan
// other steps.
func TestRunOfAnotherPlanner(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]func(*v1alpha1.BenchmarkRun){
		"format 1": func(run *v1alpha1.BenchmarkRun) {
			run.Spec.Format, run.Spec.DatasetHash = nil, ""
			for i := range run.Spec.Steps {
				run.Spec.Steps[i].NewBytes = nil
			}
		},
		"other steps": func(run *v1alpha1.BenchmarkRun) {
			for i := range run.Spec.Steps {
				run.Spec.Steps[i].ID = "x" + run.Spec.Steps[i].ID
			}
			run.Spec.Steps = run.Spec.Steps[:2] // the current planner plans one more
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, gate := newWorld(t), newGate(t)
			run := w.startAs("run", gate.benchmark().Steady("after", "1s"), older)
			w.until(run, "writing", running(run, run.Spec.Steps[1].ID))
			w.stop()
			w.operate()
			gate.open(t)
			w.until(run, "over", over(run))
			if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
				t.Errorf("conditions %+v", run.Status.Conditions)
			}
			var want, got []string
			for i := range run.Spec.Steps {
				want = append(want, run.Spec.Steps[i].ID)
			}
			for i := range run.Status.Steps {
				if fact := &run.Status.Steps[i]; fact.State == v1alpha1.StepSucceeded {
					got = append(got, fact.ID)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("steps %v, stored were %v", got, want)
			}
			w.clean()
		})
	}
}

// TestRunOfANewerFormat checks that a run with a newer format fails before anything is created, with a message that
// says which version of the operator can conduct it.
func TestRunOfANewerFormat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.startAs("run", small(), func(run *v1alpha1.BenchmarkRun) { run.Spec.Format = new(plan.Format + 1) })
	w.until(run, "over", over(run))
	why := reason(run, v1alpha1.ConditionFailed)
	if !strings.Contains(why, "InvalidWorkload: spec.format is") || !strings.Contains(why, "use the version that created the run, or a newer one") {
		t.Errorf("failed: %s", why)
	}
	if !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
		t.Errorf("data: %s, left %+v", reason(run, v1alpha1.ConditionDataRemoved), run.Status.DataLeft)
	}
	var pods corev1.PodList
	must(t, api.List(t.Context(), &pods, client.InNamespace(w.namespace)))
	if len(pods.Items) > 0 {
		t.Errorf("pod %s was made", pods.Items[0].Name)
	}
}

// TestRunWithAPresetOfAConfigMap checks that a run whose preset is only in a ConfigMap begins, and completes under a
// later operator without that ConfigMap.
func TestRunWithAPresetOfAConfigMap(t *testing.T) {
	t.Parallel()
	ours := builders.CatalogWithFiler(t)
	w, gate := newQuietWorld(t), newGate(t)
	w.runPods()
	w.catalog = func(context.Context) (*limits.Catalog, []string) { return ours, nil }
	w.operate()
	t.Cleanup(func() { w.stop() })
	run := w.startAs("run", gate.benchmark(), func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Run.Targets[0].Documented = &v1alpha1.Limits{Preset: "my-filer/large"}
	})
	w.until(run, "writing", func() bool { return running(run, run.Spec.Steps[1].ID)() || over(run)() })
	w.stop()
	w.catalog = nil
	w.operate()
	gate.open(t)
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", run.Status.Conditions)
	}
}

// TestUnreadableLimits checks that an unknown preset is a final error only if all limits could be read. If the
// ConfigMap is unreadable, the preset may be in it, and the run is retried.
func TestUnreadableLimits(t *testing.T) {
	r := offline(t, interceptor.Funcs{})
	run := crowded(t, "run", crowd("claim", 1, 1))
	run.Spec.Run.Targets[0].Documented = &v1alpha1.Limits{Preset: "my-filer/large"}
	for _, notes := range [][]string{nil, {"the ConfigMap cannot be read"}} {
		r.options.Catalog = func(context.Context) (*limits.Catalog, []string) { return nil, notes }
		_, err := r.thaw(t.Context(), run)
		if _, final := errors.AsType[*cannotConduct](err); err == nil || final != (notes == nil) {
			t.Errorf("with notes %q: %v", notes, err)
		}
	}
}
