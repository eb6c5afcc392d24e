package plan

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// FirstWrite returns the first phase that lays out data on a target or writes to it, or "" if none does. For commands,
// it considers only the setups, because it is unknown before the run whether a command writes.
func (p Plan) FirstWrite(target string) string {
	for i := range p.Steps {
		step := &p.Steps[i]
		if slices.Contains(step.Targets, target) && step.writes(target) {
			return step.Phase
		}
	}
	return ""
}

// FirstChange returns the first phase that would change data on a target that must not be written to, or "" if none
// would. Unlike FirstWrite, it ignores a prepare step that can reuse the retained dataset of an earlier run. Such a
// step is refused anyway if there is no dataset to reuse.
func (p Plan) FirstChange(target *v1alpha1.Target) string {
	for i := range p.Steps {
		step := &p.Steps[i]
		if !slices.Contains(step.Targets, target.Name) || !step.writes(target.Name) {
			continue
		}
		if step.Purpose != Prepare || target.DataPolicy != v1alpha1.DataRetain || !step.Load(target.Name).ReusesFiles {
			return step.Phase
		}
	}
	return ""
}

func (s *Step) writes(target string) bool {
	load, use := s.Load(target), s.For(target)
	if load.Kind == "" || use.Layout() {
		return load.Kind != ""
	}
	made, err := load.Describe(&use)
	return err != nil || (made.Writes || made.Trims) && !made.NoStorage
}
