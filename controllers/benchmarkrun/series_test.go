package benchmarkrun

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/series"
)

// checkSeries checks that a ConfigMap owned by the run stores the time series of each step.
func checkSeries(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	attempts := map[string]int{}
	for _, fact := range run.Status.Steps {
		attempts[fact.ID] = max(attempts[fact.ID], int(fact.Attempt))
	}
	for _, step := range run.Spec.Steps {
		var kept corev1.ConfigMap
		must(t, api.Get(t.Context(), client.ObjectKey{Namespace: run.Namespace, Name: objects.SeriesName(run.Name, step.ID, attempts[step.ID])}, &kept))
		if !ownedBy(&kept, run.UID) || kept.Labels[v1alpha1.LabelRun] != run.Name {
			t.Errorf("the ConfigMap of the series does not belong to the run: %+v", kept.ObjectMeta)
		}
		log, err := series.Decode(kept.BinaryData[objects.SeriesKey])
		must(t, err)
		target := log.Step(step.ID).Target(step.Targets[0])
		// A series may lack points if its clients did not run at the same time, or if a layout took less than a quarter of a
		// second.
		short := step.ID == "00-layout" || !slices.ContainsFunc(run.Status.Phases, func(p v1alpha1.PhaseResult) bool {
			return p.Name == step.Phase && p.Targets[0].WindowNanoseconds > 0
		})
		if target == nil || len(target.Points) == 0 && !short || len(target.Latency) == 0 || len(target.Minutes) == 0 {
			t.Errorf("step %s has no series: %+v", step.ID, target)
			continue
		}
		if len(target.Points) == 0 {
			continue
		}
		if at := time.Unix(0, target.Points[0].StartNanoseconds); at.Before(run.Status.StartTime.Time) || at.After(run.Status.EndTime.Time) {
			t.Errorf("step %s began at %s", step.ID, at)
		}
	}
}
