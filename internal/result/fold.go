package result

import (
	"cmp"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
)

// Fold adds the result of one step to the phase's result for a target. Before the first step, the phase's result is the
// zero value. A process may die between storing a step's result and recording that the step was folded, so folding the
// same step again has no effect.
//
// The effect of a step depends on the phase. Steps of a ramp and cells of a sweep are added to Steps. Layout and
// precondition share one result, which has the figures of the layout. A cooldown and its redrain also share one result,
// which has the figures of the redrain. In a smallFiles phase, each step adds its own operations to the result. The
// result of a search contains the steps of all rates that it tried, and the figures at the highest confirmed rate. The
// result of an interference phase contains its blocks, and the figures with the most neighbours. A steady phase and a
// burst drain consist of one step, whose result is the result of the phase.
func Fold(phase *v1alpha1.Phase, into *v1alpha1.TargetResult, step plan.Step, history History, made v1alpha1.TargetResult) {
	into.Target = made.Target
	before := *into
	before.Steps = slices.Clone(into.Steps)
	switch kind := phasekind.Of(step.Kind); {
	case kind.InCells():
		foldCell(into, step, history, made)
	case kind.PicksRates:
		foldSearch(into, step, history, made)
		return
	case kind.Interleaved:
		foldBlock(phasekind.BlocksOf(phase), into, step, history, made)
		return
	case step.Kind == v1alpha1.PhaseCooldown:
		foldCooldown(into, step, made)
	case step.Overrides.Operation != "":
		foldFiles(into, step, made)
		return
	case kind.LaysOut:
		// After the loss of a client, the layout is repeated, and clients that still have their data write nothing. Keep
		// the figures and the disk usage of the attempt in which the most clients wrote.
		if step.Purpose == plan.Prepare && (len(into.Operations) == 0 || made.Clients >= into.Clients) {
			warnings := into.Warnings
			*into = made
			into.Warnings = warnings
		}
		into.Clients = max(into.Clients, made.Clients)
	default:
		foldSteady(into, step, made)
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

// setupPrefix begins the message of each warning from a command's setup.
const setupPrefix = "setup: "

// foldSteady replaces the phase's result with the result of the measured step. It keeps the warnings of a command's
// setup, which runs as a separate step right before the measured step.
func foldSteady(into *v1alpha1.TargetResult, step plan.Step, made v1alpha1.TargetResult) {
	if step.Purpose == plan.Prepare {
		into.Warnings = setupWarnings(made.Warnings)
		return
	}
	setup := slices.DeleteFunc(into.Warnings, func(w v1alpha1.Warning) bool { return !strings.HasPrefix(w.Message, setupPrefix) })
	*into = made
	for _, warning := range setup {
		if slices.ContainsFunc(into.Warnings, func(w v1alpha1.Warning) bool { return w.Type == warning.Type }) {
			continue // The list must have only one warning of each type.
		}
		addWarning(into, warning, step.Kind)
		sortWarnings(into.Warnings, step.Kind)
	}
}

// setupWarnings returns a setup command's warnings about the data that it creates, each with the severity that its type
// has in a prepare phase. It drops all other warnings, because they concern the figures of the setup, which are not
// part of the phase's result.
func setupWarnings(all []v1alpha1.Warning) []v1alpha1.Warning {
	var kept []v1alpha1.Warning
	for _, warning := range all {
		warning.Severity = warning.Type.Severity(v1alpha1.PhasePrepare)
		if warning.Severity == v1alpha1.SeverityInfo {
			continue
		}
		warning.Message = v1alpha1.Truncate(setupPrefix+warning.Message, maxMessageLength)
		kept = append(kept, warning)
	}
	return kept
}

// foldCooldown adds the result of a cooldown's idle step or of its redrain, without changing what the other step added.
func foldCooldown(into *v1alpha1.TargetResult, step plan.Step, made v1alpha1.TargetResult) {
	if step.Purpose == plan.Idle {
		into.Cooldown = made.Cooldown
		return
	}
	cooldown, warnings := into.Cooldown, into.Warnings
	*into = made
	into.Cooldown, into.Warnings = cooldown, warnings
}

// foldFiles adds the operations and the warnings of one step. Each step has its own common window; the result states
// the length of the longest one.
func foldFiles(into *v1alpha1.TargetResult, step plan.Step, made v1alpha1.TargetResult) {
	into.Clients, into.WorkBound = max(into.Clients, made.Clients), true
	into.WindowNanoseconds = max(into.WindowNanoseconds, made.WindowNanoseconds)
	for _, operation := range made.Operations {
		at := slices.IndexFunc(into.Operations, func(o v1alpha1.OperationResult) bool { return o.Operation == operation.Operation })
		if at < 0 {
			into.Operations = append(into.Operations, operation)
		} else {
			into.Operations[at] = operation
		}
	}
	for _, warning := range made.Warnings {
		operation, text := step.Overrides.String(), ": "+warning.Message
		warning.Message = v1alpha1.Truncate(operation+text, maxMessageLength)
		at := slices.IndexFunc(into.Warnings, func(w v1alpha1.Warning) bool { return w.Type == warning.Type })
		if at < 0 {
			addWarning(into, warning, step.Kind)
			continue
		}
		merged := &into.Warnings[at]
		switch operations, same := strings.CutSuffix(merged.Message, text); {
		case strings.Contains(merged.Message, warning.Message) || same && strings.HasSuffix(operations, operation):
			continue // this step was folded before, so its warning is already included
		case same:
			merged.Message = v1alpha1.Truncate(operations+", "+warning.Message, maxMessageLength)
		default:
			merged.Message = v1alpha1.Truncate(merged.Message+"; "+warning.Message, maxMessageLength)
		}
		merged.Clients = union(merged.Clients, warning.Clients)
	}
	sortWarnings(into.Warnings, step.Kind)
}

// foldCell adds the figures of a step of a ramp or a cell of a sweep, and keeps the cells sorted by index. A drain or a
// pause that was inserted before a cell does not become a cell.
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
	engines.KeepRun(into, &made)
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

// tellingCPU is the lowest clientCPUPermille that the result of a cell includes.
const tellingCPU = 500

// maxCells is the API's limit on the number of cells.
const maxCells = 256

// cellOf returns the cell with the given index, and inserts it in order if it is missing. It returns nil if the cell is
// missing and the list already has maxCells cells.
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

// stepOperations returns the figures of a step's operations. It omits operations without a rate.
func stepOperations(made v1alpha1.TargetResult) []v1alpha1.StepOperation {
	var all []v1alpha1.StepOperation
	for _, operation := range made.Operations {
		if operation.IOPSMilli == nil && operation.BytesPerSecond == nil {
			continue
		}
		added := v1alpha1.StepOperation{Operation: operation.Operation, RateErrorPPM: operation.RateErrorPPM}
		if operation.IOPSMilli != nil {
			added.IOPSMilli = *operation.IOPSMilli
		}
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

// maxStepWarnings is the API's limit on the number of warnings of a cell.
const maxStepWarnings = 8

// addType adds a warning type to a cell. If the list is full, it keeps the most severe types, so that the result does
// not depend on the order of the calls.
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

// drift returns the relative difference between the repetition of a cell and its first measurement, in thousandths. It
// compares byte rates, or operation rates if no bytes are moved.
func drift(first, again []v1alpha1.StepOperation) (int64, bool) {
	was, wasIOPS, _ := phasekind.Total(first)
	is, isIOPS, _ := phasekind.Total(again)
	if was.Value == 0 {
		was, is = wasIOPS, isIOPS
	}
	if was.Value <= 0 || len(again) == 0 {
		return 0, false
	}
	ratio := float64(is.Value) / float64(was.Value)
	return permille(max(ratio-1, 1-ratio)), true
}
