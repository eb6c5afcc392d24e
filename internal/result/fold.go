package result

import (
	"cmp"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
)

// Fold adds the result of one step to that of its target in the phase, which is the zero value before the
// first step. A step that is folded a second time, because nobody lived to know that it was, changes nothing.
//
// What a step gives depends on the phase: steps of a ramp and cells of a sweep go to Steps, layout and
// precondition share one result whose figures are the layout's, a cooldown and its redrain too; a steady
// phase and a burst drain are one step, whose result is that of the phase.
func Fold(phase *v1alpha1.Phase, into *v1alpha1.TargetResult, step plan.Step, history History, made v1alpha1.TargetResult) {
	into.Target = made.Target
	before := *into
	before.Steps = slices.Clone(into.Steps)
	switch step.Kind {
	case v1alpha1.PhaseRamp, v1alpha1.PhaseSweep:
		foldCell(into, step, history, made)
	case v1alpha1.PhaseCooldown:
		foldCooldown(into, step, made)
	case v1alpha1.PhasePrepare:
		if step.Purpose == plan.Prepare {
			warnings := into.Warnings
			*into = made
			into.Warnings = warnings
		}
		into.Clients = max(into.Clients, made.Clients)
	default:
		if step.Purpose == plan.Prepare {
			// The setup of a command right before it: none of its figures are the phase's.
			into.Warnings = made.Warnings
			return
		}
		*into = made
		return
	}
	foldWarnings(phase, &before, into, step, made)
	switch {
	case step.Kind == v1alpha1.PhaseSweep:
		judgeDrift(phase, into)
	case step.Kind == v1alpha1.PhaseRamp && phase.Ramp != nil:
		into.Knee = kneeOf(phase.Ramp, into.Steps)
	}
	sortWarnings(into.Warnings, step.Kind)
}

// foldCooldown keeps what the idle step and what its redrain gave.
func foldCooldown(into *v1alpha1.TargetResult, step plan.Step, made v1alpha1.TargetResult) {
	if step.Purpose == plan.Idle {
		into.Cooldown = made.Cooldown
		return
	}
	cooldown, warnings := into.Cooldown, into.Warnings
	*into = made
	into.Cooldown, into.Warnings = cooldown, warnings
}

// foldCell puts a step of a ramp or a cell of a sweep in its place. What was inserted before a cell, a drain
// or an idle time, is no cell.
func foldCell(into *v1alpha1.TargetResult, step plan.Step, history History, made v1alpha1.TargetResult) {
	into.Clients = max(into.Clients, made.Clients)
	if made.Usage != nil {
		into.Usage = made.Usage
	}
	if made.InFlightNanoseconds != nil && (into.InFlightNanoseconds == nil || *made.InFlightNanoseconds > *into.InFlightNanoseconds) {
		into.InFlightNanoseconds = made.InFlightNanoseconds
	}
	if step.Cell < 0 {
		if made.Burst != nil {
			into.Burst = made.Burst
		}
		return
	}
	// The figures of each cell would be too much; which command it was is the same for all but the ranks.
	if made.IOR != nil {
		into.IOR = &v1alpha1.IORResult{MPIRun: made.IOR.MPIRun, API: made.IOR.API, DataPattern: made.IOR.DataPattern}
	}
	cell := cellOf(into, int32(step.Cell)) //nolint:gosec // The API allows few.
	if cell == nil {
		return
	}
	for _, warning := range made.Warnings {
		addType(cell, warning.Type, step.Kind)
	}
	operations := stepOperations(made)
	if step.Repeat {
		if drift, ok := drift(cell.Operations, operations); ok && (cell.DriftPermille == nil || drift > *cell.DriftPermille) {
			cell.DriftPermille = &drift
		}
		return
	}
	cell.Clients, cell.Operations = made.Clients, operations
	cell.ThrottledPermille, cell.ClientCPUPermille = made.ThrottledPermille, nil
	if made.ClientCPUPermille != nil && *made.ClientCPUPermille >= tellingCPU {
		cell.ClientCPUPermille = made.ClientCPUPermille
	}
	cell.CreditPercentAtStart, cell.CreditPercentAtEnd = history.CreditPercentAtStart, history.CreditPercentAtEnd
}

// tellingCPU is the use of a client's CPU in thousandths from where on it is told of a step.
const tellingCPU = 500

// maxCells of the API.
const maxCells = 256

// cellOf finds the cell, or makes it in its place; nil where there are too many.
func cellOf(into *v1alpha1.TargetResult, index int32) *v1alpha1.StepResult {
	at, found := slices.BinarySearchFunc(into.Steps, index, func(s v1alpha1.StepResult, index int32) int { return cmp.Compare(s.Cell, index) })
	if !found {
		if len(into.Steps) >= maxCells {
			return nil
		}
		into.Steps = slices.Insert(into.Steps, at, v1alpha1.StepResult{Cell: index})
	}
	return &into.Steps[at]
}

// stepOperations are the figures of a step, of those operations that have a rate.
func stepOperations(made v1alpha1.TargetResult) []v1alpha1.StepOperation {
	var all []v1alpha1.StepOperation
	for _, operation := range made.Operations {
		if operation.IOPSMilli == nil {
			continue
		}
		added := v1alpha1.StepOperation{Operation: operation.Operation, IOPSMilli: *operation.IOPSMilli, RateErrorPPM: operation.RateErrorPPM}
		if operation.BytesPerSecond != nil {
			added.BytesPerSecond = *operation.BytesPerSecond
		}
		if operation.Latency != nil {
			added.MeanNanoseconds, added.P99Nanoseconds = operation.Latency.MeanNanoseconds, operation.Latency.P99Nanoseconds
		}
		all = append(all, added)
	}
	return all
}

// maxStepWarnings of the API.
const maxStepWarnings = 8

// addType keeps the worst types of a cell, in one order whichever came first.
func addType(cell *v1alpha1.StepResult, kind v1alpha1.WarningType, phase v1alpha1.PhaseKind) {
	if slices.Contains(cell.Warnings, kind) {
		return
	}
	all := append(slices.Clone(cell.Warnings), kind)
	slices.SortFunc(all, func(a, b v1alpha1.WarningType) int {
		return cmp.Or(cmp.Compare(rank(a, phase), rank(b, phase)), cmp.Compare(a, b))
	})
	cell.Warnings = all[:min(len(all), maxStepWarnings)]
}

// totals of all operations of a cell, a second. Syncs move nothing.
func totals(operations []v1alpha1.StepOperation) (bytesPerSecond, iops float64) {
	for _, operation := range operations {
		if operation.Operation == v1alpha1.OperationSync {
			continue
		}
		bytesPerSecond += float64(operation.BytesPerSecond)
		iops += float64(operation.IOPSMilli) / 1000
	}
	return bytesPerSecond, iops
}

// drift is the difference of a repetition from the first time, in thousandths; of bytes, or of operations
// where no bytes are moved.
func drift(first, again []v1alpha1.StepOperation) (int64, bool) {
	was, wasIOPS := totals(first)
	is, isIOPS := totals(again)
	if was == 0 {
		was, is = wasIOPS, isIOPS
	}
	if was <= 0 || len(again) == 0 {
		return 0, false
	}
	return permille(max(is/was-1, 1-is/was)), true
}
