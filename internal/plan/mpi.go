package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// SpansClients reports whether the clients of a target are one job in the step.
func (s Step) SpansClients(target string) bool { return s.Workloads[target].SpansClients() }

// SpansAnyClients reports whether the clients of any target are one job in the step.
func (s Step) SpansAnyClients() bool {
	for _, engine := range s.Workloads {
		if engine.SpansClients() {
			return true
		}
	}
	return false
}

// Shared reports whether all clients of a target mount one volume; else each has one of its own.
func Shared(target *v1alpha1.Target) bool {
	for i := range target.Volumes {
		if template := target.Volumes[i].ClaimTemplate; template != nil && template.Scope == v1alpha1.ClaimPerClient {
			return false
		}
	}
	return true
}

// IORParameters are what the step adds to a profile of ior or mdtest, for a version of the tool; "" for the
// newest. The warm-up is a part of the load, so that IOR is told of both.
func (s Step) IORParameters(seed int64, version string) ior.Parameters {
	parameters := ior.Parameters{Purpose: ior.Measure, Version: version, Seed: uint64(seed)} //nolint:gosec // Any bits are a seed.
	switch s.Purpose {
	case Prepare:
		parameters.Purpose = ior.Prepare
	case Drain:
		parameters.Limit = s.Duration
	case Measure, Precondition, Idle:
		if s.Duration > 0 {
			parameters.Duration = s.WarmUp + s.Duration
		}
	}
	return parameters
}

// processes are the ranks of each client where nothing raises them.
func (m *maker) processes() int { return max(1, int(m.run.Clients.ProcessesPerClient)) }

// judgeProcesses finds ranks without anybody to have them.
func (m *maker) judgeProcesses() {
	count := m.run.Clients.ProcessesPerClient
	if count <= 1 {
		return
	}
	at := m.root.Child("clients", "processesPerClient")
	if !m.run.UsesMPI() {
		m.problems = append(m.problems, field.Invalid(at, count, "only ior and mdtest have ranks: remove it, and raise jobs or clients.count for fio"))
		return
	}
	for _, step := range m.plan.Steps {
		for _, engine := range step.Workloads {
			if engine.Fio != nil {
				m.warn(at, "it is of ior and mdtest alone: fio has one process a client, and its jobs")
				return
			}
		}
	}
}

// compatible names what of a phase has no meaning for the engines of its targets.
func (p *phaseMaker) compatible() bool {
	before := len(p.problems)
	for i := range p.run.Targets {
		target := &p.run.Targets[i]
		one := p.loads[target.Name]
		switch {
		case one.engine.IOR != nil:
			p.suitsIOR(target, one)
		case one.engine.Mdtest != nil:
			p.suitsMdtest(target, one)
		case one.engine.Command != nil:
			p.suitsCommand(one)
		case p.phase.Ramp != nil && p.phase.Ramp.Dimension == v1alpha1.RampProcesses:
			p.addOnce(field.Invalid(p.path.Child("ramp", "dimension"), p.phase.Ramp.Dimension, "fio has no ranks: use Jobs, QueueDepth or Clients"))
		}
		if one.engine.SpansClients() && p.run.Clients.OnLoss == v1alpha1.OnLossContinueDegraded {
			p.addOnce(field.Invalid(p.root.Child("clients", "onLoss"), p.run.Clients.OnLoss,
				"an MPI job cannot go on without a rank: use RestartStep or FailRun"))
		}
	}
	p.suitsTogether()
	return len(p.problems) == before
}

