package workloadprofile

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// anyDuration stands in for the duration of the phase, which a profile does not contain.
const anyDuration = time.Hour

// judge returns the reason why a workload cannot be run, or nil if it can.
func judge(spec *v1alpha1.WorkloadProfileSpec) error {
	path, load := field.NewPath("spec"), engines.Of(&spec.Engine)
	if load.Kind == "" {
		return field.Required(path, engines.Missing())
	}
	path = path.Child(string(load.Kind))
	if problems := load.Validate(path); len(problems) > 0 {
		return problems.ToAggregate()
	}
	// Check the workload as the load of a drain, because a drain accepts the most settings. Some engines support fewer
	// settings in a phase of fixed duration.
	drain := engine.Step{Purpose: v1alpha1.StepDrain, Clients: 1, Processes: 1, Duration: anyDuration}
	if err := load.Prove(&drain); err != nil {
		return fmt.Errorf("%s: %w: change the profile", path, err)
	}
	made, err := load.Describe(&drain)
	if err != nil {
		return fmt.Errorf("%s: %w: change the profile", path, err)
	}
	if made.Files == nil || made.NoStorage {
		return nil // no layout to check: the workload has no files to lay out, or its tool creates them itself
	}
	layout := engine.Step{Purpose: v1alpha1.StepPrepare, Clients: 1, Processes: 1}
	if err := load.Prove(&layout); err != nil {
		return fmt.Errorf("%s: cannot lay out the files: %w: change the profile", path, err)
	}
	return nil
}
