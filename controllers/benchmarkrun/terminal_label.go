package benchmarkrun

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
)

// isOver is the value of LabelOver on a run that is over.
const isOver = "true"

// notOver selects the runs without LabelOver, which are live or waiting. Listing only these keeps the lists short,
// because thousands of runs may have ended.
func notOver() labels.Selector {
	requirement, err := labels.NewRequirement(v1alpha1.LabelOver, selection.NotEquals, []string{isOver})
	if err != nil {
		panic(err) // cannot happen, because the label and its value are valid constants
	}
	return labels.NewSelector().Add(*requirement)
}

// markOver labels a run that is over. It returns false if the run already has the label.
func markOver(run *v1alpha1.BenchmarkRun) bool {
	if run.Labels[v1alpha1.LabelOver] == isOver {
		return false
	}
	metav1.SetMetaDataLabel(&run.ObjectMeta, v1alpha1.LabelOver, isOver)
	return true
}

// lostStatus detects a run that has begun before but lost its status. It returns the reason why the run must not begin,
// or nil if it may begin. A run that is restored from a backup without its status keeps its label and annotation, but
// gets another UID. It must not begin, because other runs do not wait for a run with the label. If the annotation
// contains the run's own UID, the operator died before it recorded the start, and the run may begin.
func lostStatus(run *v1alpha1.BenchmarkRun) *decide.Failure {
	begun := run.Annotations[v1alpha1.AnnotationBegun]
	if run.Labels[v1alpha1.LabelOver] != isOver && (begun == "" || begun == string(run.UID)) {
		return nil
	}
	return &decide.Failure{
		Reason: v1alpha1.ReasonStopped,
		Message: "the run has begun before but lost its status, for example because it was restored from a backup without its status: " +
			"delete the run",
	}
}

// freesCapacity selects updates of runs that may allow a waiting run to start.
func freesCapacity() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(update event.UpdateEvent) bool {
			before, isRun := update.ObjectOld.(*v1alpha1.BenchmarkRun)
			after, areRuns := update.ObjectNew.(*v1alpha1.BenchmarkRun)
			if !isRun || !areRuns {
				return false
			}
			raised := func(run *v1alpha1.BenchmarkRun) bool {
				return meta.IsStatusConditionFalse(run.Status.Conditions, v1alpha1.ConditionWaiting)
			}
			return before.Labels[v1alpha1.LabelOver] != after.Labels[v1alpha1.LabelOver] ||
				before.Labels[v1alpha1.LabelQueue] != after.Labels[v1alpha1.LabelQueue] ||
				raised(before) && !raised(after)
		},
	}
}
