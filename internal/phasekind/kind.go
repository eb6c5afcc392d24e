package phasekind

import (
	"math"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Kind describes how one kind of phase differs from the others. The zero value is a kind without results.
type Kind struct {
	// Label describes the kind in the live view, next to the name of a phase.
	Label string
	// LaysOut is true if the phase only creates data for other phases. The rates of such a phase are not results.
	LaysOut bool
	// Limited is true if a target's documented limits apply to the loads of this kind of phase.
	Limited bool
	// PicksRates is true if the phase picks the rate of each step when the step begins. Its load is an open loop. The
	// picked rates do not show what limits the store, and the phase may end before it has used all of its steps.
	PicksRates bool
	// Interleaved is true if the phase alternates between blocks that each load only some of its targets. Each block is
	// a step with its own figures; the phase measures the difference between them.
	Interleaved bool
	// OwnOperations returns the operations that a phase performs instead of the workload's reads and writes. It is nil if
	// the phase performs the workload's operations.
	OwnOperations func(*v1alpha1.Phase) []v1alpha1.Operation
	// Regime returns the state of the burst credits in which a phase measures. It is nil if the kind has no regime.
	Regime func(*v1alpha1.Phase) v1alpha1.Regime
	// Goal returns the text with which the plan describes what the phase determines. It is nil if the load makes this
	// obvious.
	Goal func(*v1alpha1.Phase) string
	// Block is the title of the report block that shows the figures of the kind. It is "" if the table of operations shows
	// them. Kinds with the same title share a block. OwnTables is true if the block shows all of the figures in its own
	// tables. The general table of figures then omits them.
	Block     string
	OwnTables bool
	// Cell is the report's word for a step or cell that has its own figures, such as "step". It is "" if the phase has
	// a single result.
	Cell string

	figures func(*v1alpha1.TargetResult) []Figure
	overall func(*v1alpha1.TargetResult) Overall
	without func(*v1alpha1.TargetResult) string
	differs func(a, b *v1alpha1.Phase) string
}

var kinds = map[v1alpha1.PhaseKind]Kind{
	v1alpha1.PhasePrepare:      prepare,
	v1alpha1.PhaseSteady:       steady,
	v1alpha1.PhaseBurstDrain:   burstDrain,
	v1alpha1.PhaseCooldown:     cooldown,
	v1alpha1.PhaseRamp:         ramp,
	v1alpha1.PhaseSweep:        sweep,
	v1alpha1.PhaseSmallFiles:   smallFiles,
	v1alpha1.PhaseSearch:       search,
	v1alpha1.PhaseInterference: interference,
}

// Of returns the description of a kind.
func Of(kind v1alpha1.PhaseKind) Kind { return kinds[kind] }

// Known reports whether this version knows a kind. A newer version may have written a result of another kind.
func Known(kind v1alpha1.PhaseKind) bool {
	_, known := kinds[kind]
	return known
}

// InCells reports whether the phase has a figure per cell: per step of a ramp or per cell of a sweep.
func (k Kind) InCells() bool { return k.Cell != "" }

// ManySteps reports whether the phase can have hundreds of steps that load the same files.
func (k Kind) ManySteps() bool { return k.InCells() || k.PicksRates || k.Interleaved }

// Differs explains why the results of two phases of one kind cannot be compared, for example because their ramps have
// different steps. It returns "" if they can be compared.
func Differs(a, b *v1alpha1.Phase) string {
	differs := Of(a.Kind()).differs
	if differs == nil || a.Kind() != b.Kind() {
		return ""
	}
	return differs(a, b)
}

// Name returns the name of a kind as it is written in a file.
func Name(kind v1alpha1.PhaseKind) string {
	if kind == "" {
		return "unknown"
	}
	return strings.ToLower(string(kind[:1])) + string(kind[1:])
}

// Figures returns the figures of a result, the most important first. The rates of a layout are not included, nor are
// the rates of a whole drain, which mix burst and baseline.
func (k Kind) Figures(result *v1alpha1.TargetResult) []Figure {
	if k.figures == nil {
		return nil
	}
	return append(k.figures(result), ratio(result.Usage)...)
}

// WithoutFigures explains why a phase with steps has no figures for the phase as a whole, for example because a search
// found no rate. It returns "" for kinds whose figures belong to their cells.
func (k Kind) WithoutFigures(result *v1alpha1.TargetResult) string {
	if k.without == nil {
		return ""
	}
	return k.without(result)
}

// Overall is the figure by which a phase is compared with the same phase of other runs.
type Overall struct {
	// What is the name of the figure, or "" if the phase has no overall figure.
	What  string
	Value float64
	Unit  v1alpha1.FigureUnit
	// Cells is the number of cells if the figure is a mean over cells, and otherwise 0.
	Cells int
}

// Overall returns the overall figure. It has no name if the result has no such figure.
func (k Kind) Overall(result *v1alpha1.TargetResult) Overall {
	if k.overall == nil {
		return Overall{}
	}
	return k.overall(result)
}

// meanOf returns the geometric mean of the values, in which each value has the same weight. Without values, it returns
// an empty Overall.
func meanOf(what string, unit v1alpha1.FigureUnit, values []float64) Overall {
	if len(values) == 0 {
		return Overall{}
	}
	var sum float64
	for _, value := range values {
		sum += math.Log(value)
	}
	return Overall{What: what, Value: math.Exp(sum / float64(len(values))), Unit: unit}
}

// overallOf returns the named figure as an Overall, which is empty if there is no such figure.
func overallOf(what string, figures []Figure, name v1alpha1.FigureName) Overall {
	for _, f := range figures {
		if f.Name == name {
			return Overall{What: what, Value: float64(f.Value), Unit: f.Unit()}
		}
	}
	return Overall{}
}
