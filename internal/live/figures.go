package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
)

// figuresOf returns the main figures of a phase as text.
func figuresOf(run *v1alpha1.BenchmarkRun, spec *v1alpha1.Phase) []string {
	var words []string
	for phase, target := range v1alpha1.TargetResults(run.Status.Phases) {
		if phase.Name != spec.Name {
			continue
		}
		for _, word := range targetFigures(target, spec.Kind()) {
			if len(phase.Targets) > 1 {
				word = target.Target + " " + word
			}
			words = append(words, word)
		}
	}
	return words
}

// targetFigures returns the most important figures of a target. It returns none for a ramp or a sweep, because no
// single cell is representative.
func targetFigures(target *v1alpha1.TargetResult, kind v1alpha1.PhaseKind) []string {
	if phasekind.Of(kind).InCells() {
		return nil
	}
	if target.OwnRates() != nil {
		return ownRates(phasekind.Of(kind).Figures(target))
	}
	// In a phase that can have many steps, a drain only prepares for the measurement, so its figures are not shown.
	if drained := drainFigures(target.Burst); drained != nil && !phasekind.Of(kind).ManySteps() {
		return drained
	}
	var words []string
	for i := range target.Operations {
		operation := &target.Operations[i]
		if phasekind.Of(kind).OwnOperations != nil {
			words = append(words, operationsText(operation))
		} else if operation.BytesPerSecond != nil && *operation.BytesPerSecond > 0 {
			words = append(words, string(operation.Operation)+" "+rate(*operation.BytesPerSecond))
		}
	}
	return words
}

// drainFigures returns the burst and the baseline of a drain, or nil if either is unknown.
func drainFigures(result *v1alpha1.BurstResult) []string {
	levels := phasekind.Levels(result)
	_, of := phasekind.MainSeries(result)
	burst, baseline := phasekind.Find(levels, v1alpha1.FigureBurst, of), phasekind.Find(levels, v1alpha1.FigureBaseline, of)
	if burst == nil || baseline == nil {
		return nil
	}
	format := rate
	if of == phasekind.InOperations {
		format = func(milli int64) string { return measure.FormatOperationsPerSecond(float64(milli) / 1000) }
	}
	return []string{format(burst.Value) + ", then " + format(baseline.Value)}
}

func operationsText(o *v1alpha1.OperationResult) string {
	if o.IOPSMilli == nil {
		return string(o.Operation)
	}
	return string(o.Operation) + " " + measure.FormatOperationsPerSecond(float64(*o.IOPSMilli)/1000)
}

// totalRates returns the rates of all operations together. Like LiveFigures.Points, it does not count syncs.
func totalRates(figures *v1alpha1.LiveFigures) (bytesPerSecond, operationsPerSecond int64) {
	for _, one := range figures.Operations {
		bytesPerSecond += one.BytesPerSecond
		if one.Operation != v1alpha1.OperationSync {
			operationsPerSecond += one.OperationsPerSecond
		}
	}
	return bytesPerSecond, operationsPerSecond
}

func rate(bytesPerSecond int64) string { return measure.FormatBytesPerSecond(float64(bytesPerSecond)) }

// maxOwnRates is the maximum number of rates shown for a tool that reports rates itself. More would not fit on the
// line.
const maxOwnRates = 2

// ownRates returns the most important rates that a tool itself reports.
func ownRates(figures []phasekind.Figure) []string {
	var rates []string
	for _, f := range figures {
		if f.Name != v1alpha1.FigureRate || len(rates) == maxOwnRates {
			break // the tool's own rates come first, so all of them have been seen
		}
		rates = append(rates, fmt.Sprintf("%s %s/s", f.Operation,
			strings.TrimSuffix(measure.FormatOperationsPerSecond(float64(f.Value)/1000), " IOPS")))
	}
	return rates
}

// stepFigures returns the figures of one step on each of its targets, one per operation. In a sequential phase, each
// target has its own steps.
func stepFigures(run *v1alpha1.BenchmarkRun, step *plan.Step) []string {
	var words []string
	for phase, target := range v1alpha1.TargetResults(run.Status.Phases) {
		if phase.Name != step.Phase || !slices.Contains(step.Targets, target.Target) {
			continue
		}
		for _, operation := range cellOperations(target, step) {
			if operation.BytesPerSecond > 0 {
				words = append(words, string(operation.Operation)+" "+rate(operation.BytesPerSecond))
			}
		}
		switch step.Purpose {
		case plan.Precondition, plan.Idle:
		case plan.Drain:
			words = append(words, targetFigures(target, v1alpha1.PhaseBurstDrain)...)
		case plan.Prepare, plan.Measure:
			words = append(words, measuredFigures(target, step)...)
		}
	}
	return words
}

// measuredFigures returns the figures of a step that is not a cell. For a step that performs a single operation on
// each file, it returns only the figures of that operation.
func measuredFigures(target *v1alpha1.TargetResult, step *plan.Step) []string {
	own := step.Overrides.Operation
	switch {
	case step.Cell >= 0:
		return nil
	case own == "":
		return targetFigures(target, step.Kind)
	}
	for i := range target.Operations {
		if target.Operations[i].Operation == own {
			return []string{operationsText(&target.Operations[i])}
		}
	}
	return nil
}

// cellOperations returns the figures of the step's cell. It returns none for a step that repeats a cell, because
// only the cell's first measurement is kept.
func cellOperations(target *v1alpha1.TargetResult, step *plan.Step) []v1alpha1.StepOperation {
	for _, cell := range target.Steps {
		if int(cell.Cell) == step.Cell && !step.Repeat {
			return cell.Operations
		}
	}
	return nil
}
