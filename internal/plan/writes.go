package plan

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// FirstWrite is the first phase that lays data out on a target or writes to it; empty when none does. A command may
// write or not: its volume says.
func (p Plan) FirstWrite(target string) string {
	for i := range p.Steps {
		step := &p.Steps[i]
		if slices.Contains(step.Targets, target) && step.writes(p.ClientsPerTarget, step.Workloads[target]) {
			return step.Phase
		}
	}
	return ""
}

// FirstChange is FirstWrite on volumes that cannot be written to: a prepare of fio is no write to data that is kept, since
// what an earlier run has laid out may take its place, and is refused otherwise.
func (p Plan) FirstChange(target *v1alpha1.Target) string {
	for i := range p.Steps {
		step := &p.Steps[i]
		load := step.Workloads[target.Name]
		if !slices.Contains(step.Targets, target.Name) || !step.writes(p.ClientsPerTarget, load) {
			continue
		}
		if step.Purpose != Prepare || target.DataPolicy != v1alpha1.DataRetain || load.Fio == nil {
			return step.Phase
		}
	}
	return ""
}

func (s *Step) writes(clients int, load *v1alpha1.Engine) bool {
	switch {
	case load == nil:
		return false
	case s.Purpose == Prepare, s.Purpose == Precondition:
		return true
	case load.Fio != nil:
		if s.Overrides.ReadPercent != nil && load.Fio.JobFile == "" {
			return *s.Overrides.ReadPercent < 100
		}
		traits, err := fio.Describe(load.Fio)
		return err != nil || (traits.Writes || traits.Trims) && !traits.NoStorage
	case load.IOR != nil:
		traits, err := ior.Describe(load.IOR, clients, max(1, s.Processes))
		return err != nil || traits.Writes
	case load.Mdtest != nil:
		return true
	}
	return false
}
