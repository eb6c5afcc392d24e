package metrics

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Results returns the results of the newest run of a benchmark: its times, its problems and, if it is complete and
// valid, its figures. The figures of an incomplete or invalid run do not measure what was requested; graphs show a gap
// instead. run must be the complete object, not one that was trimmed for a cache.
func Results(run *v1alpha1.BenchmarkRun) []Point {
	p := points{common: []string{run.Namespace, run.Spec.BenchmarkRef.Name}}
	status := &run.Status
	p.addTime(resultStart, status.StartTime)
	p.addTime(resultEnd, status.EndTime)
	if status.StartTime != nil && status.EndTime != nil {
		p.add(resultDuration, status.EndTime.Sub(status.StartTime.Time).Seconds())
	}
	p.warnings(resultWarnings, run)
	p.add(resultLost, float64(len(status.LostClients)))
	valid := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionComplete) &&
		meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionValid)
	for i := range status.Phases {
		phase := &status.Phases[i]
		if phase.StartTime != nil && phase.EndTime != nil {
			p.add(resultPhase, phase.EndTime.Sub(phase.StartTime.Time).Seconds(), phase.Name)
		}
		if !valid {
			continue
		}
		p.observations(run, phase.Name)
		if phase.Fairness != nil {
			p.addEstimate(resultFairness, phase.Fairness.JainPPM, millionth, phase.Name)
		}
		for j := range phase.Targets {
			target := points{common: append(p.common[:2:2], phase.Name, phase.Targets[j].Target)}
			target.result(&phase.Targets[j])
			target.fill(run, phase.Name, &phase.Targets[j])
			p.all = append(p.all, target.all...)
		}
	}
	return p.all
}

// result adds the figures of one target in one phase.
func (p *points) result(target *v1alpha1.TargetResult) {
	rates := phasekind.Rates(target)
	for i := range rates {
		p.operation(&rates[i])
	}
	p.addCount(resultUtilization, target.ClientCPUPermille, milli)
	if steady := target.SteadyState; steady != nil && steady.Assessed && steady.Steady != nil {
		p.add(resultSteady, boolValue(*steady.Steady))
	}
	if target.Usage != nil {
		p.addCount(resultCompression, target.Usage.CompressionRatioMilli, milli)
	}
	for _, one := range target.Attributions {
		level := string(one.Level)
		if level == "" {
			level = "All"
		}
		if one.Baseline != nil {
			p.add(resultOfBaseline, float64(one.Baseline.PermilleReached)/milli, operationOf(one.Operation), level)
		}
		if one.Burst != nil {
			p.add(resultOfBurst, float64(one.Burst.PermilleReached)/milli, operationOf(one.Operation), level)
		}
	}
	if target.Search != nil {
		p.addCount(resultHighest, target.Search.OfferedIOPS, 1)
	}
	p.interference(target.Interference)
	p.burst(target.Burst)
}

// observations adds the mean, minimum and maximum of each observed series in a phase.
func (p *points) observations(run *v1alpha1.BenchmarkRun, phase string) {
	for i := range run.Spec.Run.Observations {
		name := run.Spec.Run.Observations[i].Name
		for _, series := range observation.InPhase(&run.Spec, &run.Status, name, phase) {
			p.add(resultObserved, series.Mean, phase, name, series.Labels, "Mean")
			p.add(resultObserved, series.Min, phase, name, series.Labels, "Min")
			p.add(resultObserved, series.Max, phase, name, series.Labels, "Max")
		}
	}
}

// millionth is the number of API units per base unit for ratios, because the API stores ratios in millionths.
const millionth = 1e6

// interference adds the effect of each number of neighbours on the victim's throughput and latency.
func (p *points) interference(result *v1alpha1.InterferenceResult) {
	if result == nil {
		return
	}
	for i := range result.Levels {
		level := &result.Levels[i]
		neighbours := strconv.Itoa(int(level.Neighbours))
		p.addEstimate(resultRateRatio, level.RateRatioPPM, millionth, neighbours)
		for j := range level.Operations {
			p.addEstimate(resultP99Ratio, level.Operations[j].P99RatioPPM, millionth, string(level.Operations[j].Operation), neighbours)
		}
	}
}

