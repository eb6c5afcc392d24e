package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/claims"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// isRaw says of a volume that its claims will be raw block devices. What a claim is that exists already only the
// cluster knows.
func isRaw(volume *v1alpha1.Volume) bool {
	return volume.ClaimTemplate != nil && claims.Raw(&volume.ClaimTemplate.Spec)
}

// allowsRawWrites is what a target says of writes to raw devices.
func allowsRawWrites(target *v1alpha1.Target) bool {
	return target.AllowRawDeviceWrites != nil && *target.AllowRawDeviceWrites
}

// refuseVolumes names what cannot be of the volumes of each target, as far as the specification tells.
func (m *maker) refuseVolumes() {
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		path := m.root.Child("targets").Index(i)
		raw, templates := 0, 0
		for j := range target.Volumes {
			volume := &target.Volumes[j]
			if volume.ClaimTemplate != nil {
				templates++
			}
			if !isRaw(volume) {
				continue
			}
			raw++
			if volume.ClaimTemplate.Scope != v1alpha1.ClaimPerClient && m.plan.ClientsPerTarget > 1 {
				m.addOnce(field.Invalid(path.Child("volumes").Index(j).Child("claimTemplate", "scope"), string(volume.ClaimTemplate.Scope),
					"clients would overwrite each other on one raw device: set PerClient, or clients.count 1"))
			}
		}
		switch {
		case raw == 0 && templates == len(target.Volumes) && allowsRawWrites(target):
			m.addOnce(field.Forbidden(path.Child("allowRawDeviceWrites"), "no volume of the target is a raw device: leave it out, or set volumeMode: Block in its claimTemplate"))
		case raw == 0:
		case raw < templates:
			m.addOnce(field.Forbidden(path.Child("volumes"), "some are raw devices and some have file systems: make two targets of them"))
		case target.Path != "":
			m.addOnce(field.Forbidden(path.Child("path"), "a raw device has no folders: leave it out"))
		case target.Lustre != nil:
			m.addOnce(field.Forbidden(path.Child("lustre"), "a raw device has no file system: leave it out"))
		}
		if target.AllowRawDeviceWrites != nil && !allowsRawWrites(target) || raw > 0 && !allowsRawWrites(target) {
			// It is read as it is; agents look how much of it is zero.
			m.dataset(target.Name).unknown = true
		}
	}
}

// severalVolumes is the number of volumes of targets that have more than one: it is a part of the identity of a layout.
func (m *maker) severalVolumes() map[string]int {
	found := map[string]int{}
	for i := range m.run.Targets {
		if target := &m.run.Targets[i]; len(target.Volumes) > 1 {
			found[target.Name] = len(target.Volumes)
		}
	}
	return found
}

// placeVolumes tells each step which volumes it works on, and refuses what cannot work on them.
func (m *maker) placeVolumes() {
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		path := m.root.Child("targets").Index(i)
		names := make([]string, len(target.Volumes))
		raw := false
		for j := range target.Volumes {
			names[j] = target.Volumes[j].Name
			raw = raw || isRaw(&target.Volumes[j])
		}
		if first := m.plan.FirstWrite(target.Name); raw && first != "" && !allowsRawWrites(target) {
			m.addOnce(field.Required(path.Child("allowRawDeviceWrites"), fmt.Sprintf(
				"phase %s writes to the target's raw devices: set it to true where nobody needs what is on them, or measure reads alone", first)))
		}
		if len(names) < 2 && !raw && !allowsRawWrites(target) {
			continue
		}
		for j := range m.plan.Steps {
			m.placeStep(path, target, &m.plan.Steps[j], names, raw)
		}
	}
}

// placeStep puts a step on several volumes, or on raw devices.
func (m *maker) placeStep(path *field.Path, target *v1alpha1.Target, step *Step, names []string, raw bool) {
	engine := step.Workloads[target.Name]
	if engine == nil {
		return
	}
	if engine.Fio == nil {
		if what := map[bool]string{true: "raw devices", false: "several volumes"}[raw]; raw || len(names) > 1 {
			m.addOnce(field.Invalid(path.Child("volumes"), step.Phase, fmt.Sprintf(
				"phase %s runs %s, which works in a folder of one volume, and the target has %s: use fio, or a target of one volume with a file system",
				step.Phase, engine.EngineKind(), what)))
		}
		return
	}
	step.place(target)
	if m.placed == nil {
		m.placed = map[placedKey]bool{}
	}
	key := placedKey{render: renderOf(engine.Fio, step), target: target.Name}
	if m.placed[key] {
		return
	}
	m.placed[key] = true
	parameters := step.FioParameters(m.seed, 0)
	parameters.Volumes, parameters.Devices = len(names), raw
	if _, err := fio.Render(engine.Fio, parameters); err != nil {
		m.addOnce(field.Invalid(path.Child("volumes"), len(names), fmt.Sprintf("phase %s: %s", step.Phase, err)))
	}
}

// placedKey is a job that was proven to suit a target's volumes.
type placedKey struct {
	render renderKey
	target string
}

// place tells the step the volumes of a target over which files are spread, and whether it may write to raw devices.
func (s *Step) place(target *v1alpha1.Target) {
	if len(target.Volumes) > 1 {
		if s.Volumes == nil {
			s.Volumes = map[string][]string{}
		}
		for i := range target.Volumes {
			s.Volumes[target.Name] = append(s.Volumes[target.Name], target.Volumes[i].Name)
		}
	}
	if allowsRawWrites(target) {
		if s.RawWrites == nil {
			s.RawWrites = map[string]bool{}
		}
		s.RawWrites[target.Name] = true
	}
}
