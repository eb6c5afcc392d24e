package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
)

// foldBlock adds a block of an interference phase, or the drain before the blocks. The figures of the phase are pooled
// from all valid blocks with the most neighbours.
func foldBlock(blocks phasekind.Blocks, into *v1alpha1.TargetResult, step plan.Step, history History, made v1alpha1.TargetResult) {
	known := slices.ContainsFunc(into.Steps, func(s v1alpha1.StepResult) bool { return int(s.Cell) == step.Cell })
	if known {
		return
	}
	foldCell(into, step, history, made)
	into.Warnings = withWarnings(into.Warnings, made.Warnings, step.Kind)
	if step.Cell < 0 {
		return
	}
	cell := cellOf(into, int32(step.Cell)) //nolint:gosec // The API allows few.
	if cell == nil {
		return
	}
	cell.Neighbours = new(int32(len(step.Targets) - 1)) //nolint:gosec // The API allows few.
	addMedians(cell, made.Operations)
	if *cell.Neighbours == blocks.Most && !cell.Disqualified() {
		if len(into.Operations) == 0 {
			replaceFigures(into, &made)
		} else {
			pool(into, &made)
		}
	}
	if !slices.Contains(blocks.Victims, into.Target) {
		return
	}
	if into.Interference == nil {
		into.Interference = &v1alpha1.InterferenceResult{}
	}
	if !history.BucketEmpty {
		into.Interference.BlocksWithCredits++
	}
	level := levelOf(into.Interference, *cell.Neighbours)
	if !cell.Disqualified() {
		level.Blocks++
		mergeLatencies(level, made.Operations)
	}
	for i := range into.Interference.Levels {
		rateLevel(&into.Interference.Levels[i], into.Steps, &blocks)
	}
	concludeBlocks(&blocks, into, history.Drained)
}

// levelOf returns the level with the given number of neighbours, and inserts it in order if it is missing.
func levelOf(result *v1alpha1.InterferenceResult, neighbours int32) *v1alpha1.InterferenceLevel {
	at, found := slices.BinarySearchFunc(result.Levels, neighbours, func(l v1alpha1.InterferenceLevel, count int32) int {
		return cmp.Compare(l.Neighbours, count)
	})
	if !found {
		result.Levels = slices.Insert(result.Levels, at, v1alpha1.InterferenceLevel{Neighbours: neighbours})
	}
	return &result.Levels[at]
}

// mergeLatencies adds the latency distributions of a block to its level, and updates the level's percentiles. If the
// distribution of any block is unknown, the level has no percentiles.
func mergeLatencies(level *v1alpha1.InterferenceLevel, operations []v1alpha1.OperationResult) {
	for i := range operations {
		o := &operations[i]
		at := slices.IndexFunc(level.Operations, func(known v1alpha1.InterferenceOperation) bool { return known.Operation == o.Operation })
		var merged, added measure.Histogram
		if at < 0 {
			at = len(level.Operations)
			level.Operations = append(level.Operations, v1alpha1.InterferenceOperation{Operation: o.Operation})
		} else if merged.UnmarshalBinary(level.Operations[at].Histogram) != nil {
			continue
		}
		into := &level.Operations[at]
		into.P50Nanoseconds, into.P99Nanoseconds = nil, nil
		if o.Latency == nil || added.UnmarshalBinary(o.Latency.Histogram) != nil {
			into.Histogram = nil
			continue
		}
		merged.Merge(&added)
		encoded, err := merged.MarshalBinary()
		if err != nil || len(encoded) > maxHistogramBytes {
			into.Histogram = nil
			continue
		}
		into.Histogram = encoded
		into.P50Nanoseconds, into.P99Nanoseconds = percentileOf(&merged, 50), percentileOf(&merged, 99)
	}
}

func percentileOf(histogram *measure.Histogram, percent float64) *int64 {
	value, ok := histogram.Percentile(percent)
	if !ok || value > math.MaxInt64 {
		return nil
	}
	return new(int64(value))
}

