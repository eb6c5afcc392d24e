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

// wholeSteps limits the total size of a run's time series. In a run with up to this number of steps, the series of each
// step may fill a ConfigMap. With more steps, each step gets proportionally less space.
const wholeSteps = 16

// observationsPart is the name of the part of a run's series that holds its observations. No step has this name,
// because the IDs of steps end with a number.
const observationsPart = "observations"

// keepSeries stores the time series of one step, or of all observations, in a ConfigMap of their own. The ConfigMap is
// created before the result is recorded. If this process dies in between, the next process records the result again and
// creates the ConfigMap again. If the cluster rejects the ConfigMap, for example because of a quota, an event reports
// the error. The run continues, because no figure of the result depends on the series.
func (r *Reconciler) keepSeries(ctx context.Context, run *v1alpha1.BenchmarkRun, part string, attempt int, log *series.Log) {
	if err := r.addSeries(ctx, run, part, attempt, log); err != nil && ctx.Err() == nil {
		r.sendEvent(run, corev1.EventTypeWarning, v1alpha1.EventSeriesNotKept, "KeepSeries", "%s: %s", part, err.Error())
	}
}

func (r *Reconciler) addSeries(ctx context.Context, run *v1alpha1.BenchmarkRun, part string, attempt int, log *series.Log) error {
	encoded, err := log.Encode(min(series.MaxBytes, wholeSteps*series.MaxBytes/max(1, len(run.Spec.Steps))))
	if err != nil {
		return err
	}
	made := objects.Series(run, part, attempt, encoded)
	// An existing ConfigMap is not an error, because an earlier process created it for the same attempt. Readers verify
	// its owner.
	if err := r.client.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ConfigMap %s: %w", made.Name, err)
	}
	return nil
}
