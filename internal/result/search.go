package result

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/search"
)

// Trials returns the measured steps of a search, in order. each is the measured time of a step.
func Trials(result *v1alpha1.TargetResult, each time.Duration) []search.Trial {
	if result == nil {
		return nil
	}
	var all []search.Trial
	for _, trial := range phasekind.Trials(result) {
		_, achieved, moved := phasekind.Total(trial.Operations)
		made := search.Trial{Offered: *trial.OfferedIOPS, Achieved: float64(achieved.Value) / 1000,
			Confirms: trial.Confirms != nil, Seconds: each.Seconds()}
		if trial.SlowerPPM != nil {
			made.Slower, made.Known = float64(*trial.SlowerPPM)/1e6, moved && !trial.Disqualified()
		}
		all = append(all, made)
	}
	return all
}

// foldSearch adds a step of a search, or the drain before the search. The phase's figures come from the steps that
// confirm the highest rate within the bound. Once there are such steps, the phase has only their warnings, because
// other steps overload the store on purpose.
func foldSearch(into *v1alpha1.TargetResult, step plan.Step, history History, made v1alpha1.TargetResult) {
	known := slices.ContainsFunc(into.Steps, func(s v1alpha1.StepResult) bool { return int(s.Cell) == step.Cell && s.OfferedIOPS != nil })
	foldCell(into, step, history, made)
	if history.Search == nil {
		into.Warnings = slices.Clone(made.Warnings)
		return
	}
	cell := cellOf(into, int32(step.Cell)) //nolint:gosec // The API allows few.
	if cell == nil {
		return
	}
	offered := step.Offered()
	cell.OfferedIOPS, cell.SlowerPPM = &offered, slowerPPM(made.Operations, history.Search.Latency)
	if step.Confirms {
		cell.Confirms = new(true)
	}
	addMedians(cell, made.Operations)
	trials := Trials(into, step.Duration)
	switch rounds := history.Search.Rounds(offered, trials); {
	case known: // this step was added before, so add nothing
	case step.Confirms && len(rounds) > 1:
		pool(into, &made)
		into.Warnings = withWarnings(into.Warnings, made.Warnings, step.Kind)
		judgePooled(into, step.Kind)
	case step.Confirms:
		replaceFigures(into, &made)
		into.Warnings = slices.Clone(made.Warnings)
	default:
		into.Warnings = withWarnings(into.Warnings, made.Warnings, step.Kind)
	}
	conclude(into, step, history, trials)
	into.Knee = searchKnee(into)
}

// withWarnings merges two lists of warnings. Of the second list, it uses only warnings whose types do not occur in the
// first. The result is sorted and has at most maxWarnings entries.
func withWarnings(all, more []v1alpha1.Warning, kind v1alpha1.PhaseKind) []v1alpha1.Warning {
	all = slices.Clone(all)
	for _, warning := range more {
		if len(all) < maxWarnings && !slices.ContainsFunc(all, func(w v1alpha1.Warning) bool { return w.Type == warning.Type }) {
			all = append(all, warning)
		}
	}
	sortWarnings(all, kind)
	return all
}

// slowerPPM returns the share of operations that took longer than a bound, in millionths. If there are several kinds of
// operations, it returns the largest of their shares. It returns nil if the latencies of any kind are unknown. It
// rounds up, because the allowed share is a whole number of millionths, and a share slightly above it must not pass.
func slowerPPM(operations []v1alpha1.OperationResult, bound time.Duration) *int64 {
	most := int64(-1)
	for i := range operations {
		o := &operations[i]
		if o.Operation == v1alpha1.OperationSync || o.Operations == 0 {
			continue
		}
		var histogram measure.Histogram
		if o.Latency == nil || histogram.UnmarshalBinary(o.Latency.Histogram) != nil || histogram.Count() == 0 {
			return nil
		}
		slower := uint64(0)
		for nanoseconds, count := range histogram.Bins() {
			if nanoseconds > uint64(bound) { //nolint:gosec // A bound is not negative.
				slower += count
			}
		}
		most = max(most, measure.Round(math.Ceil(float64(slower)*1e6/float64(histogram.Count()))))
	}
	if most < 0 {
		return nil
	}
	return &most
}

// addMedians adds the median latencies of a step's operations to its cell.
func addMedians(cell *v1alpha1.StepResult, operations []v1alpha1.OperationResult) {
	for i := range cell.Operations {
		at := slices.IndexFunc(operations, func(o v1alpha1.OperationResult) bool { return o.Operation == cell.Operations[i].Operation })
		if at >= 0 && operations[at].Latency != nil {
			cell.Operations[i].P50Nanoseconds = operations[at].Latency.P50Nanoseconds
		}
	}
}

// replaceFigures replaces the figures of the phase with those of a step.
func replaceFigures(into, made *v1alpha1.TargetResult) {
	into.Operations, into.WindowNanoseconds, into.MeasuredNanoseconds = made.Operations, made.WindowNanoseconds, made.MeasuredNanoseconds
	into.ClientSpread, into.ClientCPUPermille, into.ThrottledPermille = made.ClientSpread, made.ClientCPUPermille, made.ThrottledPermille
}

