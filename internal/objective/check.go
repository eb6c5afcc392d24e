package objective

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Check returns a problem for each objective that the run cannot evaluate, regardless of its results. Such objectives
// are rejected before the run starts. The run's profiles must already be resolved.
func Check(objectives []v1alpha1.Objective, run *v1alpha1.RunSpec) field.ErrorList {
	var problems field.ErrorList
	for i := range objectives {
		path := field.NewPath("spec", "objectives").Index(i)
		if objectives[i].Cell != nil && ofCompression(&objectives[i]) {
			// A CEL rule also rejects this, except in benchmarks that are already stored. Use the path of the rule, so that the
			// command line reports the mistake only once.
			problems = append(problems,
				field.Forbidden(path, "Compression is a figure of the whole phase, not of a cell: remove cell"))
			continue
		}
		if problem := checkBounds(path, &objectives[i]); problem != nil {
			problems = append(problems, problem)
		}
		for j := range run.Phases {
			if run.Phases[j].Name == objectives[i].Phase {
				if why := unsuitable(&objectives[i], run, &run.Phases[j]); why != "" {
					problems = append(problems, field.Invalid(path.Child("phase"), objectives[i].Phase, why))
				} else if cell := objectives[i].Cell; cell != nil && !hasCell(cell, run, &run.Phases[j]) {
					problems = append(problems, field.Invalid(path.Child("cell"), field.OmitValueType{},
						fmt.Sprintf("no cell has %s: use values of the phase's axes or steps only", selected(cell))))
				} else if problem := checkOperation(path.Child("operation"), &objectives[i], run, &run.Phases[j]); problem != nil {
					problems = append(problems, problem)
				}
			}
		}
	}
	return problems
}

// checkBounds returns a problem if the upper bound of a latency, a time or a ratio is below the lower one. CEL rules
// check the bounds of the other figures.
func checkBounds(path *field.Path, o *v1alpha1.Objective) *field.Error {
	const swap = "cannot be below %s; swap the two"
	switch {
	case o.Latency != nil && o.Latency.Min != nil && o.Latency.Max != nil:
		if below(*o.Latency.Max, *o.Latency.Min) {
			return field.Invalid(path.Child("latency", "max"), string(*o.Latency.Max), fmt.Sprintf(swap, "min"))
		}
	case o.TimeToBaseline != nil && o.TimeToBaseline.Min != nil && o.TimeToBaseline.Max != nil:
		if below(*o.TimeToBaseline.Max, *o.TimeToBaseline.Min) {
			return field.Invalid(path.Child("timeToBaseline", "max"), string(*o.TimeToBaseline.Max), fmt.Sprintf(swap, "min"))
		}
	case o.Ratio != nil && o.Ratio.MinPercent != nil && o.Ratio.MaxPercent != nil:
		if *o.Ratio.MaxPercent < *o.Ratio.MinPercent {
			return field.Invalid(path.Child("ratio", "maxPercent"), *o.Ratio.MaxPercent, fmt.Sprintf(swap, "minPercent"))
		}
	}
	return nil
}

// below reports whether a time is shorter than another. It returns false if one is invalid, which is reported
// elsewhere.
func below(a, b interface{ Parse() (time.Duration, error) }) bool {
	first, wrong := a.Parse()
	second, err := b.Parse()
	return wrong == nil && err == nil && first < second
}

// unsuitable returns the reason why a phase cannot provide the objective's figure, or "" if it can.
func unsuitable(o *v1alpha1.Objective, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) string {
	kind := phase.Kind()
	traits := phasekind.Of(kind)
	inCells := traits.InCells()
	redrains := kind == v1alpha1.PhaseCooldown && phase.Cooldown.Redrain != nil
	drains := kind == v1alpha1.PhaseBurstDrain || redrains
	switch {
	case o.Burst != nil, o.TimeToBaseline != nil, o.Credits != nil, o.Baseline != nil, o.Refill != nil:
		if !drains {
			return fmt.Sprintf("a %s phase does not measure %s: use a burstDrain or refill phase", phasekind.Name(kind), strings.SplitN(Figure(o), " of ", 2)[0])
		}
		return ""
	case ofCompression(o):
		return ""
	case kind == v1alpha1.PhaseCooldown && !redrains:
		return "a cooldown without redrain applies no load: name another phase"
	case o.Ratio != nil && !redrains && (!traits.Limited || traits.PicksRates):
		return fmt.Sprintf("%s phases are not compared with documented limits: "+
			"use a steady, ramp, sweep, burstDrain or refill phase, or set throughput or iops", phasekind.Name(kind))
	case inCells && o.Cell == nil:
		return fmt.Sprintf("a %s phase has a result for each cell: set cell, such as {jobs: 8}", phasekind.Name(kind))
	case !inCells && o.Cell != nil:
		return fmt.Sprintf("a %s phase has no cells: remove cell", phasekind.Name(kind))
	}
	if o.Latency != nil {
		return withoutLatency(o, run, phase)
	}
	return ""
}