// suitsIOR names what IOR has no equal of, and what it cannot find on volumes of their own.
func (p *phaseMaker) suitsIOR(target *v1alpha1.Target, one load) {
	forbid := func(at *field.Path, why string) { p.addOnce(field.Forbidden(at, why)) }
	if prepare := p.phase.Prepare; prepare != nil && prepare.Precondition != nil && *prepare.Precondition > 0 {
		forbid(p.path.Child("prepare", "precondition"),
			"IOR has no passes that only overwrite: remove it, or overwrite the data by a steady phase of writes before what is measured")
	}
	if ramp := p.phase.Ramp; ramp != nil && (ramp.Dimension == v1alpha1.RampJobs || ramp.Dimension == v1alpha1.RampQueueDepth) {
		p.addOnce(field.Invalid(p.path.Child("ramp", "dimension"), ramp.Dimension, "each rank of IOR has one transfer at a time: use Processes or Clients"))
	}
	if p.phase.Sweep != nil {
		axes, at := &p.phase.Sweep.Axes, p.path.Child("sweep", "axes")
		const ranks = "each rank of IOR has one transfer at a time: remove it; a ramp of Processes raises the ranks"
		for _, axis := range []struct {
			name   string
			length int
			why    string
		}{
			{"jobs", len(axes.Jobs), ranks},
			{"queueDepth", len(axes.QueueDepth), ranks},
			{"blockSize", len(axes.BlockSize), "the sizes of IOR's transfers and blocks are its profile's and decide its files: remove it, and make a phase of each size"},
			{"readPercent", len(axes.ReadPercent), "IOR writes, then reads, and does not mix them: remove it, and make a phase of each of operations"},
		} {
			if axis.length > 0 {
				forbid(at.Child(axis.name), axis.why)
			}
		}
	}
	if Shared(target) || p.plan.ClientsPerTarget == 1 {
		return
	}
	p.refuseNodeOfMany(target)
	profile, at := one.engine.IOR, one.path.Child("ior")
	if profile.FilePerProcess != nil && !*profile.FilePerProcess {
		p.addOnce(field.Invalid(at.Child("filePerProcess"), false, fmt.Sprintf(
			"each client of target %s has a volume of its own, and ranks cannot share a file there: set it to true, or claimTemplate.scope to Shared", target.Name)))
	}
	traits, err := ior.Describe(profile, p.plan.ClientsPerTarget, 1)
	if err == nil && traits.Reads && profile.ReorderTasks != v1alpha1.IORReorderNone {
		p.addOnce(field.Invalid(at.Child("reorderTasks"), profile.ReorderTasks, fmt.Sprintf(
			"each client of target %s has a volume of its own, and no rank finds the files of another client there: set it to None, "+
				"with direct so that a client does not read from its own memory; or claimTemplate.scope to Shared", target.Name)))
	}
}

// refuseNodeOfMany: ranks of clients with one address are started together, in the volume of the first of them.
func (p *phaseMaker) refuseNodeOfMany(target *v1alpha1.Target) {
	template := p.run.Clients.Template
	if template == nil || template.HostNetwork == nil || !*template.HostNetwork || p.run.Clients.Spread == v1alpha1.SpreadOnePerNode {
		return
	}
	p.addOnce(field.Invalid(p.root.Child("clients", "template", "hostNetwork"), true, fmt.Sprintf(
		"clients on one node have one address then, and all ranks of it work in the volume of one client of target %s: "+
			"remove it, set clients.spread to OnePerNode, or claimTemplate.scope to Shared", target.Name)))
}

// suitsMdtest leaves steady phases, which its work ends.
func (p *phaseMaker) suitsMdtest(target *v1alpha1.Target, one load) {
	switch phase := p.phase; {
	case phase.Steady != nil:
		at := p.path.Child("steady")
		if warmUp, err := phase.Steady.WarmUp.Parse(); err == nil && warmUp > 0 {
			p.addOnce(field.Invalid(at.Child("warmUp"), string(phase.Steady.WarmUp), "mdtest does all of its work once, none of it to warm up: remove it"))
		}
		if phase.Steady.EndWhenSteady != nil && *phase.Steady.EndWhenSteady {
			p.addOnce(field.Invalid(at.Child("endWhenSteady"), true, "mdtest ends when its work is done: remove it"))
		}
	case phase.Prepare != nil:
		p.addOnce(field.Forbidden(p.path.Child("prepare"),
			"mdtest makes and removes its own files, and nothing is laid out for it: leave the phase out, or give it another workload"))
	default:
		kind := p.phase.Kind()
		p.addOnce(field.Forbidden(p.path, "mdtest is bound by its work, and a phase of kind "+string(kind)+
			" by time: use steady, whose duration then is the longest that it may take"))
	}
	if !Shared(target) && p.plan.ClientsPerTarget > 1 {
		p.addOnce(field.Invalid(one.path.Child("mdtest"), field.OmitValueType{}, fmt.Sprintf(
			"each client of target %s has a volume of its own, and mdtest's ranks need one tree: use one client, or claimTemplate.scope Shared", target.Name)))
	}
}

// suitsTogether finds targets that are loaded together, some by time and some by work.
func (p *phaseMaker) suitsTogether() {
	if p.phase.Steady == nil || p.phase.Mode == v1alpha1.PhaseSequential {
		return
	}
	var byTime, byWork string
	for _, name := range targetNames(p.run) {
		if p.boundByWork(name) {
			byWork = name
		} else {
			byTime = name
		}
	}
	if byTime != "" && byWork != "" {
		p.addOnce(field.Invalid(p.path.Child("mode"), p.phase.Mode, fmt.Sprintf(
			"target %s is loaded for a time, and %s on target %s ends when its work is done: use mode Sequential, or a phase of each",
			byTime, p.loads[byWork].engine.EngineKind(), byWork)))
	}
}
