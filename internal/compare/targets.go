package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Bounds of the API.
const (
	maxFigures     = 8
	maxComparisons = 15
	maxInvalid     = 512
	maxNote        = 256
)

// Targets compares the other targets of a phase with the first one. It follows from the results alone, so that it can
// be done again at any time. Phases in which nothing is measured are compared by what their files take.
func Targets(run *v1alpha1.RunSpec, phase *v1alpha1.PhaseResult) []v1alpha1.TargetComparison {
	if len(phase.Targets) < 2 {
		return nil
	}
	spec := phaseOf(run, phase.Name)
	var all []v1alpha1.TargetComparison
	for i := 1; i < len(phase.Targets) && len(all) < maxComparisons; i++ {
		pair := Pair{Kind: phase.Kind, Baseline: &phase.Targets[0], Target: &phase.Targets[i],
			BaselineClosed: Closed(run, spec, phase.Targets[0].Target), TargetClosed: Closed(run, spec, phase.Targets[i].Target)}
		made := pair.Compare()
		if made.Invalid == "" {
			made.Notes = append(made.Notes, notes(run, spec, &pair)...)
		}
		if made.Invalid != "" || len(made.Figures) > 0 || made.Cells != nil {
			all = append(all, made)
		}
	}
	return all
}

// phaseOf is what was asked for; nil where a record has none.
func phaseOf(run *v1alpha1.RunSpec, name string) *v1alpha1.Phase {
	if run == nil {
		return nil
	}
	at := slices.IndexFunc(run.Phases, func(p v1alpha1.Phase) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &run.Phases[at]
}

// Closed reports whether a target's load begins an operation only when one is complete, as often as that is: then by
// Little's law the mean latency is known as well as the operations a second are. A load with a rate or with pauses is
// not, and of a job file nobody says it.
func Closed(run *v1alpha1.RunSpec, phase *v1alpha1.Phase, target string) bool {
	engine := engineOf(run, phase, target)
	if engine == nil || engine.Fio == nil || engine.Fio.JobFile != "" || engine.Fio.RateLimit != nil {
		return false
	}
	for name := range engine.Fio.Options {
		if strings.HasPrefix(name, "think") || strings.HasPrefix(name, "rate") {
			return false
		}
	}
	return true
}

func engineOf(run *v1alpha1.RunSpec, phase *v1alpha1.Phase, target string) *v1alpha1.Engine {
	if phase == nil {
		return nil
	}
	for i := range phase.TargetWorkloads {
		if phase.TargetWorkloads[i].Target == target {
			return &phase.TargetWorkloads[i].Workload.Engine
		}
	}
	if phase.Workload != nil {
		return &phase.Workload.Engine
	}
	if run.Workload != nil {
		return &run.Workload.Engine
	}
	return nil
}

// notes are what the figures do not say: that the loads were not the same.
func notes(run *v1alpha1.RunSpec, spec *v1alpha1.Phase, pair *Pair) []string {
	var all []string
	add := func(format string, arguments ...any) {
		all = append(all, v1alpha1.Truncate(fmt.Sprintf(format, arguments...), maxNote))
	}
	if spec != nil && len(spec.TargetWorkloads) > 0 && spec.Kind() != v1alpha1.PhasePrepare &&
		engineOf(run, spec, pair.Baseline.Target) != engineOf(run, spec, pair.Target.Target) {
		add("the targets have workloads of their own: the difference is of workload and storage together")
	}
	if spec != nil && spec.Mode == v1alpha1.PhaseSequential && pair.Kind != v1alpha1.PhasePrepare {
		add("they were loaded one after the other: what changed between, in the storage or on the clients' machines, is in the difference")
	}
	if pair.Baseline.Clients != pair.Target.Clients {
		add("%s had %s, %s had %d", pair.Baseline.Target, clients(pair.Baseline.Clients), pair.Target.Target, pair.Target.Clients)
	}
	return all
}

func clients(count int32) string {
	if count == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", count)
}

// Pair is two results of one kind of phase: of two targets in one run, or of one target in two.
type Pair struct {
	Kind             v1alpha1.PhaseKind
	Baseline, Target *v1alpha1.TargetResult
	// BaselineClosed and TargetClosed: see Closed.
	BaselineClosed, TargetClosed bool
	// Runs says that they are of two runs: what else their own run loaded at the time is the same on both sides, or is
	// told, and all figures are given, however many.
	Runs bool
}

// Compare gives the figures that both have, or says why they cannot be compared.
func (p *Pair) Compare() v1alpha1.TargetComparison {
	made := v1alpha1.TargetComparison{Baseline: p.Baseline.Target, Target: p.Target.Target}
	if why := p.invalid(); why != "" {
		made.Invalid = v1alpha1.Truncate(why, maxInvalid)
		return made
	}
	switch p.Kind {
	case v1alpha1.PhaseRamp, v1alpha1.PhaseSweep:
		made.Cells = p.countCells()
	case v1alpha1.PhasePrepare:
		p.ratio(&made)
	default:
		p.command(&made)
		p.burst(&made)
		p.operations(&made)
		p.rates(&made)
		p.ratio(&made)
	}
	if !p.Runs {
		made.Figures = made.Figures[:min(len(made.Figures), maxFigures)]
	}
	return made
}

// invalid says why the two cannot be compared. Of a sweep's cells those that are disqualified are left out one by one;
// of a layout only what it takes is compared, which is the same whoever else was loaded.
func (p *Pair) invalid() string {
	for _, one := range []*v1alpha1.TargetResult{p.Baseline, p.Target} {
		if p.Kind != v1alpha1.PhasePrepare && !p.Runs && has(one, v1alpha1.WarningSharedClientNode) {
			return "clients of both targets were loaded on one machine at the same time and shared its CPU, memory and network (SharedClientNode): " +
				"set the phase's mode to Sequential, or give each target's clients nodes of their own"
		}
	}
	cells := p.Kind == v1alpha1.PhaseRamp || p.Kind == v1alpha1.PhaseSweep
	for _, one := range []*v1alpha1.TargetResult{p.Baseline, p.Target} {
		if one.Clients == 0 && !cells && one.Cooldown == nil && p.Kind != v1alpha1.PhasePrepare {
			return one.Target + " has no result"
		}
		for _, warning := range one.Warnings {
			if !cells && warning.Severity == v1alpha1.SeverityDisqualifying {
				return "the figures of " + one.Target + " do not measure what was asked for (" + string(warning.Type) + ")"
			}
		}
	}
	return ""
}

func has(result *v1alpha1.TargetResult, kind v1alpha1.WarningType) bool {
	return slices.ContainsFunc(result.Warnings, func(w v1alpha1.Warning) bool { return w.Type == kind })
}

// permille is a share in thousandths, within what the API holds.
func permille(share float64) int64 {
	return int64(math.Round(min(max(share, -1), 1e12) * 1000))
}
