package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Bounds that the API sets for the number of repetitions.
const (
	leastRepetitions = 4
	mostRepetitions  = 64
)

// block is a group of targets that are loaded together. word is the part of the step's ID that describes the block.
type block struct {
	targets []string
	word    string
}

// interference plans blocks that measure each victim alone, and then all victims together with each number of
// aggressors. It repeats that sequence, every second time in reverse order. The phase compares each victim's rate
// beside neighbours with its rate alone. If the storage's performance drifts linearly, the reverse order makes the
// drift raise the ratio of these two rates in one half of the repetitions and lower it in the other.
func (p *phaseMaker) interference(phase *v1alpha1.InterferencePhase) {
	before := len(p.problems)
	at := p.path.Child("interference")
	p.refuseRoles(at, phase)
	p.refuseNeighbours(at.Child("neighbours"), phase)
	warmUp := p.duration(at.Child("warmUp"), phase.WarmUp)
	duration := p.lasting(at.Child("blockDuration"), phase.BlockDuration)
	switch phase.Regime {
	case v1alpha1.RegimeAny, v1alpha1.RegimeBaseline:
	default:
		p.problems = append(p.problems, field.NotSupported(at.Child("regime"), phase.Regime,
			[]v1alpha1.Regime{v1alpha1.RegimeBaseline, v1alpha1.RegimeAny}))
	}
	if p.phase.Mode == v1alpha1.PhaseSequential {
		p.problems = append(p.problems, field.Invalid(p.path.Child("mode"), p.phase.Mode,
			"not supported in an interference phase, whose victims and aggressors determine which targets are loaded together: remove mode"))
	}
	p.refuseDegraded()
	if !p.loadable() || len(p.problems) > before {
		return
	}
	all := slices.Concat(phase.Victims, phase.Aggressors)
	if !p.timed(all) {
		return
	}
	if phase.Regime == v1alpha1.RegimeBaseline {
		if !p.drainFirst(at, all, cell{}) {
			return
		}
		p.warnIdle(at.Child("victims"), phase)
	}
	p.repeat(phase, warmUp, duration)
}

// repeat adds the blocks of all repetitions.
func (p *phaseMaker) repeat(phase *v1alpha1.InterferencePhase, warmUp, duration time.Duration) {
	order, layout := blocksOf(phase), phasekind.BlocksOf(p.phase)
	if phase.Regime == v1alpha1.RegimeAny {
		for _, target := range slices.Concat(phase.Victims, phase.Aggressors) {
			step, blocks := p.measured([]string{target}, warmUp, duration), 0
			for _, one := range order {
				if slices.Contains(one.targets, target) {
					blocks += layout.Repetitions
				}
			}
			p.warnInBurst(p.path.Child("interference", "regime"), &step, blocks)
		}
	}
	for repetition := range layout.Repetitions {
		for i := range order {
			next := order[i]
			if layout.Reversed(repetition) {
				next = order[len(order)-1-i]
			}
			step := p.measured(next.targets, warmUp, duration)
			step.Cell = repetition*len(order) + i
			if !p.add(step, next.word) {
				return
			}
		}
	}
}

// blocksOf returns the blocks of a repetition, in forward order.
func blocksOf(phase *v1alpha1.InterferencePhase) []block {
	var all []block
	for _, victim := range phase.Victims {
		word := "alone"
		if len(phase.Victims) > 1 {
			word += "-" + victim
		}
		all = append(all, block{targets: []string{victim}, word: word})
	}
	for _, count := range phasekind.Neighbours(phase) {
		targets := slices.Concat(phase.Victims, phase.Aggressors[:count])
		all = append(all, block{targets: targets, word: fmt.Sprintf("together-%d", len(targets))})
	}
	return all
}

