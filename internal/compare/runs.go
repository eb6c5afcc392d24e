package compare

import (
	"fmt"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Side is one side of a comparison: a run or one target of a run.
type Side struct {
	// Name is the name to display.
	Name string
	// Target restricts the comparison to one target of the run; empty means all.
	Target string
	Run    *v1alpha1.RunSpec
	Status *v1alpha1.BenchmarkRunStatus
	// ID identifies the run.
	ID string
}

// RunPhase compares a target of one side with a target of the other side, in one phase.
type RunPhase struct {
	Phase string             `json:"phase"`
	Kind  v1alpha1.PhaseKind `json:"kind"`
	// BaselineTarget and Target are the names of the targets in the two runs.
	BaselineTarget string `json:"baselineTarget"`
	Target         string `json:"target"`
	// Refused is the reason why the targets cannot be compared. If it is set, there are no figures.
	Refused string   `json:"refused,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Figures []Figure `json:"figures,omitempty"`
	// Cells are the cells of a sweep or the steps of a ramp. Count holds the number of cells in which each side was
	// better.
	Cells []Cell                   `json:"cells,omitempty"`
	Count *v1alpha1.CellComparison `json:"count,omitempty"`

	// Pair holds the compared results, so that a report can also show their details, such as the cells.
	Pair *Pair `json:"-"`
}

// Figure compares one figure of both sides. Equivalent is true or false if Equivalence is conclusive, and nil
// otherwise.
type Figure struct {
	v1alpha1.FigureComparison
	Equivalence Equivalence `json:"equivalence"`
	Equivalent  *bool       `json:"equivalent"`
}

// Cell compares the figures of one cell. If the cell cannot be compared, Refused states why.
type Cell struct {
	Cell    int32    `json:"cell"`
	Refused string   `json:"refused,omitempty"`
	Figures []Figure `json:"figures,omitempty"`
}

// Runs compares the phases that both sides have, in the baseline's order. margin is the largest relative difference at
// which two figures count as equivalent, such as 0.05. Phases and targets that only one side has are listed as refused.
// Main figures that only one side has are also listed as refused, after the figures that both sides have.
func Runs(baseline, other Side, margin float64) []RunPhase {
	var all []RunPhase
	for i := range baseline.Status.Phases {
		a := &baseline.Status.Phases[i]
		at := slices.IndexFunc(other.Status.Phases, func(p v1alpha1.PhaseResult) bool { return p.Name == a.Name })
		if at < 0 {
			all = append(all, RunPhase{Phase: a.Name, Kind: a.Kind, Refused: other.Name + " has no result for this phase"})
			continue
		}
		all = append(all, phaseTargets(baseline, other, a, &other.Status.Phases[at], margin)...)
	}
	for i := range other.Status.Phases {
		b := &other.Status.Phases[i]
		if !slices.ContainsFunc(baseline.Status.Phases, func(p v1alpha1.PhaseResult) bool { return p.Name == b.Name }) {
			all = append(all, RunPhase{Phase: b.Name, Kind: b.Kind, Refused: baseline.Name + " has no result for this phase"})
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		one := &all[i]
		if one.Pair == nil || one.Count != nil {
			continue // ramps and sweeps are compared cell by cell
		}
		if why := one.Pair.uncompared(); why != "" {
			all = slices.Insert(all, i+1, RunPhase{Phase: one.Phase, Kind: one.Kind, BaselineTarget: one.BaselineTarget, Target: one.Target, Refused: why})
		}
	}
	// Omit layouts without figures. Only the compression ratio of a layout is compared, and some layouts have none.
	return slices.DeleteFunc(all, func(p RunPhase) bool {
		return phasekind.Of(p.Kind).LaysOut && p.Refused == "" && len(p.Figures) == 0
	})
}

// phaseTargets pairs the targets of a phase by name. If each side has only one target, it pairs them regardless of
// their names.
func phaseTargets(baseline, other Side, a, b *v1alpha1.PhaseResult, margin float64) []RunPhase {
	as, bs := of(baseline, a), of(other, b)
	if len(as) == 1 && len(bs) == 1 {
		return []RunPhase{targets(baseline, other, a, b, as[0], bs[0], margin)}
	}
	const remedy = ": select one target of each run with RUN:TARGET"
	var all []RunPhase
	for _, one := range as {
		at := slices.IndexFunc(bs, func(t *v1alpha1.TargetResult) bool { return t.Target == one.Target })
		if at < 0 {
			all = append(all, RunPhase{Phase: a.Name, Kind: a.Kind, BaselineTarget: one.Target, Refused: other.Name + " has no target " + one.Target + remedy})
			continue
		}
		all = append(all, targets(baseline, other, a, b, one, bs[at], margin))
	}
	for _, two := range bs {
		if !slices.ContainsFunc(as, func(t *v1alpha1.TargetResult) bool { return t.Target == two.Target }) {
			all = append(all, RunPhase{Phase: b.Name, Kind: b.Kind, Target: two.Target, Refused: baseline.Name + " has no target " + two.Target + remedy})
		}
	}
	return all
}

// of returns the targets of a phase that the side includes: only the target that the side names or, if it names none,
// all targets.
func of(side Side, phase *v1alpha1.PhaseResult) []*v1alpha1.TargetResult {
	var all []*v1alpha1.TargetResult
	for i := range phase.Targets {
		if side.Target == "" || phase.Targets[i].Target == side.Target {
			all = append(all, &phase.Targets[i])
		}
	}
	return all
}

func targets(baseline, other Side, a, b *v1alpha1.PhaseResult, one, two *v1alpha1.TargetResult, margin float64) RunPhase {
	made := RunPhase{Phase: a.Name, Kind: a.Kind, BaselineTarget: one.Target, Target: two.Target}
	specs := [2]*v1alpha1.Phase{baseline.Run.Phase(a.Name), other.Run.Phase(b.Name)}
	if made.Refused = incomparable(a, b, specs); made.Refused != "" {
		return made
	}
	left, right := *one, *two
	pair := &Pair{Kind: a.Kind, Baseline: &left, Target: &right, Runs: baseline.ID != other.ID,
		BaselineClosed: Closed(baseline.Run, specs[0], one.Target), TargetClosed: Closed(other.Run, specs[1], two.Target)}
	left.Target, right.Target = baseline.Name, other.Name
	if made.Refused = pair.invalid(); made.Refused != "" {
		return made
	}
	made.Pair = pair
	made.Notes = runNotes(baseline, other, pair, specs, one, two)
	if phasekind.Of(pair.Kind).InCells() {
		made.Count, made.Cells = pair.countCells(), pair.cellFigures(margin)
		return made
	}
	pair.figures(func(figure v1alpha1.FigureComparison, d Difference) {
		made.Figures = append(made.Figures, tested(figure, d, margin))
	})
	return made
}

// incomparable returns the reason why two phases with the same name cannot be compared, or "" if they can.
func incomparable(a, b *v1alpha1.PhaseResult, specs [2]*v1alpha1.Phase) string {
	if a.Kind != b.Kind {
		return fmt.Sprintf("the phase kinds differ: %s in one run, %s in the other", a.Kind, b.Kind)
	}
	if !phasekind.Known(a.Kind) {
		return fmt.Sprintf("this version of storagebench does not know %s phases: use a newer version", a.Kind)
	}
	if specs[0] == nil || specs[1] == nil {
		return ""
	}
	return phasekind.Differs(specs[0], specs[1])
}

// warnings returns the side's warnings of severity Warning whose types the other side does not have.
func warnings(side, other *v1alpha1.TargetResult) []string {
	var all []string
	for _, w := range side.Warnings {
		if w.Severity == v1alpha1.SeverityWarning && !has(other, w.Type) {
			all = append(all, fmt.Sprintf("%s: %s: %s", side.Target, w.Type, w.Message))
		}
	}
	return all
}

// runNotes returns notes about two runs with different workloads, client counts or warnings, and about targets of one
// run that were loaded one after the other. The figures alone do not show these differences.
func runNotes(baseline, other Side, pair *Pair, specs [2]*v1alpha1.Phase, one, two *v1alpha1.TargetResult) []string {
	var all []string
	laysOut := phasekind.Of(pair.Kind).LaysOut
	if differs := Differences(baseline.Run.WorkloadOf(specs[0], one.Target), other.Run.WorkloadOf(specs[1], two.Target)); len(differs) > 0 && !laysOut {
		all = append(all, fmt.Sprintf("the workloads of the runs differ (%s: %s and %s), which may cause the difference", differs[0].Field, differs[0].Baseline, differs[0].Other))
	}
	if !pair.Runs && specs[0] != nil && specs[0].Mode == v1alpha1.PhaseSequential && !laysOut {
		all = append(all, inTurn)
	}
	if pair.Baseline.Clients != pair.Target.Clients {
		all = append(all, fmt.Sprintf("%s had %s, %s had %d", baseline.Name, clients(pair.Baseline.Clients), other.Name, pair.Target.Clients))
	}
	return slices.Concat(all, warnings(pair.Baseline, pair.Target), warnings(pair.Target, pair.Baseline))
}

func tested(figure v1alpha1.FigureComparison, d Difference, margin float64) Figure {
	made := Figure{FigureComparison: figure, Equivalence: d.Within(margin)}
	made.Equivalent = made.Equivalence.Bool()
	return made
}

// cellFigures compares the cells of both sides, in ascending order of their indexes.
func (p *Pair) cellFigures(margin float64) []Cell {
	var all []Cell
	for _, index := range p.cellIndexes() {
		a, b := CellOf(p.Baseline.Steps, index), CellOf(p.Target.Steps, index)
		made := Cell{Cell: index}
		switch {
		case !p.Usable(a):
			made.Refused = p.Baseline.Target + " has no valid result"
		case !p.Usable(b):
			made.Refused = p.Target.Target + " has no valid result"
		case lostClients(a, b):
			made.Refused = "clients were lost on one side"
		default:
			if _, ok := p.CellRate(a, b); !ok {
				made.Refused = "only one of the rates is 0"
				break
			}
			made.Figures = p.cellOf(a, b, margin)
		}
		all = append(all, made)
	}
	return all
}

func (p *Pair) cellOf(a, b *v1alpha1.StepResult, margin float64) []Figure {
	var all []Figure
	add := func(name v1alpha1.FigureName, operation v1alpha1.Operation, x, y int64, d Difference, ok bool) {
		if ok {
			all = append(all, tested(d.of(name, string(operation), x, y), d, margin))
		}
	}
	d, ok := p.CellThroughput(a, b)
	add(v1alpha1.FigureThroughput, "", throughput(a).Value, throughput(b).Value, d, ok)
	d, ok = p.CellIOPS(a, b)
	add(v1alpha1.FigureIOPS, "", iops(a).Value, iops(b).Value, d, ok)
	for i := range a.Operations {
		of := &a.Operations[i]
		at := slices.IndexFunc(b.Operations, func(o v1alpha1.StepOperation) bool { return o.Operation == of.Operation })
		if at < 0 {
			continue
		}
		d, ok = p.CellLatency(a, b, of.Operation, false)
		add(v1alpha1.FigureMeanLatency, of.Operation, of.MeanNanoseconds, b.Operations[at].MeanNanoseconds, d, ok)
		if of.P99Nanoseconds != nil && b.Operations[at].P99Nanoseconds != nil {
			d, ok = p.CellLatency(a, b, of.Operation, true)
			add(v1alpha1.FigureP99Latency, of.Operation, *of.P99Nanoseconds, *b.Operations[at].P99Nanoseconds, d, ok)
		}
	}
	return all
}
