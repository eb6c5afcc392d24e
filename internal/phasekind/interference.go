package phasekind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// interference alternates between measuring targets alone and beside neighbours. The phase's figures are measured with
// the most neighbours. A section of the report compares them with the figures measured without neighbours.
var interference = Kind{
	Label:       "interference",
	Interleaved: true,
	Regime:      func(phase *v1alpha1.Phase) v1alpha1.Regime { return phase.Interference.Regime },
	Block:       "Neighbours",
	OwnTables:   true,
	Goal: func(phase *v1alpha1.Phase) string {
		blocks := BlocksOf(phase)
		neighbours := "load on " + strings.Join(phase.Interference.Aggressors, ", ")
		if blocks.Equal {
			neighbours = "each other's load"
		}
		return fmt.Sprintf("the slowdown of %s caused by %s, in %d repetitions of %d blocks", strings.Join(blocks.Victims, ", "),
			neighbours, blocks.Repetitions, blocks.PerRepetition)
	},
	figures: Operations,
	overall: func(result *v1alpha1.TargetResult) Overall {
		made := steadyOverall(result)
		if made.What != "" {
			made.What += " beside neighbours"
		}
		return made
	},
	without: func(*v1alpha1.TargetResult) string {
		return "none of the blocks with the most neighbours has valid figures"
	},
	differs: func(a, b *v1alpha1.Phase) string {
		one, other := a.Interference, b.Interference
		if rolesText(one) == rolesText(other) {
			return ""
		}
		return fmt.Sprintf("the interference phases differ: %s; and %s", rolesText(one), rolesText(other))
	},
}

func rolesText(phase *v1alpha1.InterferencePhase) string {
	return fmt.Sprintf("victims %v, aggressors %v, neighbours %v, regime %s", phase.Victims, phase.Aggressors, Neighbours(phase), phase.Regime)
}

// Loads reports whether a phase loads a target. Only an interference phase leaves out targets.
func Loads(phase *v1alpha1.Phase, target string) bool {
	roles := phase.Interference
	return roles == nil || slices.Contains(roles.Victims, target) || slices.Contains(roles.Aggressors, target)
}

// Neighbours returns the numbers of aggressors that an interference phase loads beside its victims, in ascending order,
// or just 0 if the phase has no aggressors.
func Neighbours(phase *v1alpha1.InterferencePhase) []int32 {
	if len(phase.Neighbours) > 0 {
		return phase.Neighbours
	}
	return []int32{int32(len(phase.Aggressors))} //nolint:gosec // The API allows few.
}

// Blocks describes the blocks of an interleaved phase. It is the zero value for other phases.
type Blocks struct {
	// Victims are the targets that are measured both alone and beside neighbours. Equal is true if the phase has no
	// aggressors.
	Victims []string
	Equal   bool
	// PerRepetition is the number of blocks of a repetition: one for each victim alone, then one for each number of
	// neighbours. Every second repetition runs them in reverse order.
	PerRepetition, Repetitions int
	// Most is the largest number of neighbours that a victim has in any block.
	Most int32
	// Drains is true if the burst credits are drained before the blocks.
	Drains bool
}

// BlocksOf returns the blocks of a phase.
func BlocksOf(phase *v1alpha1.Phase) Blocks {
	if phase == nil || phase.Interference == nil {
		return Blocks{}
	}
	spec := phase.Interference
	levels := Neighbours(spec)
	made := Blocks{
		Victims: spec.Victims, Equal: len(spec.Aggressors) == 0, Drains: spec.Regime == v1alpha1.RegimeBaseline,
		PerRepetition: len(spec.Victims) + len(levels), Repetitions: int(v1alpha1.DefaultRepetitions),
		Most: int32(len(spec.Victims)-1) + levels[len(levels)-1], //nolint:gosec // The API allows few.
	}
	if spec.Repetitions != nil {
		made.Repetitions = int(*spec.Repetitions)
	}
	return made
}

// Repetition returns the number, from 0, of the repetition that contains the block with the given index.
func (b *Blocks) Repetition(block int) int { return block / max(1, b.PerRepetition) }

// Reversed reports whether a repetition runs its blocks in reverse order.
func (b *Blocks) Reversed(repetition int) bool { return repetition%2 == 1 }
