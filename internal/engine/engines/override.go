package engines

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Override applies a phase's override to a workload. It returns an error if the workload does not support the override.
func Override(made *v1alpha1.Engine, change *v1alpha1.WorkloadOverride, path *field.Path) *field.Error {
	switch {
	case change.Fio != nil && made.Fio != nil && made.Fio.JobFile != "":
		return field.Forbidden(path.Child("fio"), "a jobFile cannot be overridden, because it contains all settings: use a separate workload for the phase")
	case change.Fio != nil && made.Fio != nil:
		overrideFio(made.Fio, change.Fio)
	case change.IOR != nil && made.IOR != nil:
		overrideIOR(made.IOR, change.IOR)
	default:
		return field.Invalid(path, field.OmitValueType{},
			fmt.Sprintf("the workload uses %s, to which this override does not apply: set override.fio for a fio workload, override.ior for an ior workload, or use a separate workload for the phase", made.EngineKind()))
	}
	return nil
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
	// An override with sequential I/O also removes randomDistribution, which applies only to random I/O. Users cannot
	// remove it with a null value, because the API server drops null fields.
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
