package plan

import "k8s.io/apimachinery/pkg/util/validation/field"

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
			m.problems = append(m.problems, field.Forbidden(path, "a phase must have exactly one kind: use one phase per kind"))
		}
		for j, own := range phase.TargetWorkloads {
			if !targets[own.Target] {
				m.problems = append(m.problems, field.Invalid(path.Child("targetWorkloads").Index(j).Child("target"), own.Target,
					"must be the name of a target in spec.run.targets: correct it"))
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

// refuseShorthand reports shorthand fields, which Resolve replaces and which a resolved run therefore does not
// contain.
func (m *maker) refuseShorthand() {
	refuse := func(path *field.Path, remedy string) {
		m.problems = append(m.problems, field.Forbidden(path, "not allowed in a BenchmarkRun: "+remedy))
	}
	for i := range m.run.Targets {
		if m.run.Targets[i].ClaimName != "" {
			refuse(m.root.Child("targets").Index(i).Child("claimName"), "set claimName in volumes instead")
		}
	}
	for i := range m.run.Phases {
		phase, path := &m.run.Phases[i], m.root.Child("phases").Index(i)
		if phase.Override != nil {
			refuse(path.Child("override"), "specify the whole workload")
		}
		if phase.Refill != nil {
			refuse(path.Child("refill"), "use a cooldown phase with redrain")
		}
	}
}

// refusePhasesWithoutKind reports phases without a kind. Admission reports them first, but a plan must not depend on
// admission.
func (m *maker) refusePhasesWithoutKind() {
	for i := range m.run.Phases {
		if m.run.Phases[i].Kind() == "" {
			m.problems = append(m.problems, field.Required(m.root.Child("phases").Index(i), "a phase needs a kind: set exactly one of "+kinds))
		}
	}
}
