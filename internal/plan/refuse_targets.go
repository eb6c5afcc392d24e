package plan

import (
	"cmp"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxNameLength is that of a target and of a volume. It keeps what derives from them within what
// Kubernetes allows: labels of 63 characters, names of 253.
const maxNameLength = 40

// refuseTargets names targets that cannot become pods, and those that would get into each other's
// way.
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

// refuseName finds what admission refuses too; a plan must not depend on that.
func (m *maker) refuseName(at *field.Path, name string) {
	if len(name) <= maxNameLength && len(validation.IsDNS1123Label(name)) == 0 {
		return
	}
	m.problems = append(m.problems, field.Invalid(at, name, fmt.Sprintf(
		"the names of pods and their labels derive from it: use at most %d lower-case letters, digits and dashes, "+
			"beginning and ending with a letter or a digit", maxNameLength)))
}

// refuseSharedFolder finds a folder that two targets share: client 0 of the one and client 0 of the
// other would have the same directory, and overwrite each other's files.
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
		case m.run.Targets[other].Name != target.Name: // two of one name are told of already
			m.problems = append(m.problems, field.Invalid(at.Child("path"), target.Path, fmt.Sprintf(
				"%s is claim %s, which %s loads in the same folder: the clients of both would overwrite each other's files. "+
					"Give each target a path of its own, such as bench/%s",
				at.Child("volumes").Index(j).Child("claimName"), volume.ClaimName, targets.Index(other), target.Name)))
		}
	}
}