// operationOf returns the label value of an operation. It is "All" for reads and writes together.
func operationOf(operation v1alpha1.Operation) string {
	if operation == "" {
		return "All"
	}
	return string(operation)
}

func (p *points) operation(figures *v1alpha1.OperationResult) {
	name := string(figures.Operation)
	p.addCount(resultThroughput, figures.BytesPerSecond, one, name)
	p.addCount(resultIOPS, figures.IOPSMilli, milli, name)
	latency := figures.Latency
	if latency == nil || latency.Samples == 0 {
		return
	}
	p.add(resultMean, float64(latency.MeanNanoseconds)/nanoseconds, name)
	p.add(resultMax, float64(latency.MaxNanoseconds)/nanoseconds, name)
	for i, value := range []*int64{latency.P50Nanoseconds, latency.P95Nanoseconds, latency.P99Nanoseconds, latency.P999Nanoseconds, latency.P9999Nanoseconds} {
		p.addCount(resultLatency, value, nanoseconds, name, percentiles[i].label)
	}
}

// percentiles are the exported percentiles, as the API names them.
var percentiles = []struct {
	label string
	value float64
}{{"50", 50}, {"95", 95}, {"99", 99}, {"99.9", 99.9}, {"99.99", 99.99}}

func (p *points) burst(burst *v1alpha1.BurstResult) {
	if burst == nil {
		return
	}
	p.add(resultExhausted, boolValue(burst.Exhausted))
	if burst.Exhausted {
		p.addEstimate(resultToBaseline, burst.NanosecondsToBaseline, nanoseconds)
	}
	for _, f := range phasekind.Levels(burst) {
		level, baseline, spent, in := resultBurst, resultBaseline, resultSpent, float64(one)
		if f.Operation == phasekind.InOperations {
			level, baseline, spent, in = resultBurstIOPS, resultBaselineIOPS, resultSpentOperations, milli
		}
		switch f.Name {
		case v1alpha1.FigureBurst, v1alpha1.FigureSustained, v1alpha1.FigurePeak:
			p.addEstimate(level, &f.Estimate, in, string(f.Name))
		case v1alpha1.FigureBaseline:
			p.addEstimate(baseline, &f.Estimate, in)
		case v1alpha1.FigureSpent:
			p.addEstimate(spent, &f.Estimate, one)
		default:
		}
	}
	if burst.Bytes != nil && !phasekind.EarlierRefill(burst, burst.Bytes) {
		p.addEstimate(resultRefill, burst.Bytes.Refill, one, burst.Bytes.RefillSource)
	}
}

// fill adds the fill level of the target's credit bucket at the start and at the end of a phase, from the first and the
// last estimate in the phase's steps. A cooldown has no estimate for its start, because it begins with a pause.
func (p *points) fill(run *v1alpha1.BenchmarkRun, phase string, target *v1alpha1.TargetResult) {
	ofPhase := map[string]bool{}
	for _, step := range run.Spec.Steps {
		ofPhase[step.ID] = step.Phase == phase
	}
	var start, end *int32
	for _, fact := range run.Status.Steps {
		for _, io := range fact.IO {
			if !ofPhase[fact.ID] || io.Target != target.Target {
				continue
			}
			if start == nil {
				start = io.CreditPercentAtStart
			}
			if io.CreditPercentAtEnd != nil {
				end = io.CreditPercentAtEnd
			}
		}
	}
	if target.Cooldown != nil {
		start = nil
		if end == nil { // no drain followed the pause
			end = target.Cooldown.CreditPercentAtEnd
		}
	}
	if start != nil {
		p.add(resultFill, float64(*start)/percent, "Start")
	}
	if end != nil {
		p.add(resultFill, float64(*end)/percent, "End")
	}
}
