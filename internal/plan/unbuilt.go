package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// refuseUnbuilt names everything of the API that this version would otherwise ignore. Admission
// says most of it first; a plan must not depend on that.
func (m *maker) refuseUnbuilt() {
	for i := range m.run.Phases {
		phase := &m.run.Phases[i]
		path := m.root.Child("phases").Index(i)
		switch kind := phase.Kind(); kind {
		case v1alpha1.PhasePrepare:
			if phase.Prepare.Precondition != nil && *phase.Prepare.Precondition > 0 {
				m.refuse(path.Child("prepare", "precondition"), "preconditioning", "leave it out")
			}
		case v1alpha1.PhaseSteady:
		case "":
			m.problems = append(m.problems, field.Required(path, "a phase is exactly one of prepare, steady"))
		case v1alpha1.PhaseRamp, v1alpha1.PhaseSweep, v1alpha1.PhaseBurstDrain, v1alpha1.PhaseCooldown,
			v1alpha1.PhaseSearch, v1alpha1.PhaseVerify, v1alpha1.PhaseFault, v1alpha1.PhaseProvision:
			m.refuse(path, "the phase kind "+string(kind), "use prepare and steady")
		}
	}
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		path := m.root.Child("targets").Index(i)
		if len(target.Volumes) > 1 {
			m.refuse(path.Child("volumes"), "several volumes in one target", "give one")
		}
		if target.RequireIdle != nil && *target.RequireIdle {
			m.refuse(path.Child("requireIdle"), "requireIdle", "leave it out")
		}
		if target.Lustre != nil {
			m.refuse(path.Child("lustre"), "striping", "set it on the directory by hand and leave this out")
		}
	}
}

func (m *maker) refuse(path *field.Path, what, remedy string) {
	m.problems = append(m.problems, notBuilt(path, what, remedy))
}

func notBuilt(path *field.Path, what, remedy string) *field.Error {
	return field.Forbidden(path, what+" is not built yet in this version: "+remedy)
}
