package trend

import (
	"fmt"
	"math"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// mostFigures is the maximum number of figures per run that are compared. The more figures are compared, the larger a
// change must be to be significant.
const mostFigures = 4

// figuresOf returns the figures by which a run is compared.
func figuresOf(spec *v1alpha1.BenchmarkRunSpec, status *v1alpha1.BenchmarkRunStatus) []v1alpha1.RunFigure {
	var all []v1alpha1.RunFigure
	for _, choose := range []func(*figureSource) []v1alpha1.RunFigure{first, second} {
		for i := range spec.Run.Targets {
			for j := range spec.Run.Phases {
				c := figureSource{phase: &spec.Run.Phases[j], target: spec.Run.Targets[i].Name, spec: spec, status: status}
				if c.result = status.Result(c.phase.Name, c.target); c.result != nil {
					all = append(all, c.underConditions(choose(&c))...)
				}
			}
		}
	}
	return all[:min(len(all), mostFigures)]
}

// figureSource holds the data from which the figures of one phase on one target are computed.
type figureSource struct {
	phase  *v1alpha1.Phase
	target string
	spec   *v1alpha1.BenchmarkRunSpec
	status *v1alpha1.BenchmarkRunStatus
	result *v1alpha1.TargetResult
}

// underConditions adds "clients missing" to the conditions of figures that were measured without some clients, because
// fewer clients generate a different load.
func (c *figureSource) underConditions(made []v1alpha1.RunFigure) []v1alpha1.RunFigure {
	if c.result.HasWarning(v1alpha1.WarningClientsMissing) {
		for i := range made {
			made[i].Condition = strings.TrimPrefix(made[i].Condition+", clients missing", ", ")
		}
	}
	return made
}

// figure returns a list with the given figure. The list is empty if the value cannot be compared because it is less
// than 1, too large or not a number.
func (c *figureSource) figure(what string, value float64, unit v1alpha1.FigureUnit) []v1alpha1.RunFigure {
	if !(value >= 1) || value >= math.MaxInt64 {
		return nil
	}
	return []v1alpha1.RunFigure{{
		Figure: v1alpha1.Truncate(fmt.Sprintf("%s of %s on %s", what, c.phase.Name, c.target), 128), Value: int64(math.Round(value)), Unit: unit,
		LowerIsBetter: unit == v1alpha1.UnitNanoseconds,
	}}
}

// The first level of a drain does not count as a burst if the bucket was less than leastFill percent full at the start.
const leastFill = 10

// first returns the figure by which a phase is compared with the same phase of other runs, or nil if there is none.
func first(c *figureSource) []v1alpha1.RunFigure {
	overall := phasekind.Of(c.phase.Kind()).Overall(c.result)
	fill := c.fill()
	switch {
	case overall.What == "", c.phase.BurstDrain != nil && fill != nil && *fill < leastFill:
		return nil
	case (c.phase.Steady != nil || phasekind.Of(c.phase.Kind()).Interleaved) && c.rateIsGiven():
		return c.figure("mean latency", meanLatency(c.result.Operations), v1alpha1.UnitNanoseconds)
	}
	made := c.figure(overall.What, overall.Value, overall.Unit)
	for i := range made {
		if overall.Cells > 0 {
			made[i].Condition = fmt.Sprintf("%d cells", overall.Cells)
		}
	}
	return made
}

// rateIsGiven reports whether the load has a rate limit.
func (c *figureSource) rateIsGiven() bool {
	workload := c.spec.Run.WorkloadOf(c.phase, c.target)
	return workload != nil && workload.LimitsRate()
}

// meanLatency returns the mean latency over all operations that move data.
func meanLatency(operations []v1alpha1.OperationResult) float64 {
	var sum, count float64
	for i := range operations {
		if one := &operations[i]; one.Operation.MovesData() && one.Latency != nil {
			sum += float64(one.Latency.MeanNanoseconds) * float64(one.Latency.Samples)
			count += float64(one.Latency.Samples)
		}
	}
	return sum / max(count, 1)
}

// fill returns the fill level of the bucket at the start of the phase, in percent, or nil if it is unknown. The level
// that the store reported takes precedence over the estimate from documented limits. That estimate assumes that the
// bucket was full when the run started.
func (c *figureSource) fill() *int32 {
	if burst := c.result.Burst; burst != nil && burst.ObservedCreditPercentAtStart != nil {
		return burst.ObservedCreditPercentAtStart
	}
	var fill *int32
	for i := range c.spec.Steps {
		if c.spec.Steps[i].Phase != c.phase.Name || c.spec.Steps[i].Purpose != v1alpha1.StepDrain {
			continue
		}
		for j := range c.status.Steps {
			fact := &c.status.Steps[j]
			if fact.ID != c.spec.Steps[i].ID || fact.State != v1alpha1.StepSucceeded {
				continue
			}
			for k := range fact.IO {
				if fact.IO[k].Target == c.target {
					fill = fact.IO[k].CreditPercentAtStart
				}
			}
		}
	}
	return fill
}

// second returns further figures of a drain: the credits spent and the time to baseline. Both depend on how full the
// bucket was at the start, so second returns nil if that is unknown or if the bucket was almost empty.
func second(c *figureSource) []v1alpha1.RunFigure {
	fill := c.fill()
	if c.phase.BurstDrain == nil || fill == nil || *fill < leastFill {
		return nil
	}
	levels := phasekind.Levels(c.result.Burst)
	_, of := phasekind.MainSeries(c.result.Burst)
	var made []v1alpha1.RunFigure
	if spent := phasekind.Find(levels, v1alpha1.FigureSpent, of); spent != nil {
		made = append(made, c.figure("credits spent", float64(spent.Value), spent.Unit())...)
	}
	if at := phasekind.Find(levels, v1alpha1.FigureTimeToBaseline, of); at != nil {
		made = append(made, c.figure("time to baseline", float64(at.Value), at.Unit())...)
	}
	for i := range made {
		// More credits spent and a longer time to baseline are better, because they show a larger bucket.
		made[i].LowerIsBetter = false
		made[i].Condition = fmt.Sprintf("filled to %d %%", (*fill+5)/10*10)
	}
	return made
}
