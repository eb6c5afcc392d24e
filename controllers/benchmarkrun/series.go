package benchmarkrun

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/series"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create;update;delete

// keptSeries is how many of a benchmark's newest runs keep their series: one takes up to a megabyte.
const keptSeries = 5

// keepSeries adds what a step did over time to the run's ConfigMap. It comes before the step's result is noted: who dies
// in between does it again. The figures do not depend on it, so that a cluster which does not take it, such as by a
// quota, is told of and the run goes on.
func (r *Reconciler) keepSeries(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, step series.Step) {
	if err := r.addSeries(ctx, run, s, step); err != nil && ctx.Err() == nil {
		r.say(run, corev1.EventTypeWarning, v1alpha1.EventSeriesNotKept, "KeepSeries", "step %s: %s", step.ID, err.Error())
	}
}

func (r *Reconciler) addSeries(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, step series.Step) error {
	if s.series == nil {
		s.series = &series.Log{}
	}
	kept := &corev1.ConfigMap{}
	err := r.direct.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: objects.SeriesName(run.Name)}, kept)
	missing := apierrors.IsNotFound(err)
	switch {
	case err != nil && !missing:
		return fmt.Errorf("read ConfigMap %s: %w", objects.SeriesName(run.Name), err)
	case !missing && !ownedBy(kept, run.UID):
		return fmt.Errorf("ConfigMap %s is there and is not this run's: it is left alone", kept.Name)
	case !missing && s.series.Empty():
		// A process before this one has begun it. What cannot be read is written anew.
		if before, err := series.Decode(kept.BinaryData[objects.SeriesKey]); err == nil {
			s.series = before
		}
	}
	s.series.Add(step)
	encoded, err := s.series.Encode(series.MaxBytes)
	if err != nil {
		return err
	}
	wanted := objects.Series(run, encoded)
	if missing {
		if err := r.client.Create(ctx, wanted); err != nil {
			return fmt.Errorf("create ConfigMap %s: %w", wanted.Name, err)
		}
		return nil
	}
	kept.BinaryData = wanted.BinaryData
	if err := r.client.Update(ctx, kept); err != nil {
		return fmt.Errorf("update ConfigMap %s: %w", kept.Name, err)
	}
	return nil
}

// trimSeries removes the series of all but the newest runs of a benchmark.
func (r *Reconciler) trimSeries(ctx context.Context, run *v1alpha1.BenchmarkRun) error {
	runs := &metav1.PartialObjectMetadataList{}
	runs.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind + "List"))
	if err := r.direct.List(ctx, runs, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelBenchmark: run.Spec.BenchmarkRef.Name}); err != nil {
		return fmt.Errorf("list the runs of benchmark %s: %w", run.Spec.BenchmarkRef.Name, err)
	}
	slices.SortFunc(runs.Items, func(a, b metav1.PartialObjectMetadata) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for i := keptSeries; i < len(runs.Items); i++ {
		old := &v1alpha1.BenchmarkRun{ObjectMeta: runs.Items[i].ObjectMeta}
		if err := r.removeOwn(ctx, old, objects.Series(old, nil)); err != nil {
			return err
		}
	}
	return nil
}
