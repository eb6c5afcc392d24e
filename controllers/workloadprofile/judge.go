package workloadprofile

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// anyDuration stands for that of a phase, which a profile does not know.
const anyDuration = time.Hour

// judge tells what keeps a workload from being run; nil when nothing does.
func judge(spec *v1alpha1.WorkloadProfileSpec) error {
	path := field.NewPath("spec")
	switch engine := spec.EngineKind(); engine {
	case v1alpha1.EngineFio:
		return judgeFio(path.Child("fio"), spec.Fio)
	case v1alpha1.EngineIOR, v1alpha1.EngineMdtest, v1alpha1.EngineCommand:
		// Admission refuses it in new objects; it may be in one of another version.
		return field.Forbidden(path.Child(string(engine)), "not built yet in this version: use fio")
	default:
		return field.Required(path, "there is no engine in it: give fio")
	}
}

func judgeFio(path *field.Path, profile *v1alpha1.FioProfile) error {
	if problems := fio.Validate(path, profile); len(problems) > 0 {
		return problems.ToAggregate()
	}
	if _, err := fio.Render(profile, fio.Parameters{Purpose: fio.Measure, Duration: anyDuration}); err != nil {
		return fmt.Errorf("%s: %w: change the profile", path, err)
	}
	_, err := fio.Render(profile, fio.Parameters{Purpose: fio.Prepare})
	if err != nil && !errors.Is(err, fio.ErrNothingToPrepare) {
		return fmt.Errorf("%s: its files cannot be laid out: %w: change the profile", path, err)
	}
	return nil
}
