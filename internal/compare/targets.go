package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// The API's limits on the lengths of lists, and on the length of a note.
const (
	maxComparisons = 15
	maxInvalid     = 512
	maxNote        = 256
)

// Targets compares the first target of a phase with each of the others. The comparison depends only on the results, so
// it can be repeated at any time. For phases that only lay out files, it compares the space that the files occupy. It
// skips interference phases, whose targets affect each other.
func Targets(run *v1alpha1.RunSpec, phase *v1alpha1.PhaseResult) []v1alpha1.TargetComparison {
	if len(phase.Targets) < 2 || phasekind.Of(phase.Kind).Interleaved {
		return nil
	}
	spec := run.Phase(phase.Name)
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

// Closed reports whether a target's load is a closed loop, in which each operation starts when a previous one
// completes. By Little's law, the mean latency is then known as precisely as the operations per second. A load is not a
// closed loop if it has a rate limit or pauses, or if its phase chooses the rate of each step, as a search does. The
// load of an fio job file is assumed not to be a closed loop.
func Closed(run *v1alpha1.RunSpec, phase *v1alpha1.Phase, target string) bool {
	workload := run.WorkloadOf(phase, target)
	if workload == nil || phase != nil && phasekind.Of(phase.Kind()).PicksRates {
		return false
	}
	load := engines.Of(&workload.Engine)
	if load.Kind == "" {
		return false
	}
	made, err := load.Describe(&engine.Step{Purpose: v1alpha1.StepMeasure, Clients: 1, Processes: 1})
	return err == nil && made.ClosedLoop
}

// inTurn is the note about two targets of one run that were loaded one after the other.
const inTurn = "the targets were loaded one after the other, so a change in the storage or the nodes may have caused the difference"

// notes returns notes about differences in the loads of two targets, such as different workloads or client counts. The
// figures alone do not show these differences.
func notes(run *v1alpha1.RunSpec, spec *v1alpha1.Phase, pair *Pair) []string {
	var all []string
	add := func(format string, arguments ...any) {
		all = append(all, v1alpha1.Truncate(fmt.Sprintf(format, arguments...), maxNote))
	}
	laysOut := phasekind.Of(pair.Kind).LaysOut
	if spec != nil && len(spec.TargetWorkloads) > 0 && !laysOut &&
		run.WorkloadOf(spec, pair.Baseline.Target) != run.WorkloadOf(spec, pair.Target.Target) {
		add("the targets have different workloads, which may cause the difference")
	}
	if spec != nil && spec.Mode == v1alpha1.PhaseSequential && !laysOut {
		add(inTurn)
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

// Pair holds two results of the same kind of phase: from two targets of one run, or from one target of each of two
// runs.
type Pair struct {
	Kind             v1alpha1.PhaseKind
	Baseline, Target *v1alpha1.TargetResult
	// BaselineClosed and TargetClosed report whether the loads are closed loops; see Closed.
	BaselineClosed, TargetClosed bool
	// Runs is true if the results are from two runs. They are then compared even if clients of different targets of a
	// run shared a node (SharedClientNode).
	Runs bool
}

// Compare compares the figures that both results have. For a ramp or a sweep, it counts the cells in which each target
// was faster. If the results cannot be compared, it returns the reason instead.
func (p *Pair) Compare() v1alpha1.TargetComparison {
	made := v1alpha1.TargetComparison{Baseline: p.Baseline.Target, Target: p.Target.Target}
	if why := p.invalid(); why != "" {
		made.Invalid = v1alpha1.Truncate(why, maxInvalid)
		return made
	}
	if phasekind.Of(p.Kind).InCells() {
		made.Cells = p.countCells()
	} else {
		p.figures(func(figure v1alpha1.FigureComparison, _ Difference) { made.Figures = append(made.Figures, figure) })
	}
	return made
}

// invalid returns the reason why the two results cannot be compared, or "" if they can. In a ramp or a sweep,
// disqualified cells are omitted individually. Layouts are compared only by the space that their files occupy, so they
// stay comparable even if clients of different targets shared a node during the layout.
func (p *Pair) invalid() string {
	kind := phasekind.Of(p.Kind)
	for _, one := range []*v1alpha1.TargetResult{p.Baseline, p.Target} {
		if !kind.LaysOut && !p.Runs && has(one, v1alpha1.WarningSharedClientNode) {
			return "clients of both targets shared a node and competed for its CPU, memory and network (SharedClientNode): " +
				"set the phase's mode to Sequential, or use separate nodes for each target's clients"
		}
	}
	for _, one := range []*v1alpha1.TargetResult{p.Baseline, p.Target} {
		if one.Clients == 0 && !kind.InCells() && one.Cooldown == nil && !kind.LaysOut {
			return one.Target + " has no result"
		}
		for _, warning := range one.Warnings {
			if !kind.InCells() && warning.Severity == v1alpha1.SeverityDisqualifying {
				return "the figures of " + one.Target + " are not valid (" + string(warning.Type) + ")"
			}
		}
	}
	return ""
}

func has(result *v1alpha1.TargetResult, kind v1alpha1.WarningType) bool {
	return slices.ContainsFunc(result.Warnings, func(w v1alpha1.Warning) bool { return w.Type == kind })
}

// permille converts a share to thousandths, and limits it to the range that the API allows.
func permille(share float64) int64 {
	return int64(math.Round(min(max(share, -1), 1e12) * 1000))
}
