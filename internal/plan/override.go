package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// override applies the override of a phase to its workload, and gives the phase the resulting workload. Only that
// workload is known to the rest of the plan and to a run.
func (r *resolver) override(path *field.Path, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) {
	change := phase.Override
	if change == nil {
		return
	}
	phase.Override = nil
	path = path.Child("override")
	if len(phase.TargetWorkloads) > 0 {
		r.problems = append(r.problems, field.Forbidden(path, "cannot be combined with targetWorkloads: give each of them the changed workload"))
		return
	}
	base := phase.Workload
	if base == nil {
		base = run.Workload
	}
	if base == nil || base.ProfileRef != nil || base.EngineKind() == "" || len(engines.Of(&base.Engine).Validate(path)) > 0 {
		return // reported for the workload itself
	}
	made := base.DeepCopy()
	switch {
	case change.Fio != nil && made.Fio != nil && made.Fio.JobFile != "":
		r.problems = append(r.problems, field.Forbidden(path.Child("fio"),
			"cannot override a jobFile, which holds all settings: give the phase its own workload"))
		return
	case change.Fio != nil && made.Fio != nil:
		overrideFio(made.Fio, change.Fio)
	case change.IOR != nil && made.IOR != nil:
		overrideIOR(made.IOR, change.IOR)
	default:
		r.problems = append(r.problems, field.Invalid(path, field.OmitValueType{},
			fmt.Sprintf("the workload uses %s: only fio and ior workloads can be overridden, each by the field of its name", made.EngineKind())))
		return
	}
	phase.Workload = made
}

func overrideFio(profile *v1alpha1.FioProfile, change *v1alpha1.FioOverride) {
	change = change.DeepCopy()
	replaceText(&profile.Pattern, change.Pattern)
	replaceText(&profile.RandomDistribution, change.RandomDistribution)
	replace(&profile.ReadPercent, change.ReadPercent)
	replace(&profile.BlockSize, change.BlockSize)
	replace(&profile.Jobs, change.Jobs)
	replace(&profile.QueueDepth, change.QueueDepth)
	replace(&profile.Direct, change.Direct)
	replace(&profile.RateLimit, change.RateLimit)
	replace(&profile.Fsync, change.Fsync)
	// A file cannot remove the field itself: the API server drops fields that are null.
	if change.Pattern == v1alpha1.FioSequential && change.RandomDistribution == "" {
		profile.RandomDistribution = ""
	}
}

func overrideIOR(profile *v1alpha1.IORProfile, change *v1alpha1.IOROverride) {
	change = change.DeepCopy()
	if len(change.Operations) > 0 {
		profile.Operations = change.Operations
	}
	if change.TransferSize != nil {
		profile.TransferSize = *change.TransferSize
	}
	replace(&profile.Random, change.Random)
	replace(&profile.Direct, change.Direct)
	replaceText(&profile.ReorderTasks, change.ReorderTasks)
}

func replace[T any](setting **T, with *T) {
	if with != nil {
		*setting = with
	}
}

func replaceText[T ~string](setting *T, with T) {
	if with != "" {
		*setting = with
	}
}
