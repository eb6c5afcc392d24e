package plan

import (
	"cmp"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxNameLength is the maximum length of the names of targets and volumes. It keeps names derived from them within the
// limits of Kubernetes: 63 characters for labels, 253 for names.
const maxNameLength = 40

// refuseTargets reports names that cannot be part of pod names and labels, and targets that would overwrite one
// another's files.
func (m *maker) refuseTargets() {
	used := map[string]int{}
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		at := m.root.Child("targets").Index(i)
		m.refuseName(at.Child("name"), target.Name)
		for j, volume := range target.Volumes {
			m.refuseName(at.Child("volumes").Index(j).Child("name"), volume.Name)
		}
		m.refuseSharedFolder(i, used)
	}
}

// refuseTooManyClients reports runs with more clients or claims than one operator can handle. Admission also refuses
// them.
func (m *maker) refuseTooManyClients() {
	targets, each := len(m.run.Targets), m.plan.ClientsPerTarget
	if clients := targets * each; clients > v1alpha1.MaxRunClients {
		m.problems = append(m.problems, field.Invalid(m.root.Child("clients", "count"), each, fmt.Sprintf(
			"%d targets have %d clients in total, but the limit is %d: use fewer clients or fewer targets", targets, clients, v1alpha1.MaxRunClients)))
	}
	claims := 0
	for i := range m.run.Targets {
		for _, volume := range m.run.Targets[i].Volumes {
			switch {
			case volume.ClaimTemplate == nil:
			case volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient:
				claims += each
			default:
				claims++
			}
		}
	}
	if claims > v1alpha1.MaxRunClaims {
		m.problems = append(m.problems, field.Invalid(m.root.Child("targets"), field.OmitValueType{}, fmt.Sprintf(
			"the claim templates create %d claims, but the limit is %d: use fewer clients, fewer volumes, or claimTemplate.scope Shared",
			claims, v1alpha1.MaxRunClaims)))
	}
}

// refuseName reports a name that cannot be part of pod names and labels. Admission also refuses it, but a plan must not
// depend on admission.
func (m *maker) refuseName(at *field.Path, name string) {
	if len(name) <= maxNameLength && len(validation.IsDNS1123Label(name)) == 0 {
		return
	}
	m.problems = append(m.problems, field.Invalid(at, name, fmt.Sprintf(
		"pod names and labels are derived from it: use at most %d lower-case letters, digits and dashes, "+
			"starting and ending with a letter or digit", maxNameLength)))
}

// refuseSharedFolder reports a directory that is used by two targets, or by two volumes of one target. Client 0 of both
// targets would use the same client directory, and they would overwrite each other's files. A client with two volumes
// in one directory would wait for the directory's lock, which it holds itself.
func (m *maker) refuseSharedFolder(index int, used map[string]int) {
	target, targets := &m.run.Targets[index], m.root.Child("targets")
	at := targets.Index(index)
	for j, volume := range target.Volumes {
		if volume.ClaimName == "" {
			continue
		}
		folder := volume.ClaimName + "\x00" + path.Clean(cmp.Or(target.Path, "."))
		other, taken := used[folder]
		switch {
		case !taken:
			used[folder] = index
		case other == index:
			problem := field.Duplicate(at.Child("volumes").Index(j).Child("claimName"), volume.ClaimName)
			problem.Detail = "another volume of the target uses this claim: remove the volume, or set a different claim"
			m.problems = append(m.problems, problem)
		case m.run.Targets[other].Name != target.Name: // refuseAmbiguous reports targets with the same name
			m.problems = append(m.problems, field.Invalid(at.Child("path"), target.Path, fmt.Sprintf(
				"claim %s is also used by %s with the same path: their clients would overwrite each other's files. "+
					"Set a different path for each target, such as bench/%s", volume.ClaimName, targets.Index(other), target.Name)))
		}
	}
}
