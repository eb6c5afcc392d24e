package phasekind

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Kind is what differs between the kinds of phases. The zero value is a kind without results.
type Kind struct {
	// Label is the word for the kind beside the name of a phase.
	Label string
	// LaysOut is true if the phase makes the data of others: it is not run for its rates.
	LaysOut bool
	// Block is the title under which a report shows the figures of the kind; "" if the lines of its operations are
	// enough. Kinds with the same title share it.
	Block string
	// Cell is the word for a part of the phase with figures of its own; "" if the phase has one result.
	Cell string

	figures func(*v1alpha1.TargetResult) []Figure
	overall func(*v1alpha1.TargetResult) Overall
}

var kinds = map[v1alpha1.PhaseKind]Kind{
	v1alpha1.PhasePrepare:    prepare,
	v1alpha1.PhaseSteady:     steady,
	v1alpha1.PhaseBurstDrain: burstDrain,
	v1alpha1.PhaseCooldown:   cooldown,
	v1alpha1.PhaseRamp:       ramp,
	v1alpha1.PhaseSweep:      sweep,
	v1alpha1.PhaseSmallFiles: smallFiles,
	v1alpha1.PhaseSearch:     search,
}

// Of returns the kind.
func Of(kind v1alpha1.PhaseKind) Kind { return kinds[kind] }

// InCells reports whether the figures are those of cells: the steps of a ramp or the cells of a sweep.
func (k Kind) InCells() bool { return k.Cell != "" }

// Name returns a kind as it is written in a file.
func Name(kind v1alpha1.PhaseKind) string {
	if kind == "" {
		return "unknown"
	}
	return strings.ToLower(string(kind[:1])) + string(kind[1:])
}

// Figures returns the figures of a result, the most important first. The rates of a layout are none, nor are those of a
// whole drain, which mix burst and baseline.
func (k Kind) Figures(result *v1alpha1.TargetResult) []Figure {
	if k.figures == nil {
		return nil
	}
	return append(k.figures(result), ratio(result.Usage)...)
}

// Overall is the one figure of a result by which runs are compared over time.
type Overall struct {
	// What names the figure; "" if there is none.
	What  string
	Value float64
	Unit  v1alpha1.FigureUnit
	// Cells is the number of cells that it is a mean of; 0 if it is none.
	Cells int
}

// Overall returns that figure. It has no name if the result has no such figure.
func (k Kind) Overall(result *v1alpha1.TargetResult) Overall {
	if k.overall == nil {
		return Overall{}
	}
	return k.overall(result)
}

// overallOf returns the named figure; nothing if it is not there.
func overallOf(what string, figures []Figure, name v1alpha1.FigureName) Overall {
	for _, f := range figures {
		if f.Name == name {
			return Overall{What: what, Value: float64(f.Value), Unit: f.Unit()}
		}
	}
	return Overall{}
}
