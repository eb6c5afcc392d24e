package plan

import (
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Label returns a name of the step for display: the name of its phase and, if the phase has several steps, a
// description of the step.
func (s Step) Label() string {
	var words []string
	switch {
	case s.setsUp():
		words = append(words, "setup")
	case s.Purpose == Precondition:
		words = append(words, "precondition")
	case s.UntilCreditsPercent > 0:
		words = append(words, fmt.Sprintf("until %d %% of the credits are back", s.UntilCreditsPercent))
	case s.Purpose == Idle:
		words = append(words, "idle")
	case s.Redrain:
		words = append(words, "drain again")
	case s.Purpose == Drain && s.Kind != v1alpha1.PhaseBurstDrain:
		words = append(words, "drain")
	}
	words = append(words, s.CellWords()...)
	if s.Overrides.Operation != "" {
		words = append(words, s.Overrides.Words()...)
	}
	if s.Repeat {
		words = append(words, "again")
	}
	if len(words) == 0 {
		return s.Phase
	}
	return s.Phase + " (" + strings.Join(words, ", ") + ")"
}

// CellWords describes the cell of a step: the values of a ramp step or a sweep cell (such as "jobs 4"), the number and
// rate of a search step, or the number and targets of an interference block. It returns nil for a step without a cell.
func (s Step) CellWords() []string {
	if s.Cell < 0 {
		return nil
	}
	words := s.Overrides.Words()
	kind := phasekind.Of(s.Kind)
	if kind.Interleaved {
		if len(s.Targets) == 1 {
			return []string{fmt.Sprintf("block %d", s.Cell+1), s.Targets[0] + " alone"}
		}
		return []string{fmt.Sprintf("block %d", s.Cell+1), fmt.Sprintf("%d targets", len(s.Targets))}
	}
	if kind.PicksRates {
		name := "step"
		if s.Confirms {
			name = "confirming step"
		}
		return append([]string{fmt.Sprintf("%s %d", name, s.Cell+1)}, words...)
	}
	if len(words) == 0 || s.Kind == v1alpha1.PhaseSweep {
		words = append([]string{fmt.Sprintf("clients %d", s.Clients)}, words...)
	}
	return words
}

// Whole returns the length of the step for display: " of 1m0s", " of at most 6h0m0s", or "" if it is unknown.
func (s Step) Whole() string {
	whole := s.WarmUp + s.Duration
	switch {
	case s.WorkBound(), whole == 0:
		return ""
	case s.Adaptive():
		return fmt.Sprintf(" of at most %s", whole)
	}
	return fmt.Sprintf(" of %s", whole)
}
