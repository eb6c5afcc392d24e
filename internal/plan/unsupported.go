package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/internal/phasekind"
)

// builtKinds lists the phase kinds that this version supports.
const builtKinds = "prepare, steady, ramp, sweep, burstDrain, cooldown, smallFiles, search"

// refuseAmbiguous reports duplicate names, phases of several kinds, workloads of unknown targets, and missing targets
// or phases. Admission reports them first.
func (m *maker) refuseAmbiguous() {
	targets, phases := map[string]bool{}, map[string]bool{}
	for i, target := range m.run.Targets {
		if targets[target.Name] {
			m.problems = append(m.problems, field.Duplicate(m.root.Child("targets").Index(i).Child("name"), target.Name))
		}
		targets[target.Name] = true
	}
	for i := range m.run.Phases {
		phase := &m.run.Phases[i]
		path := m.root.Child("phases").Index(i)
		if phases[phase.Name] {
			m.problems = append(m.problems, field.Duplicate(path.Child("name"), phase.Name))
		}
		phases[phase.Name] = true
		if len(phase.Kinds()) > 1 {
			m.problems = append(m.problems, field.Forbidden(path, "a phase has exactly one kind: use a phase for each"))
		}
		for j, own := range phase.TargetWorkloads {
			if !targets[own.Target] {
				m.problems = append(m.problems, field.Invalid(path.Child("targetWorkloads").Index(j).Child("target"), own.Target,
					"must be the name of one of spec.run.targets: correct it"))
			}
		}
	}
	if len(targets) == 0 {
		m.problems = append(m.problems, field.Required(m.root.Child("targets"), "at least one target is required"))
	}
	if len(phases) == 0 {
		m.problems = append(m.problems, field.Required(m.root.Child("phases"), "at least one phase is required, such as prepare"))
	}
}

// refuseUnavailable reports the parts of the API that this version would otherwise ignore. Admission reports most of
// them first; a plan must not depend on admission.
func (m *maker) refuseUnavailable() {
	for i := range m.run.Phases {
		phase := &m.run.Phases[i]
		path := m.root.Child("phases").Index(i)
		switch kind := phase.Kind(); {
		case kind == "":
			m.problems = append(m.problems, field.Required(path, "a phase is exactly one of "+builtKinds))
		case phasekind.Of(kind).Label == "":
			m.refuse(path.Child(phasekind.Name(kind)), "the phase kind "+string(kind), "use "+builtKinds)
		}
	}
}

func (m *maker) refuse(path *field.Path, what, remedy string) {
	m.problems = append(m.problems, unavailable(path, what, remedy))
}

func unavailable(path *field.Path, what, remedy string) *field.Error {
	return field.Forbidden(path, what+" is not built yet in this version: "+remedy)
}
