package result

import (
	"cmp"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
)

// sources identifies the steps of a phase that share a warning.
type sources struct {
	// cells are the affected cells of a ramp or sweep, in order.
	cells []int32
	// own is true if the warning concerns the layout of a prepare phase. extra is true if it concerns the precondition
	// after a layout, or a drain inserted before cells. None of these steps is a cell.
	extra, own bool
}

// prefix returns the text at the start of a merged message that names the steps concerned. The prefix can later be
// removed from the message and replaced. It is "" if the message is only about the layout of a prepare phase, and for
// all phases other than prepare, ramp and sweep.
func (s sources) prefix(phase *v1alpha1.Phase) string {
	switch phase.Kind() {
	case v1alpha1.PhasePrepare:
		switch {
		case s.own && s.extra:
			return "layout and precondition (message for the layout): "
		case s.extra:
			return "precondition: "
		}
		return ""
	case v1alpha1.PhaseRamp, v1alpha1.PhaseSweep:
		cells := cellNames(phase, s.cells)
		switch {
		case s.extra && cells != "":
			return "the drain and " + cells + ", the first measured: "
		case s.extra:
			return "the drain: "
		case len(s.cells) > 1:
			return cells + ", the first measured: "
		case cells != "":
			return cells + ": "
		}
	default:
	}
	return ""
}

// cellsWith returns the cells of a result that have a warning of the given type.
func cellsWith(result *v1alpha1.TargetResult, kind v1alpha1.WarningType) []int32 {
	var cells []int32
	for _, step := range result.Steps {
		if slices.Contains(step.Warnings, kind) {
			cells = append(cells, step.Cell)
		}
	}
	return cells
}

// foldWarnings merges a step's warnings into the phase's warnings. The phase has one warning of each type, with the
// message of the first affected step and the names of all affected steps.
func foldWarnings(phase *v1alpha1.Phase, before, into *v1alpha1.TargetResult, step plan.Step, made v1alpha1.TargetResult) {
	for _, warning := range made.Warnings {
		if step.Kind == v1alpha1.PhaseCooldown {
			// In a cooldown, only the redrain can have warnings. A warning of the same type is therefore from an earlier fold of
			// the redrain, so replace it.
			into.Warnings = slices.DeleteFunc(into.Warnings, func(w v1alpha1.Warning) bool { return w.Type == warning.Type })
			into.Warnings = append(into.Warnings, warning)
			continue
		}
		at := slices.IndexFunc(into.Warnings, func(w v1alpha1.Warning) bool { return w.Type == warning.Type })
		was, message := sources{}, warning.Message
		if at < 0 {
			if len(into.Warnings) >= maxWarnings {
				addWarning(into, warning, step.Kind)
				continue
			}
			at = len(into.Warnings)
			into.Warnings = append(into.Warnings, v1alpha1.Warning{Type: warning.Type, Severity: warning.Severity})
		} else {
			was, message = split(phase, before, into.Warnings[at])
		}
		extra := step.Purpose == plan.Precondition || step.Cell < 0 && step.Kind != v1alpha1.PhasePrepare
		is := sources{extra: was.extra || extra, own: was.own || step.Purpose == plan.Prepare, cells: cellsWith(into, warning.Type)}
		merged := &into.Warnings[at]
		merged.Message = v1alpha1.Truncate(is.prefix(phase)+message, maxMessageLength)
		merged.Clients = union(merged.Clients, warning.Clients)
	}
}

// split separates the prefix with the names of the steps from a merged message. It leaves the message unchanged if
// truncation has removed the prefix.
func split(phase *v1alpha1.Phase, before *v1alpha1.TargetResult, merged v1alpha1.Warning) (sources, string) {
	cells := cellsWith(before, merged.Type)
	if phase.Kind() == v1alpha1.PhasePrepare {
		for _, candidate := range []sources{{own: true, extra: true}, {extra: true}} {
			if message, found := strings.CutPrefix(merged.Message, candidate.prefix(phase)); found {
				return candidate, message
			}
		}
		return sources{own: true}, merged.Message
	}
	for _, candidate := range []sources{{extra: true, cells: cells}, {cells: cells}} {
		if prefix := candidate.prefix(phase); prefix != "" {
			if message, found := strings.CutPrefix(merged.Message, prefix); found {
				return candidate, message
			}
		}
	}
	return sources{cells: cells}, merged.Message
}

// addWarning adds a warning. In a full list, it replaces the least severe warning if the new one is more severe.
func addWarning(into *v1alpha1.TargetResult, warning v1alpha1.Warning, kind v1alpha1.PhaseKind) {
	if len(into.Warnings) < maxWarnings {
		into.Warnings = append(into.Warnings, warning)
		return
	}
	worst := slices.MaxFunc(into.Warnings, func(a, b v1alpha1.Warning) int { return rank(a.Type, kind) - rank(b.Type, kind) })
	if rank(worst.Type, kind) <= rank(warning.Type, kind) {
		return
	}
	at := slices.IndexFunc(into.Warnings, func(w v1alpha1.Warning) bool { return w.Type == worst.Type })
	into.Warnings[at] = warning
}

// sortWarnings sorts warnings by severity, the worst first, and then by name, so that the result does not depend on the
// order of the steps.
func sortWarnings(all []v1alpha1.Warning, kind v1alpha1.PhaseKind) {
	slices.SortStableFunc(all, func(a, b v1alpha1.Warning) int {
		return cmp.Or(rank(a.Type, kind)-rank(b.Type, kind), cmp.Compare(a.Type, b.Type))
	})
}

func union(a, b []int32) []int32 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxClientsListed)]
}
