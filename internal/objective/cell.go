package objective

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// cells returns the figures of all cells that the objective's cell selector matches.
func cells(o *v1alpha1.Objective, spec *v1alpha1.BenchmarkRunSpec, target *v1alpha1.TargetResult) []figure {
	where := "target " + target.Target
	var found []figure
	for i := range spec.Steps {
		step := &spec.Steps[i]
		repeated := step.Repeat != nil && *step.Repeat
		if step.Phase != o.Phase || step.Cell == nil || repeated || !slices.Contains(step.Targets, target.Target) || !matches(o.Cell, step) {
			continue
		}
		cell := fmt.Sprintf("%s, cell %d", where, *step.Cell)
		at := slices.IndexFunc(target.Steps, func(s v1alpha1.StepResult) bool { return s.Cell == *step.Cell })
		if at < 0 {
			found = append(found, absent(cell, "no result"))
			continue
		}
		found = append(found, ofCell(o, &target.Steps[at], cell))
	}
	if len(found) == 0 {
		return []figure{absent(where, "phase %s has no cell with %s", o.Phase, selected(o.Cell))}
	}
	return found
}

// matches reports whether a step has the values that a cell selector requires. A step records only the values of the
// sweep's axes, so a selector with any other setting matches no step.
func matches(selector *v1alpha1.CellSelector, step *v1alpha1.ResolvedStep) bool {
	if selector.Clients != nil && *selector.Clients != step.Clients {
		return false
	}
	overrides := step.Overrides
	if overrides == nil {
		overrides = &v1alpha1.StepOverrides{}
	}
	same := func(wanted, has *int32) bool { return wanted == nil || has != nil && *wanted == *has }
	return same(selector.Jobs, overrides.Jobs) && same(selector.QueueDepth, overrides.QueueDepth) && same(selector.ReadPercent, overrides.ReadPercent) &&
		sameSize(selector.BlockSize, overrides.BlockSize)
}

func sameSize(wanted, has *resource.Quantity) bool {
	return wanted == nil || has != nil && wanted.Cmp(*has) == 0
}

func selected(selector *v1alpha1.CellSelector) string {
	var words []string
	for _, one := range []struct {
		name  string
		value *int32
	}{{"clients", selector.Clients}, {"jobs", selector.Jobs}, {"queueDepth", selector.QueueDepth}, {"readPercent", selector.ReadPercent}} {
		if one.value != nil {
			words = append(words, fmt.Sprintf("%s %d", one.name, *one.value))
		}
	}
	if selector.BlockSize != nil {
		words = append(words, "blockSize "+selector.BlockSize.String())
	}
	return strings.Join(words, ", ")
}

// ofCell returns the objective's figure in a cell. A cell has only throughput, IOPS, latency and the ratio to the
// documented rates.
func ofCell(o *v1alpha1.Objective, step *v1alpha1.StepResult, where string) figure {
	if o.Ratio != nil && !ofCompression(o) {
		return documentedOfCell(o, step, where)
	}
	if o.Throughput == nil && o.IOPS == nil && o.Latency == nil {
		return absent(where, "a cell has only throughput, iops, latency and the ratio to documented limits: remove cell")
	}
	names := make([]v1alpha1.Operation, len(step.Operations))
	for i := range step.Operations {
		names[i] = step.Operations[i].Operation
	}
	at, missing := chosen(names, o.Operation)
	if missing != "" {
		return absent(where, "%s", missing)
	}
	operation := &step.Operations[at]
	where += ", " + strings.ToLower(string(operation.Operation))
	switch {
	case o.Throughput != nil:
		return withError(figure{where: where, value: operation.BytesPerSecond}, operation.RateErrorPPM)
	case o.IOPS != nil && !operation.Counted():
		return absent(where, "%s", notCounted)
	case o.IOPS != nil:
		return withError(figure{where: where, value: operation.IOPSMilli}, operation.RateErrorPPM)
	case o.Latency.Percentile == "Mean" && operation.MeanNanoseconds > 0:
		return figure{where: where, value: operation.MeanNanoseconds}
	case o.Latency.Percentile == "99" && operation.P99Nanoseconds != nil:
		return ofPercentile(where, *operation.P99Nanoseconds, "Mean")
	case o.Latency.Percentile == "99" || o.Latency.Percentile == "Mean":
		return absent(where, "too few samples: raise stepDuration")
	}
	return absent(where, "a cell has only the mean and the 99th percentile: use one of them")
}

func documentedOfCell(o *v1alpha1.Objective, step *v1alpha1.StepResult, where string) figure {
	if step.Attribution == nil {
		return absent(where, "no documented limit: set the target's documented field")
	}
	reached, what := step.Attribution.PermilleOfBaseline, "baseline"
	if o.Ratio.Of == "DocumentedBurst" {
		reached, what = step.Attribution.PermilleOfBurst, "burst"
	}
	if reached == nil {
		return absent(where, "no documented %s: set the target's documented field", what)
	}
	return figure{where: where, value: *reached}
}
