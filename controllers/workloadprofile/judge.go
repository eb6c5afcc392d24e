package workloadprofile

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// anyDuration stands for that of a phase, which a profile does not know.
const anyDuration = time.Hour

// judge tells what keeps a workload from being run; nil when nothing does.
func judge(spec *v1alpha1.WorkloadProfileSpec) error {
	path := field.NewPath("spec")
	switch spec.EngineKind() {
	case v1alpha1.EngineFio:
		return judgeFio(path.Child("fio"), spec.Fio)
	case v1alpha1.EngineIOR:
		return judgeIOR(path.Child("ior"), spec.IOR)
	case v1alpha1.EngineMdtest:
		return judgeMdtest(path.Child("mdtest"), spec.Mdtest)
	case v1alpha1.EngineCommand:
		return command.Validate(path.Child("command"), spec.Command).ToAggregate()
	default:
		return field.Required(path, "there is no engine in it: give fio, ior, mdtest or command")
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

func judgeIOR(path *field.Path, profile *v1alpha1.IORProfile) error {
	if problems := ior.Validate(path, profile); len(problems) > 0 {
		return problems.ToAggregate()
	}
	// Bound by its work, as in a burst drain: a phase that is bound by time may take less.
	_, err := ior.Arguments(profile, ior.Parameters{Purpose: ior.Measure})
	if err == nil {
		return nil
	}
	// What the newest version does not take an old one may.
	if _, old := ior.Arguments(profile, ior.Parameters{Purpose: ior.Measure, Version: "3.3.0"}); old == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: change the profile", path, err)
}

func judgeMdtest(path *field.Path, profile *v1alpha1.MdtestProfile) error {
	if problems := ior.ValidateMdtest(path, profile); len(problems) > 0 {
		return problems.ToAggregate()
	}
	if _, err := ior.MdtestArguments(profile, ior.Parameters{Purpose: ior.Measure}); err != nil {
		return fmt.Errorf("%s: %w: change the profile", path, err)
	}
	return nil
}