// rateLevel sets the mean rates of a level, and the ratios of its figures to those without neighbours. All blocks have
// the same length, so the mean of their rates is the rate over all of them. If an operation does not occur in a block,
// its rate there is 0.
func rateLevel(level *v1alpha1.InterferenceLevel, steps []v1alpha1.StepResult, blocks *phasekind.Blocks) {
	for i := range level.Operations {
		into := &level.Operations[i]
		var bytes, iops float64
		for j := range steps {
			if o := operationIn(&steps[j], into.Operation); o != nil && *steps[j].Neighbours == level.Neighbours {
				bytes, iops = bytes+float64(o.BytesPerSecond), iops+float64(o.IOPSMilli)
			}
		}
		count := max(1, float64(level.Blocks))
		into.BytesPerSecond, into.IOPSMilli = measure.Round(bytes/count), measure.Round(iops/count)
		if level.Neighbours > 0 {
			percentile := func(pick func(*v1alpha1.StepOperation) *int64) *v1alpha1.Estimate {
				return ratioTo(level.Neighbours, steps, blocks, func(step *v1alpha1.StepResult) float64 {
					o := operationIn(step, into.Operation)
					if o == nil || pick(o) == nil {
						return 0
					}
					return float64(*pick(o))
				})
			}
			into.P50RatioPPM = percentile(func(o *v1alpha1.StepOperation) *int64 { return o.P50Nanoseconds })
			into.P99RatioPPM = percentile(func(o *v1alpha1.StepOperation) *int64 { return o.P99Nanoseconds })
		}
	}
	if level.Neighbours > 0 {
		level.RateRatioPPM = ratioTo(level.Neighbours, steps, blocks, func(step *v1alpha1.StepResult) float64 {
			return phasekind.CellRate(step.Operations)
		})
	}
}

// operationIn returns the figures of an operation in a valid block, or nil.
func operationIn(step *v1alpha1.StepResult, operation v1alpha1.Operation) *v1alpha1.StepOperation {
	if step.Neighbours == nil || step.Disqualified() {
		return nil
	}
	at := slices.IndexFunc(step.Operations, func(o v1alpha1.StepOperation) bool { return o.Operation == operation })
	if at < 0 {
		return nil
	}
	return &step.Operations[at]
}

// ratioTo returns the ratio of a figure with neighbours to the same figure without them, in millionths, over the
// repetitions that have both figures. It returns nil if no repetition has both.
func ratioTo(
	neighbours int32, steps []v1alpha1.StepResult, blocks *phasekind.Blocks, figure func(*v1alpha1.StepResult) float64,
) *v1alpha1.Estimate {
	pairs := make([]compare.Block, blocks.Repetitions)
	for i := range steps {
		step := &steps[i]
		repetition := blocks.Repetition(int(step.Cell))
		if step.Neighbours == nil || step.Disqualified() || repetition >= len(pairs) {
			continue
		}
		pair := &pairs[repetition]
		pair.Reversed = blocks.Reversed(repetition)
		switch *step.Neighbours {
		case 0:
			pair.Baseline = figure(step)
		case neighbours:
			pair.Other = figure(step)
		}
	}
	ratio, ok := compare.Paired(pairs)
	if !ok {
		return nil
	}
	made := &v1alpha1.Estimate{Value: measure.Round(ratio.Value * 1e6)}
	if ratio.Known {
		made.Lower, made.Upper = new(measure.Round(ratio.Lower*1e6)), new(measure.Round(ratio.Upper*1e6))
	}
	return made
}