// refuseRoles reports unknown targets, targets with more than one role, phases without neighbours, and invalid or too
// many repetitions.
func (p *phaseMaker) refuseRoles(at *field.Path, phase *v1alpha1.InterferencePhase) {
	targets, roles := targetNames(p.run), map[string]*field.Path{}
	for _, role := range []struct {
		name  string
		names []string
	}{{"victims", phase.Victims}, {"aggressors", phase.Aggressors}} {
		for i, name := range role.names {
			path := at.Child(role.name).Index(i)
			switch known := roles[name]; {
			case !slices.Contains(targets, name):
				p.problems = append(p.problems, field.Invalid(path, name, fmt.Sprintf("is not a target of the run: use one of %v", targets)))
			case known != nil:
				p.problems = append(p.problems, field.Invalid(path, name, fmt.Sprintf("is also %s: a target can have only one role", known)))
			default:
				roles[name] = path
			}
		}
	}
	switch {
	case len(phase.Victims) == 0:
		p.problems = append(p.problems, field.Required(at.Child("victims"),
			fmt.Sprintf("name the targets to measure alone and beside others: choose from %v", targets)))
	case len(phase.Victims)+len(phase.Aggressors) < 2:
		p.problems = append(p.problems, field.Required(at.Child("aggressors"),
			"a single target has no neighbours: name another target here, or name several victims to measure how they affect each other"))
	}
	if count := phase.Repetitions; count != nil && (*count < leastRepetitions || *count > mostRepetitions || *count%2 != 0) {
		p.problems = append(p.problems, field.Invalid(at.Child("repetitions"), *count, fmt.Sprintf(
			"must be an even number from %d to %d, because every second repetition is in reverse order", leastRepetitions, mostRepetitions)))
	}
	if layout := phasekind.BlocksOf(p.phase); layout.PerRepetition*layout.Repetitions > maxCells {
		p.problems = append(p.problems, field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(
			"%d repetitions of %d blocks make %d blocks, but the limit is %d: lower repetitions, or name fewer victims or neighbours",
			layout.Repetitions, layout.PerRepetition, layout.PerRepetition*layout.Repetitions, maxCells)))
	}
}

// refuseNeighbours requires the entries of neighbours to be in ascending order and from 1 to the number of aggressors.
// It reports only the first invalid entry.
func (p *phaseMaker) refuseNeighbours(at *field.Path, phase *v1alpha1.InterferencePhase) {
	for i, count := range phase.Neighbours {
		switch {
		case count < 1 || int(count) > len(phase.Aggressors):
			p.problems = append(p.problems, field.Invalid(at.Index(i), count, fmt.Sprintf(
				"must be from 1 to the number of aggressors (%d): lower it, or name more aggressors", len(phase.Aggressors))))
			return
		case i > 0 && count <= phase.Neighbours[i-1]:
			p.problems = append(p.problems, field.Invalid(at.Index(i), count,
				"must be greater than the value before it: sort the values and remove duplicates"))
			return
		}
	}
}

// timed reports whether the loads of all these targets run for a given time. Loads with a fixed amount of work would
// end at different times, and the remaining targets would be measured with too few neighbours.
func (p *phaseMaker) timed(targets []string) bool {
	before := len(p.problems)
	for _, target := range targets {
		if one := p.loads[target]; one.WorkBound {
			p.addOnce(field.Invalid(p.path, p.phase.Name, fmt.Sprintf(
				"target %s uses %s, which does a fixed amount of work, so neighbours would end at different times: "+
					"use a workload that runs for a given time, such as fio", target, one.Kind)))
		}
	}
	return len(p.problems) == before
}

// warnIdle warns if there are several victims, because each is idle while another is measured alone, and can regain
// credits during that time.
func (p *phaseMaker) warnIdle(at *field.Path, phase *v1alpha1.InterferencePhase) {
	if len(phase.Victims) > 1 {
		p.warn(at, "each victim is idle while another is measured alone, and regains credits if the store keeps burst credits per target. "+
			"The report counts the blocks that may have started with credits. To avoid this, use one phase per victim")
	}
}
