package plan

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// override applies the override of a phase to its workload, and stores the result as the phase's workload. The rest of
// the plan and the run use only this result.
func (r *resolver) override(path *field.Path, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) {
	change := phase.Override
	if change == nil {
		return
	}
	phase.Override = nil
	path = path.Child("override")
	if len(phase.TargetWorkloads) > 0 {
		r.problems = append(r.problems, field.Forbidden(path, "cannot be combined with targetWorkloads: set the changed workload in each of them"))
		return
	}
	base := cmp.Or(phase.Workload, run.Workload)
	if base == nil || base.ProfileRef != nil || base.EngineKind() == "" || len(engines.Of(&base.Engine).Validate(path)) > 0 {
		return // the workload is invalid: maker.workload reports the path of the invalid field
	}
	made := base.DeepCopy()
	if problem := engines.Override(&made.Engine, change, path); problem != nil {
		r.problems = append(r.problems, problem)
		return
	}
	phase.Workload = made
}