// concludeBlocks writes the message about the effect of neighbours. drained is true if a drain spent the burst credits
// before the blocks. After the last block, it drops the merged distributions, which were needed only to add further
// blocks.
func concludeBlocks(blocks *phasekind.Blocks, into *v1alpha1.TargetResult, drained bool) {
	result := into.Interference
	result.Message = "the phase has not ended"
	if len(into.Steps) < blocks.Repetitions*(1+blocks.PerRepetition-len(blocks.Victims)) {
		return
	}
	for i := range result.Levels {
		for j := range result.Levels[i].Operations {
			result.Levels[i].Operations[j].Histogram = nil
		}
	}
	var costs []string
	for i := range result.Levels {
		if level := &result.Levels[i]; level.Neighbours > 0 {
			costs = append(costs, costOf(level))
		}
	}
	result.Message = strings.Join(costs, ". ")
	switch {
	case result.BlocksWithCredits == 0:
	case !blocks.Drains:
		result.Message += ". Burst credits were not drained before, so this result may hold only as long as the credits last"
	case !drained:
		result.Message += ". The drain did not spend all burst credits, so this result may hold only as long as the credits last"
	default:
		result.Message += fmt.Sprintf(". Burst credits may have come back before %d of the %d blocks",
			result.BlocksWithCredits, len(into.Steps))
	}
	result.Message = v1alpha1.Truncate(result.Message, maxBurstMessage)
}

// costOf describes the effect of a number of neighbours: "3 neighbours cost 42.0 % (38.0 to 46.0 %) of throughput; p99
// 3.10 times (2.80 to 3.40)".
func costOf(level *v1alpha1.InterferenceLevel) string {
	who := measure.FormatCount(int(level.Neighbours), "neighbour")
	if level.RateRatioPPM == nil {
		return who + ": no repetition has valid blocks both with and without neighbours"
	}
	rate := ratioOf(level.RateRatioPPM)
	lost := func(ratio float64) string {
		return strings.Replace(strings.TrimSuffix(measure.FormatShare(1-ratio), " %"), "-0.0", "0.0", 1)
	}
	interval := fmt.Sprintf(" (%s to %s %%)", lost(rate.Upper), lost(rate.Lower))
	var text string
	switch compare.RatioVerdict(rate, compare.HigherIsBetter, false) {
	case compare.NoDifference:
		text = who + ": no throughput loss shown" + interval
	case compare.BaselineBetter:
		text = fmt.Sprintf("%s cost %s %%%s of throughput", who, lost(rate.Value), interval)
	case compare.OtherBetter:
		text = fmt.Sprintf("%s: throughput %.3f times as high (%.3f to %.3f)", who, rate.Value, rate.Lower, rate.Upper)
	case compare.NotJudged:
		text = fmt.Sprintf("%s cost %s %% of throughput (too few blocks for an interval)", who, lost(rate.Value))
	}
	for i := range level.Operations {
		o := &level.Operations[i]
		if o.P99RatioPPM == nil {
			continue
		}
		name := "p99"
		if len(level.Operations) > 1 {
			name = strings.ToLower(string(o.Operation)) + " p99"
		}
		p99 := ratioOf(o.P99RatioPPM)
		switch compare.RatioVerdict(p99, compare.LowerIsBetter, true) {
		case compare.NoDifference:
			text += fmt.Sprintf("; no change in %s shown (%.2f to %.2f times)", name, p99.Lower, p99.Upper)
		case compare.NotJudged:
			text += fmt.Sprintf("; %s %.2f times", name, p99.Value)
		case compare.OtherBetter, compare.BaselineBetter:
			text += fmt.Sprintf("; %s %.2f times (%.2f to %.2f)", name, p99.Value, p99.Lower, p99.Upper)
		}
	}
	return text
}

// ratioOf converts a ratio and its interval from millionths, the unit of the API.
func ratioOf(e *v1alpha1.Estimate) compare.Value {
	value := float64(e.Value) / 1e6
	if e.Lower == nil || e.Upper == nil {
		return compare.WithoutInterval(value)
	}
	return compare.Between(value, float64(*e.Lower)/1e6, float64(*e.Upper)/1e6)
}
