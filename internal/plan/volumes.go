package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/claims"
	"github.com/storagebench/storagebench/internal/measure"
)

// isRaw reports whether a volume's template creates raw block devices. Only the cluster knows the mode of an
// existing claim.
func isRaw(volume *v1alpha1.Volume) bool {
	return volume.ClaimTemplate != nil && claims.Raw(&volume.ClaimTemplate.Spec)
}

// allowsRawWrites reports whether a target allows writes to raw devices.
func allowsRawWrites(target *v1alpha1.Target) bool {
	return target.AllowRawDeviceWrites != nil && *target.AllowRawDeviceWrites
}

// VolumeBytes returns the maximum space that the data of a target with a single volume occupies on that volume: the
// data of one client if each client has its own claim, otherwise the data of all clients.
func (p *Plan) VolumeBytes(target *v1alpha1.Target) uint64 {
	needed := uint64(0)
	for i := range p.Steps {
		needed += p.Steps[i].NewBytes[target.Name]
	}
	if Shared(target) {
		needed *= uint64(p.ClientsPerTarget) //nolint:gosec // The API limits it.
	}
	return needed
}

// warnSmallClaims warns about claims that request less space than the data needs. Some drivers provision larger
// volumes, so the run is not refused.
func (m *maker) warnSmallClaims() {
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		if len(target.Volumes) != 1 || target.Volumes[0].ClaimTemplate == nil {
			continue
		}
		requested, known := target.Volumes[0].ClaimTemplate.Spec.Resources.Requests["storage"]
		needed := m.plan.VolumeBytes(target)
		if bytes := requested.Value(); known && bytes > 0 && needed > uint64(bytes) {
			m.warn(m.root.Child("targets").Index(i).Child("volumes").Index(0).Child("claimTemplate", "spec", "resources"),
				"the data takes %s, but a claim of %s is requested: request more or set a smaller datasetSize, unless the driver provisions larger volumes",
				measure.FormatBinaryBytes(needed), requested.String())
		}
	}
}

// refuseVolumes reports volumes that cannot be used together or with the target's settings. It checks only the
// specification, not the claims in the cluster.
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
			if isRaw(volume) {
				raw++
			}
		}
		switch {
		case raw == 0 && templates == len(target.Volumes) && allowsRawWrites(target):
			m.addOnce(field.Forbidden(path.Child("allowRawDeviceWrites"), "the target has no raw device: remove allowRawDeviceWrites, or set volumeMode: Block in the claimTemplate"))
		case raw > 0 && raw < templates:
			m.addOnce(field.Forbidden(path.Child("volumes"), "the target mixes raw devices and file systems: split it into two targets"))
		}
		if target.AllowRawDeviceWrites != nil && !allowsRawWrites(target) || raw > 0 && !allowsRawWrites(target) {
			// Steps may read the existing content of the device, so do not require a layout. Agents check how much of
			// the content is zeros.
			m.dataset(target.Name).unknown = true
		}
	}
}

// severalVolumes returns the number of volumes of each target that has more than one. The number is part of a layout's
// identity.
func (m *maker) severalVolumes() map[string]int {
	found := map[string]int{}
	for i := range m.run.Targets {
		if target := &m.run.Targets[i]; len(target.Volumes) > 1 {
			found[target.Name] = len(target.Volumes)
		}
	}
	return found
}

// placeVolumes sets the volumes of each step, and refuses workloads that cannot use them.
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
				"phase %s writes to the target's raw devices: set allowRawDeviceWrites to true if their content may be overwritten, or measure reads only", first)))
		}
		if len(names) < 2 && !raw && !allowsRawWrites(target) {
			continue
		}
		for j := range m.plan.Steps {
			m.placeStep(path, target, &m.plan.Steps[j], names, raw)
		}
	}
}

// placeStep sets the volumes or raw devices of a target that a step uses. It reports a problem if the load cannot use
// them.
func (m *maker) placeStep(path *field.Path, target *v1alpha1.Target, step *Step, names []string, raw bool) {
	load := step.Load(target.Name)
	if load.Kind == "" {
		return
	}
	if !load.ManyVolumes {
		if what := map[bool]string{true: "raw devices", false: "several volumes"}[raw]; raw || len(names) > 1 {
			m.addOnce(field.Invalid(path.Child("volumes"), step.Phase, fmt.Sprintf(
				"phase %s runs %s, which needs a directory on a single volume, but the target has %s: use fio, or a target with one volume that has a file system",
				step.Phase, load.Kind, what)))
		}
		return
	}
	step.place(target)
	use := step.For(target.Name)
	use.Volumes, use.Devices = len(names), raw
	if err := m.renders(load, step.Workloads[target.Name], use); err != nil {
		m.addOnce(field.Invalid(path.Child("volumes"), len(names), fmt.Sprintf("phase %s: %s", step.Phase, err)))
	}
}

// place sets the volumes of the target over which the step spreads files, and whether it may write to raw devices.
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