// pool adds the figures of a step to those of earlier steps at the same rate. Counts and distributions are added up;
// rates become means over the combined time.
func pool(into, made *v1alpha1.TargetResult) {
	before, after := float64(into.WindowNanoseconds), float64(made.WindowNanoseconds)
	for i := range into.Operations {
		known := &into.Operations[i]
		occurs := func(o v1alpha1.OperationResult) bool { return o.Operation == known.Operation }
		if !slices.ContainsFunc(made.Operations, occurs) {
			dilute(known, before, after)
		}
	}
	for i := range made.Operations {
		o := &made.Operations[i]
		at := slices.IndexFunc(into.Operations, func(known v1alpha1.OperationResult) bool { return known.Operation == o.Operation })
		if at < 0 {
			added := *o
			dilute(&added, after, before)
			into.Operations = append(into.Operations, added)
			continue
		}
		known := &into.Operations[at]
		known.RateErrorPPM = pooledError(known, o, before, after)
		known.Bytes += o.Bytes
		known.Operations += o.Operations
		known.BytesPerSecond = pooledRate(known.BytesPerSecond, o.BytesPerSecond, before, after)
		known.IOPSMilli = pooledRate(known.IOPSMilli, o.IOPSMilli, before, after)
		known.Latency = pooledLatency(known.Latency, o.Latency)
		known.CompletionLatency = nil
	}
	into.WindowNanoseconds += made.WindowNanoseconds
	into.MeasuredNanoseconds += made.MeasuredNanoseconds
}

// dilute averages the rates of an operation over a longer period: the time in which the operation occurred, and the
// rest, in which it did not.
func dilute(o *v1alpha1.OperationResult, seconds, rest float64) {
	o.BytesPerSecond = pooledRate(o.BytesPerSecond, new(int64(0)), seconds, rest)
	o.IOPSMilli = pooledRate(o.IOPSMilli, new(int64(0)), seconds, rest)
	o.RateErrorPPM = nil
}

func pooledRate(a, b *int64, before, after float64) *int64 {
	if a == nil || b == nil || before+after <= 0 {
		return nil
	}
	return new(measure.Round((float64(*a)*before + float64(*b)*after) / (before + after)))
}

// pooledError returns the error of a pooled rate, assuming that the steps are independent of each other.
func pooledError(a, b *v1alpha1.OperationResult, before, after float64) *int64 {
	rate := pooledRate(a.IOPSMilli, b.IOPSMilli, before, after)
	if rate == nil || *rate <= 0 || a.RateErrorPPM == nil || b.RateErrorPPM == nil {
		return nil
	}
	part := func(o *v1alpha1.OperationResult, weight float64) float64 {
		return float64(*o.RateErrorPPM) * float64(*o.IOPSMilli) * weight / (before + after)
	}
	return new(measure.Round(math.Ceil(math.Hypot(part(a, before), part(b, after)) / float64(*rate))))
}

// pooledLatency merges two distributions. It returns nil if one is unknown.
func pooledLatency(a, b *v1alpha1.LatencyResult) *v1alpha1.LatencyResult {
	sum, known := latencyOf(a)
	more, alsoKnown := latencyOf(b)
	if !known || !alsoKnown {
		return nil
	}
	sum.Merge(&more)
	return withHistogram(latency(&sum), &sum.Histogram)
}

// latencyOf returns the distribution of a result, or false if it is unknown.
func latencyOf(from *v1alpha1.LatencyResult) (measure.Latency, bool) {
	var bins measure.Histogram
	if from == nil || bins.UnmarshalBinary(from.Histogram) != nil {
		return measure.Latency{}, false
	}
	samples := uint64(from.Samples)                                         //nolint:gosec // A count is not negative.
	least, most := uint64(from.MinNanoseconds), uint64(from.MaxNanoseconds) //nolint:gosec // Times are not negative.
	made, err := measure.LatencyFromMean(bins, samples, float64(from.MeanNanoseconds), least, most)
	return made, err == nil
}

// judgePooled replaces the warning about too few samples in single steps with warnings about the pooled samples.
func judgePooled(into *v1alpha1.TargetResult, kind v1alpha1.PhaseKind) {
	var pooled builder
	for i := range into.Operations {
		operation, err := measure.ParseOperation(string(into.Operations[i].Operation))
		all, known := latencyOf(into.Operations[i].Latency)
		if err != nil || !known {
			return
		}
		pooled.judgeLatency(operation, &all, 0)
	}
	into.Warnings = slices.DeleteFunc(into.Warnings, func(w v1alpha1.Warning) bool {
		return w.Type == v1alpha1.WarningTooFewSamples
	})
	into.Warnings = withWarnings(into.Warnings, pooled.warnings.list(kind), kind)
}