// withoutLatency returns the reason why a phase has no latency on one of the objective's targets, or "" if it has
// latencies on all of them.
func withoutLatency(o *v1alpha1.Objective, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) string {
	var timed, untimed []string
	for target, workload := range workloadsOf(o, run, phase) {
		if engines.Of(&workload.Engine).TimesOperations {
			timed = append(timed, target)
		} else {
			untimed = append(untimed, target)
		}
	}
	switch {
	case len(untimed) == 0:
		return ""
	case len(timed) == 0:
		return "only fio measures latency, but the phase's workload uses another engine: set throughput or iops instead"
	}
	return fmt.Sprintf("only fio measures latency, but the workload of target %s uses another engine: "+
		"set target to one that uses fio, such as %s", untimed[0], timed[0])
}

// hasCell reports whether a cell selector matches a cell of the phase, which is a ramp or a sweep.
func hasCell(selector *v1alpha1.CellSelector, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) bool {
	var axes v1alpha1.SweepAxes
	if phase.Sweep != nil {
		axes = phase.Sweep.Axes
	}
	if ramp := phase.Ramp; ramp != nil {
		for _, step := range ramp.Steps {
			value := int32(min(step, math.MaxInt32)) // #nosec G115 -- larger values are refused
			switch ramp.Dimension {
			case v1alpha1.RampClients:
				axes.Clients = append(axes.Clients, value)
			case v1alpha1.RampJobs:
				axes.Jobs = append(axes.Jobs, value)
			case v1alpha1.RampQueueDepth:
				axes.QueueDepth = append(axes.QueueDepth, value)
			case v1alpha1.RampProcesses: // a cell selector has no field for ranks
			}
		}
	}
	if len(axes.Clients) == 0 {
		axes.Clients = []int32{max(1, run.Clients.Count)}
	}
	among := func(wanted *int32, values []int32) bool { return wanted == nil || slices.Contains(values, *wanted) }
	return among(selector.Clients, axes.Clients) && among(selector.Jobs, axes.Jobs) &&
		among(selector.QueueDepth, axes.QueueDepth) && among(selector.ReadPercent, axes.ReadPercent) &&
		(selector.BlockSize == nil || slices.ContainsFunc(axes.BlockSize, func(size resource.Quantity) bool {
			return selector.BlockSize.Cmp(size) == 0
		}))
}

// ofCompression reports whether an objective bounds the compression of the data.
func ofCompression(o *v1alpha1.Objective) bool { return o.Ratio != nil && o.Ratio.Of == "Compression" }

// checkOperation checks the operation that an objective names. It returns a problem in three cases: the objective names
// no operation although the phase performs several, a target or cell of the objective never performs the named
// operation, or the objective bounds the throughput of an operation that moves no bytes.
func checkOperation(path *field.Path, o *v1alpha1.Objective, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) *field.Error {
	if o.Throughput == nil && o.IOPS == nil && o.Latency == nil {
		return nil
	}
	known, lacking, all := true, false, []string{}
	for _, does := range operationsOf(o, run, phase) {
		if len(does) > 1 && o.Operation == "" {
			return field.Required(path, fmt.Sprintf("phase %s performs several operations, each with its own figures: set operation to one of %s", o.Phase, strings.Join(does, ", ")))
		}
		known = known && len(does) > 0
		lacking = lacking || len(does) > 0 && !slices.Contains(does, string(o.Operation))
		all = append(all, does...)
	}
	asked := all
	if o.Operation != "" {
		asked = []string{string(o.Operation)}
	}
	if o.Throughput != nil && len(asked) > 0 && !slices.ContainsFunc(asked, movesBytes) {
		return field.Invalid(path, strings.Join(asked, ", "), "moves no bytes, so it has no throughput: set iops or latency instead")
	}
	switch {
	case !lacking || o.Operation == "" || o.Operation == v1alpha1.OperationSync:
		return nil
	case !known || slices.Contains(all, string(o.Operation)):
		return field.Invalid(path, o.Operation, fmt.Sprintf("phase %s does not perform this operation on every target and in "+
			"every cell that the objective covers: set target, or readPercent in cell", o.Phase))
	}
	return field.Invalid(path, o.Operation, fmt.Sprintf("phase %s does not perform this operation: use one of %s", o.Phase, strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), ", ")))
}

