package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// override replaces what a phase changes in its workload by a workload of its own, which is all that the rest of the
// plan and a run know.
func (r *resolver) override(path *field.Path, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) {
	change := phase.Override
	if change == nil {
		return
	}
	phase.Override = nil
	path = path.Child("override")
	if len(phase.TargetWorkloads) > 0 {
		r.problems = append(r.problems, field.Forbidden(path, "it changes the workload of all targets: remove it, or targetWorkloads"))
		return
	}
	base := phase.Workload
	if base == nil {
		base = run.Workload
	}
	if base == nil || base.ProfileRef != nil || base.EngineKind() == "" || len(engines.Of(&base.Engine).Validate(path)) > 0 {
		return // reported where the workload is
	}
	made := base.DeepCopy()
	switch {
	case change.Fio != nil && made.Fio != nil && made.Fio.JobFile != "":
		r.problems = append(r.problems, field.Forbidden(path.Child("fio"),
			"the jobFile of the workload has all settings: give the phase a workload of its own"))
		return
	case change.Fio != nil && made.Fio != nil:
		overrideFio(made.Fio, change.Fio)
	case change.IOR != nil && made.IOR != nil:
		overrideIOR(made.IOR, change.IOR)
	default:
		r.problems = append(r.problems, field.Invalid(path, field.OmitValueType{},
			fmt.Sprintf("the workload is one of %s: only fio and ior have an override, each its own", made.EngineKind())))
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
	// A file could not remove it: the API server drops fields that are null.
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