// conclude records the state and the result of the search so far.
func conclude(into *v1alpha1.TargetResult, step plan.Step, history History, trials []search.Trial) {
	asked := history.Search
	decision := asked.Next(trials)
	found := v1alpha1.SearchResult{}
	into.Search = &found
	into.Warnings = slices.DeleteFunc(into.Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningSearchInconclusive })
	// doubt states why the search is inconclusive and what to do about it. It is empty if the search is conclusive.
	doubt := ""
	bound := fmt.Sprintf("%g %% of operations within %s", math.Round((1-asked.Allowed)*1e6)/1e4, asked.Latency)
	switch {
	case decision.Stage != search.Done:
		found.Message = "the search has not ended"
		return
	case decision.Rate == 0:
		into.Operations = nil
		found.Message = "no rate was confirmed with " + bound
		if slices.ContainsFunc(trials, func(t search.Trial) bool { return t.Confirms }) {
			doubt = "the confirming steps missed the objective at every rate tried: raise stepDuration"
		} else {
			doubt = fmt.Sprintf("the first rate, %s, missed the objective: "+
				"lower rate.min or clients.count, or accept a longer latency",
				measure.FormatOperationsPerSecond(float64(asked.Min)))
		}
		if rate := missedUnproven(asked, 0, trials); rate > 0 {
			doubt = fmt.Sprintf("a step at %s has no valid figures and counts as missed: run the search again",
				measure.FormatOperationsPerSecond(float64(rate)))
		}
	default:
		rounds := asked.Rounds(decision.Rate, trials)
		share := search.Slower(rounds)
		found.Found, found.OfferedIOPS = true, &decision.Rate
		found.SlowerPPM = &v1alpha1.Estimate{Value: measure.Round(share.Mean * 1e6), Lower: new(max(0, measure.Round((share.Mean-share.Half)*1e6))),
			Upper: new(measure.Round((share.Mean + share.Half) * 1e6))}
		found.AchievedIOPSMilli = achieved(into.Operations)
		if rate := missedUnproven(asked, decision.Rate, trials); rate > 0 {
			doubt = fmt.Sprintf("a step at %s has no valid figures and counts as missed, so the highest rate may be higher: "+
				"run the search again", measure.FormatOperationsPerSecond(float64(rate)))
		}
		found.AtLeast = decision.Missed == 0 && decision.Rate >= asked.Max
		found.Message = fmt.Sprintf("%s is the highest rate with %s, confirmed by %d steps: %s were slower, at most %s with 95 %% confidence",
			measure.FormatOperationsPerSecond(float64(decision.Rate)), bound, len(rounds), measure.FormatTail(share.Mean), measure.FormatTail(share.Mean+share.Half))
	}
	switch {
	case found.AtLeast && asked.ReachesBaseline():
		found.Message += "; no rate up to the baseline missed the objective"
	case found.AtLeast:
		found.Message += "; no rate missed the objective, so the highest rate may be higher"
		doubt = "no rate missed the objective: raise rate.max"
	}
	if found.Found && !history.Drained && !history.BucketEmpty {
		found.Message += "; burst credits were not drained before, so the rate may last only as long as the credits"
	}
	found.Message = v1alpha1.Truncate(found.Message, maxBurstMessage)
	if doubt != "" {
		into.Warnings = withWarnings(into.Warnings, []v1alpha1.Warning{v1alpha1.NewWarning(v1alpha1.WarningSearchInconclusive, step.Kind, doubt)}, step.Kind)
	}
}

// missedUnproven finds the lowest rate above the confirmed rate that counts as missed. It returns this rate if the miss
// is due to a step without valid figures, which shows nothing about the store. Otherwise, it returns 0.
func missedUnproven(asked *search.Question, confirmed int64, trials []search.Trial) int64 {
	lowest, unproven := int64(math.MaxInt64), int64(0)
	for i := range trials {
		t := &trials[i]
		if t.Offered <= confirmed || t.Offered > lowest || !t.Confirms && asked.Met(t) {
			continue
		}
		if t.Offered < lowest {
			lowest, unproven = t.Offered, 0
		}
		if !t.Known {
			unproven = t.Offered
		}
	}
	return unproven
}

// achieved returns the rate of all operations that move data, with its interval.
func achieved(operations []v1alpha1.OperationResult) *v1alpha1.Estimate {
	var cell []v1alpha1.StepOperation
	for i := range operations {
		if o := &operations[i]; o.IOPSMilli != nil {
			cell = append(cell, v1alpha1.StepOperation{Operation: o.Operation, IOPSMilli: *o.IOPSMilli, RateErrorPPM: o.RateErrorPPM})
		}
	}
	_, total, ok := phasekind.Total(cell)
	if !ok {
		return nil
	}
	return &total
}

// searchKnee finds the knee in the curve of the completed rate over the offered rate.
func searchKnee(result *v1alpha1.TargetResult) *v1alpha1.KneeResult {
	var points []detect.Point
	left := 0
	for _, trial := range phasekind.Trials(result) {
		switch {
		case trial.Confirms != nil:
		case len(trial.Operations) == 0 || trial.Disqualified():
			left++
		default:
			_, achieved, _ := phasekind.Total(trial.Operations)
			points = append(points, detect.Point{Load: float64(*trial.OfferedIOPS), Rate: float64(achieved.Value) / 1000})
		}
	}
	return kneeIn(points, left, "an offered rate of", measure.FormatOperationsPerSecond)
}
