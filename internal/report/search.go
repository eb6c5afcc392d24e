package report

import (
	"fmt"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// searches writes the result of each search and the rates that it tried, in order. The short form leaves out the steps
// that only confirm a rate.
func (p *page) searches(d Document, phases []v1alpha1.PhaseResult) {
	for phase, target := range v1alpha1.TargetResults(phases) {
		if target.Search != nil {
			p.search(where(d, phase, target), target)
		}
	}
}

func (p *page) search(where string, target *v1alpha1.TargetResult) {
	p.gap()
	p.line(where + ": the highest rate within the bound" + creditRange(target.Steps))
	lines := [][]string{{"OFFERED", "ACHIEVED", "SLOWER", "OPERATION", "IOPS", "MEAN", "P50", "P99", ""}}
	var confirming []int
	for _, trial := range phasekind.Trials(target) {
		for _, row := range trialRows(trial, target.Search) {
			if trial.Confirms != nil {
				confirming = append(confirming, len(lines))
			}
			lines = append(lines, row)
		}
	}
	p.nested(target.Search.Message)
	if target.Knee != nil && target.Knee.Message != "" {
		p.nested(target.Knee.Message)
	}
	p.take(part{tables: []partTable{{lines: leftLast(lines), detailRows: confirming, detailColumns: []string{"MEAN"}}}, nested: true})
	p.details(func() {
		p.nested("SLOWER is the share of operations above the latency limit of the objective.")
	})
}

// trialRows returns the table rows of one trial of a search, one per operation.
func trialRows(trial *v1alpha1.StepResult, found *v1alpha1.SearchResult) [][]string {
	slower, mark := absent, ""
	if trial.SlowerPPM != nil {
		slower = measure.FormatTail(float64(*trial.SlowerPPM) / 1e6)
	}
	switch {
	case trial.Disqualified():
		mark = "<- NOT VALID"
	case trial.Confirms == nil:
	case found.Found && found.OfferedIOPS != nil && *found.OfferedIOPS == *trial.OfferedIOPS:
		mark = "<- confirms"
	default:
		mark = "<- not confirmed"
	}
	_, achieved, _ := phasekind.Total(trial.Operations)
	names := []string{iopsOf(float64(*trial.OfferedIOPS)), iopsOf(float64(achieved.Value) / 1000), slower}
	return cellRows(names, trial.Operations, func(o v1alpha1.StepOperation) []string {
		figures := cellFigures(o)
		return []string{figures[1], figures[2], latencyText(o.P50Nanoseconds), figures[3]}
	}, mark)
}

// offeredRates returns the axis of the rates that a search tried, or false if it tried none. The axis leaves out steps
// that only confirm a rate.
func offeredRates(phase *v1alpha1.PhaseResult) (loads, bool) {
	axis := loads{id: "search", title: "Achieved by offered rate", name: "offered rate", inOperations: true, of: func(step *v1alpha1.StepResult) (int64, bool) {
		if step.OfferedIOPS == nil || step.Confirms != nil {
			return 0, false
		}
		return *step.OfferedIOPS, true
	}, mark: func(target *v1alpha1.TargetResult) (string, int64) {
		if found := target.Search; found != nil && found.Found && found.OfferedIOPS != nil {
			return fmt.Sprintf("highest rate of %s: %d", printable(target.Target), *found.OfferedIOPS), *found.OfferedIOPS
		}
		return "", 0
	}}
	for i := range phase.Targets {
		for _, trial := range phasekind.Trials(&phase.Targets[i]) {
			if value, known := axis.of(trial); known {
				axis.values = append(axis.values, value)
			}
		}
	}
	slices.Sort(axis.values)
	return axis, len(axis.values) > 0
}
