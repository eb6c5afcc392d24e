package benchmarkrun

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/series"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create

// wholeSteps is in how many steps of a run each may fill a ConfigMap. Where there are more, each has less.
const wholeSteps = 16

// keepSeries puts what a step did over time into a ConfigMap of its own. It comes before the step's result is noted: who
// dies in between does it again. The figures do not depend on it, so that a cluster which does not take it, such as by a
// quota, is told of and the run goes on.
func (r *Reconciler) keepSeries(ctx context.Context, run *v1alpha1.BenchmarkRun, step series.Step) {
	if err := r.addSeries(ctx, run, step); err != nil && ctx.Err() == nil {
		r.say(run, corev1.EventTypeWarning, v1alpha1.EventSeriesNotKept, "KeepSeries", "step %s: %s", step.ID, err.Error())
	}
}

func (r *Reconciler) addSeries(ctx context.Context, run *v1alpha1.BenchmarkRun, step series.Step) error {
	log := &series.Log{}
	log.Add(step)
	encoded, err := log.Encode(min(series.MaxBytes, wholeSteps*series.MaxBytes/max(1, len(run.Spec.Steps))))
	if err != nil {
		return err
	}
	made := objects.Series(run, step.ID, step.Attempt, encoded)
	// One that is there already was made by a process before this one, of the same attempt. Whoever reads it looks
	// whose it is.
	if err := r.client.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ConfigMap %s: %w", made.Name, err)
	}
	return nil
}