// movesBytes reports whether an operation transfers data.
func movesBytes(operation string) bool {
	return slices.Contains([]v1alpha1.Operation{v1alpha1.OperationRead, v1alpha1.OperationWrite, v1alpha1.OperationTrim}, v1alpha1.Operation(operation))
}

// operationsOf returns the operations of the phase: one list per target and read percentage that the objective covers.
// A list is empty if the operations are not known before the run.
func operationsOf(o *v1alpha1.Objective, run *v1alpha1.RunSpec, phase *v1alpha1.Phase) [][]string {
	if own := phasekind.Of(phase.Kind()).OwnOperations; own != nil {
		var does []string
		for _, operation := range own(phase) {
			does = append(does, string(operation))
		}
		return [][]string{does}
	}
	step := engine.Step{Purpose: v1alpha1.StepMeasure, Clients: 1, Processes: 1, Duration: time.Minute}
	if phasekind.Of(phase.Kind()).LaysOut {
		step.Purpose, step.Duration = v1alpha1.StepPrepare, 0
	}
	var all [][]string
	for _, workload := range workloadsOf(o, run, phase) {
		for _, percent := range readPercents(o, phase) {
			step.Overrides.ReadPercent = percent
			all = append(all, operations(engines.Of(&workload.Engine), step))
		}
	}
	return all
}

// workloadsOf yields the name and the workload of each target that the objective covers and the phase loads.
func workloadsOf(
	o *v1alpha1.Objective, run *v1alpha1.RunSpec, phase *v1alpha1.Phase,
) iter.Seq2[string, *v1alpha1.Workload] {
	return func(yield func(string, *v1alpha1.Workload) bool) {
		for i := range run.Targets {
			target := run.Targets[i].Name
			workload := run.WorkloadOf(phase, target)
			if workload == nil || o.Target != "" && o.Target != target || !phasekind.Loads(phase, target) {
				continue
			}
			if !yield(target, workload) {
				return
			}
		}
	}
}

// readPercents returns the read percentages of the cells that an objective selects. A nil entry means the read
// percentage of the workload itself.
func readPercents(o *v1alpha1.Objective, phase *v1alpha1.Phase) []*int32 {
	if o.Cell != nil && o.Cell.ReadPercent != nil {
		return []*int32{o.Cell.ReadPercent}
	}
	if phase.Sweep == nil || len(phase.Sweep.Axes.ReadPercent) == 0 {
		return []*int32{nil}
	}
	var all []*int32
	for i := range phase.Sweep.Axes.ReadPercent {
		all = append(all, &phase.Sweep.Axes.ReadPercent[i])
	}
	return all
}

// operations returns the kinds of operations for which a step has figures. It returns none if they are not known before
// the run, or if the workload is invalid, which is reported elsewhere. Flushes count as part of the writes.
func operations(load engine.Load, step engine.Step) []string {
	if load.Kind == "" || load.Opaque {
		return nil
	}
	made, err := load.Describe(&step)
	if err != nil || made.Metadata {
		return nil
	}
	var does []string
	for _, one := range []struct {
		occurs bool
		name   v1alpha1.Operation
	}{{made.Reads, v1alpha1.OperationRead}, {made.Writes, v1alpha1.OperationWrite}, {made.Trims, v1alpha1.OperationTrim}} {
		if one.occurs {
			does = append(does, string(one.name))
		}
	}
	return does
}
