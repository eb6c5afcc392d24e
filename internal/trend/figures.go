package trend

import (
	"fmt"
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// mostFigures that are judged of a run: more would need larger changes to be sure of one.
const mostFigures = 4

// figuresOf are those that a run is judged by.
func figuresOf(spec *v1alpha1.BenchmarkRunSpec, status *v1alpha1.BenchmarkRunStatus) []v1alpha1.RunFigure {
	var all []v1alpha1.RunFigure
	for _, choose := range []func(*chosen) []v1alpha1.RunFigure{first, second} {
		for i := range spec.Run.Targets {
			for j := range spec.Run.Phases {
				c := chosen{phase: &spec.Run.Phases[j], target: spec.Run.Targets[i].Name, spec: spec, status: status}
				if c.result = resultOf(status, c.phase.Name, c.target); c.result != nil {
					all = append(all, choose(&c)...)
				}
			}
		}
	}
	return all[:min(len(all), mostFigures)]
}

func resultOf(status *v1alpha1.BenchmarkRunStatus, phase, target string) *v1alpha1.TargetResult {
	for i := range status.Phases {
		if status.Phases[i].Name != phase {
			continue
		}
		for j := range status.Phases[i].Targets {
			if found := &status.Phases[i].Targets[j]; found.Target == target {
				return found
			}
		}
	}
	return nil
}

// chosen is a phase and a target that a figure is wanted of.
type chosen struct {
	phase  *v1alpha1.Phase
	target string
	spec   *v1alpha1.BenchmarkRunSpec
	status *v1alpha1.BenchmarkRunStatus
	result *v1alpha1.TargetResult
}

// figure is nothing where the value is no figure.
func (c *chosen) figure(what string, value float64, unit v1alpha1.FigureUnit) []v1alpha1.RunFigure {
	if !(value >= 1) || value >= math.MaxInt64 {
		return nil
	}
	return []v1alpha1.RunFigure{{
		Figure: v1alpha1.Truncate(fmt.Sprintf("%s of %s on %s", what, c.phase.Name, c.target), 128), Value: int64(math.Round(value)), Unit: unit,
		LowerIsBetter: unit == v1alpha1.UnitNanoseconds,
	}}
}

// first is the figure that a phase is for.
func first(c *chosen) []v1alpha1.RunFigure {
	switch c.phase.Kind() {
	case v1alpha1.PhaseSteady:
		return c.steady()
	case v1alpha1.PhaseRamp:
		return c.best()
	case v1alpha1.PhaseSweep:
		return c.matrix()
	case v1alpha1.PhaseBurstDrain:
		return c.burst()
	case v1alpha1.PhaseCooldown:
		return c.refill()
	case v1alpha1.PhasePrepare, v1alpha1.PhaseSearch, v1alpha1.PhaseVerify, v1alpha1.PhaseFault, v1alpha1.PhaseProvision:
	}
	return nil
}

func (c *chosen) steady() []v1alpha1.RunFigure {
	switch result := c.result; {
	case result.Command != nil:
		if result.Command.CutShort {
			return nil
		}
		return c.figure("duration", float64(result.Command.DurationNanoseconds), v1alpha1.UnitNanoseconds)
	case result.Mdtest != nil:
		return c.figure("mean of the rates", meanRate(result.Mdtest.Rates), v1alpha1.UnitIOPSMilli)
	case c.rateIsGiven():
		return c.figure("mean latency", meanLatency(result.Operations), v1alpha1.UnitNanoseconds)
	}
	var bytes, operations float64
	for i := range c.result.Operations {
		one := &c.result.Operations[i]
		if one.Operation == v1alpha1.OperationSync {
			continue
		}
		if one.IOPSMilli == nil || one.BytesPerSecond == nil {
			return nil // a rate of a part is not that of the whole
		}
		bytes, operations = bytes+float64(*one.BytesPerSecond), operations+float64(*one.IOPSMilli)
	}
	if bytes > 0 {
		return c.figure("throughput", bytes, v1alpha1.UnitBytesPerSecond)
	}
	return c.figure("operations a second", operations, v1alpha1.UnitIOPSMilli)
}

// rateIsGiven reports whether the load was told its rate.
func (c *chosen) rateIsGiven() bool {
	workload := c.phase.Workload
	if workload == nil {
		workload = c.spec.Run.Workload
	}
	for i := range c.phase.TargetWorkloads {
		if own := &c.phase.TargetWorkloads[i]; own.Target == c.target {
			workload = &own.Workload
		}
	}
	return workload != nil && workload.Fio != nil && workload.Fio.RateLimit != nil
}

// meanLatency is over all operations that move data.
func meanLatency(operations []v1alpha1.OperationResult) float64 {
	var sum, count float64
	for i := range operations {
		if one := &operations[i]; one.Operation != v1alpha1.OperationSync && one.Latency != nil {
			sum += float64(one.Latency.MeanNanoseconds) * float64(one.Latency.Samples)
			count += float64(one.Latency.Samples)
		}
	}
	return sum / max(count, 1)
}

// meanRate is the geometric mean, so that each rate counts alike.
func meanRate(rates []v1alpha1.MdtestRate) float64 {
	var sum float64
	for i := range rates {
		sum += math.Log(float64(rates[i].MeanOPSMilli))
	}
	return math.Exp(sum / float64(max(len(rates), 1)))
}

// best is the greatest throughput of a ramp's steps.
func (c *chosen) best() []v1alpha1.RunFigure {
	var most float64
	unit := v1alpha1.UnitBytesPerSecond
	for i := range c.result.Steps {
		rate, of := rateOf(&c.result.Steps[i])
		if rate > most {
			most, unit = rate, of
		}
	}
	return c.figure("best rate", most, unit)
}

// matrix is the geometric mean over all cells, of as many as were measured: fewer are another figure.
func (c *chosen) matrix() []v1alpha1.RunFigure {
	var sum float64
	unit := v1alpha1.UnitBytesPerSecond
	for i := range c.result.Steps {
		rate, of := rateOf(&c.result.Steps[i])
		sum += math.Log(rate)
		unit = of
	}
	made := c.figure("mean rate", math.Exp(sum/float64(max(len(c.result.Steps), 1))), unit)
	for i := range made {
		made[i].Condition = fmt.Sprintf("%d cells", len(c.result.Steps))
	}
	return made
}

func rateOf(step *v1alpha1.StepResult) (float64, v1alpha1.FigureUnit) {
	var bytes, operations float64
	for i := range step.Operations {
		if step.Operations[i].Operation != v1alpha1.OperationSync {
			bytes += float64(step.Operations[i].BytesPerSecond)
			operations += float64(step.Operations[i].IOPSMilli)
		}
	}
	if bytes > 0 {
		return bytes, v1alpha1.UnitBytesPerSecond
	}
	return operations, v1alpha1.UnitIOPSMilli
}

// series is that of the dimension that the credits are of.
func (c *chosen) series() (*v1alpha1.BurstSeries, v1alpha1.FigureUnit, v1alpha1.FigureUnit) {
	if c.result.Burst == nil {
		return nil, "", ""
	}
	if c.result.Burst.Dimension == "Operations" {
		return c.result.Burst.Operations, v1alpha1.UnitIOPSMilli, v1alpha1.UnitOperations
	}
	return c.result.Burst.Bytes, v1alpha1.UnitBytesPerSecond, v1alpha1.UnitBytes
}

// leastFill is the part of the bucket in percent below which the first level of a drain is no burst.
const leastFill = 10

func (c *chosen) burst() []v1alpha1.RunFigure {
	series, unit, _ := c.series()
	if series == nil || series.Burst == nil {
		return nil
	}
	if fill := c.fill(); fill != nil && *fill < leastFill {
		return nil
	}
	return c.figure("burst", float64(series.Burst.Value), unit)
}

func (c *chosen) refill() []v1alpha1.RunFigure {
	series, unit, _ := c.series()
	if series == nil || series.Refill == nil || series.RefillSource != "Measured" {
		return nil
	}
	return c.figure("refill", float64(series.Refill.Value), unit)
}

// fill of the bucket at the start of the phase in percent; nil where nobody knows.
func (c *chosen) fill() *int32 {
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

// second are the figures of a drain that depend on how full the bucket was, where that is known.
func second(c *chosen) []v1alpha1.RunFigure {
	series, _, amount := c.series()
	fill := c.fill()
	if c.phase.Kind() != v1alpha1.PhaseBurstDrain || series == nil || !c.result.Burst.Exhausted || fill == nil || *fill < leastFill {
		return nil
	}
	var made []v1alpha1.RunFigure
	if len(series.Drops) > 0 {
		if spent := series.Drops[len(series.Drops)-1].Spent; spent != nil {
			made = append(made, c.figure("credits spent", float64(spent.Value), amount)...)
		}
	}
	if at := c.result.Burst.NanosecondsToBaseline; at != nil {
		made = append(made, c.figure("time to baseline", float64(at.Value), v1alpha1.UnitNanoseconds)...)
	}
	for i := range made {
		made[i].LowerIsBetter = false // a larger bucket lasts longer
		made[i].Condition = fmt.Sprintf("filled to %d %%", (*fill+5)/10*10)
	}
	return made
}
