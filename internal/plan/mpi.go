package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// SpansAnyClients reports whether the clients of any target form one MPI job in the step.
func (s Step) SpansAnyClients() bool {
	for _, spec := range s.Workloads {
		if spec.SpansClients() {
			return true
		}
	}
	return false
}

// Shared reports whether all clients of a target mount the same volumes; otherwise each client has its own volume.
func Shared(target *v1alpha1.Target) bool {
	return !slices.ContainsFunc(target.Volumes, func(volume v1alpha1.Volume) bool {
		return volume.ClaimTemplate != nil && volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient
	})
}

// ownVolumes reports whether a target has several clients, each with its own volumes.
func (m *maker) ownVolumes(target string) bool {
	return m.plan.ClientsPerTarget > 1 &&
		slices.ContainsFunc(m.run.Targets, func(t v1alpha1.Target) bool { return t.Name == target && !Shared(&t) })
}

// checkProcesses refuses processesPerClient if no workload runs under MPI, and warns if only some do.
func (m *maker) checkProcesses() {
	count := m.run.Clients.ProcessesPerClient
	if count <= 1 {
		return
	}
	at := m.root.Child("clients", "processesPerClient")
	if !m.run.UsesMPI() {
		m.problems = append(m.problems, field.Invalid(at, count, "applies only to ior and mdtest: remove it; for fio, raise jobs or clients.count"))
		return
	}
	for _, step := range m.plan.Steps {
		for _, spec := range step.Workloads {
			if engines.Of(spec).HasJobs {
				m.warn(at, "applies only to ior and mdtest: fio runs one process per client, with its own jobs")
				return
			}
		}
	}
}

// compatible reports the settings of a phase that its targets' engines do not support, and returns true if there are
// none.
func (p *phaseMaker) compatible() bool {
	before := len(p.problems)
	for i := range p.run.Targets {
		target := &p.run.Targets[i]
		one := p.loads[target.Name]
		p.addOnce(one.Suits(&engine.Use{
			Run: p.run, Phase: p.phase, Target: target.Name, Root: p.root, At: p.path, Profile: one.profile(),
			Clients: p.plan.ClientsPerTarget, OwnVolumes: p.ownVolumes(target.Name),
		})...)
		if one.SpansClients && p.run.Clients.OnLoss == v1alpha1.OnLossContinueDegraded {
			p.addOnce(field.Invalid(p.root.Child("clients", "onLoss"), p.run.Clients.OnLoss,
				"an MPI job cannot continue without all of its ranks: use RestartStep or FailRun"))
		}
	}
	p.compatibleTogether()
	return len(p.problems) == before
}

// refuseDegraded refuses onLoss ContinueDegraded in a phase that compares its steps with each other, because after the
// loss of a client the later steps would have less load. With one client per target, it accepts ContinueDegraded,
// because the run fails when that client is lost.
func (p *phaseMaker) refuseDegraded() {
	if p.run.Clients.OnLoss == v1alpha1.OnLossContinueDegraded && p.plan.ClientsPerTarget > 1 {
		p.addOnce(field.Invalid(p.root.Child("clients", "onLoss"), p.run.Clients.OnLoss,
			"phase "+p.phase.Name+" compares steps that must have the same clients: use RestartStep or FailRun"))
	}
}

// compatibleTogether refuses to load targets together if some workloads run for a given time and others until a fixed
// amount of work is done.
func (p *phaseMaker) compatibleTogether() {
	if p.phase.Steady == nil && p.phase.Ramp == nil || p.phase.Mode == v1alpha1.PhaseSequential {
		return
	}
	var byTime, byWork string
	for _, name := range targetNames(p.run) {
		if p.loads[name].WorkBound {
			byWork = name
		} else {
			byTime = name
		}
	}
	if byTime != "" && byWork != "" {
		p.addOnce(field.Invalid(p.path.Child("mode"), p.phase.Mode, fmt.Sprintf(
			"target %s is loaded for a fixed time, but %s on target %s does a fixed amount of work: use mode Sequential, or one phase per target",
			byTime, p.loads[byWork].Kind, byWork)))
	}
}
