package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// overTimeID is the ID of the section whose chart also appears in text output.
const overTimeID = "over-time"

// comparisonID is the prefix of the IDs of sections that compare a target or a run with another one.
const comparisonID = "comparison-"

// sectionsOf returns the content of a report, with the most important sections first. Each format renders these
// sections in this order.
func sectionsOf(d Document) []section {
	var all []section
	add := func(id, title string, views []view, write func(*page)) {
		one := section{ID: id, Title: title, Views: views, parts: partsOf(write)}
		if len(one.Views)+len(one.parts) > 0 {
			all = append(all, one)
		}
	}
	detail := func(id, title string, views []view, write func(*page)) {
		add(id, title, views, func(p *page) { p.details(func() { write(p) }) })
	}
	add("not-valid", "Not valid: the figures do not measure what was asked for", nil, func(p *page) {
		p.items("", invalid(d))
	})
	add("objectives", "Objectives", nil, func(p *page) { p.objectives(d) })
	told := documentedRates{}
	for _, b := range blocksOf(d) {
		add(b.id(), b.title, slices.Concat(drains(d, b.phases), curves(d, b.phases)), func(p *page) {
			p.figures(d, b.phases, told)
			p.bursts(d, b.phases)
			p.ramps(d, b.phases)
			p.sweeps(d, b.phases)
			p.searches(d, b.phases)
			p.neighbours(d, b.phases)
		})
	}
	detail(overTimeID, "Over time", slices.Concat(rates(d), observedViews(d), latencies(d)), func(p *page) {
		if d.Series.Empty() && len(d.Phases) > 0 {
			p.line("The record of a run has no time series. Create the report from a file written by " +
				"`run -o json`, or from the run in its cluster while its series are kept.")
		}
	})
	add("phases", "Phases", nil, func(p *page) {
		if len(d.Phases) == 0 {
			p.line("no phase has a result")
		}
		p.operations(d, told)
	})
	add("other", "Other figures", nil, func(p *page) { p.otherFigures(d, told) })
	add("observations", "Observations", nil, func(p *page) { p.observations(d) })
	for i, of := range comparedPairs(d) {
		title := "How " + printable(of.target) + " compares with " + printable(of.baseline)
		add(fmt.Sprintf("%s%d", comparisonID, i), title, nil, func(p *page) { p.comparison(d, of) })
	}
	add("limits", "Limited by", nil, func(p *page) { p.limited(d) })
	title := "Warnings (results are valid)"
	if len(invalid(d)) > 0 {
		title = "Warnings"
	}
	add("warnings", title, nil, func(p *page) { p.items("", remarksOf(d, v1alpha1.SeverityWarning)) })
	add("lost", "Lost clients", nil, func(p *page) { p.list("", lostClients(d)) })
	add("left", "Data that could not be removed", nil, func(p *page) { p.list("", dataLeft(d)) })
	detail("notes", "Notes", nil, func(p *page) { p.items("", remarksOf(d, v1alpha1.SeverityInfo)) })
	detail("distributions", "Latency distribution", distributions(d), func(*page) {})
	detail("clients", "Clients", clientCharts(d), func(p *page) { p.measuredHow(d) })
	detail("jobs", "IOR and mdtest", nil, func(p *page) { p.jobs(d) })
	detail("programs", "Programs", nil, func(p *page) { p.commands(d) })
	detail("documented", "Documented limits", nil, func(p *page) { p.list("", documentedLimits(d)) })
	detail("space", "Space used by the files", nil, func(p *page) { p.spaces(d) })
	detail("timeline", "Timeline", timelineChart(d), func(p *page) { p.timeline(d) })
	detail("environment", "Environment", nil, func(p *page) { p.environment(d); p.storage(d) })
	detail("definitions", "Definitions", nil, func(p *page) { p.definitions(d) })
	for i := range all {
		all[i].named = strings.HasPrefix(all[i].ID, comparisonID)
		all[i].Class = map[string]string{"not-valid": "bad", "warnings": "warn"}[all[i].ID]
	}
	return all
}

// kindBlock holds the phases of a run whose figures are shown in the same report block.
type kindBlock struct {
	title  string
	phases []v1alpha1.PhaseResult
}

func (b *kindBlock) id() string { return strings.ReplaceAll(strings.ToLower(b.title), " ", "-") }

// blocksOf groups phases by the report block of their kind, in the order of the run.
func blocksOf(d Document) []*kindBlock {
	var all []*kindBlock
	for _, phase := range d.Phases {
		title := phasekind.Of(phase.Kind).Block
		if title == "" {
			continue
		}
		at := slices.IndexFunc(all, func(b *kindBlock) bool { return b.title == title })
		if at < 0 {
			at = len(all)
			all = append(all, &kindBlock{title: title})
		}
		all[at].phases = append(all[at].phases, phase)
	}
	return all
}

// definitions writes a paragraph that explains how throughput, IOPS, latency and the other columns are defined.
func (p *page) definitions(d Document) {
	if len(d.Phases) == 0 {
		return
	}
	p.line("MB is 10^6 bytes. Throughput and IOPS count what was completed while every client ran, over that time; " +
		"for prepare, everything from the first start to the last end. Latency is from submission to completion, " +
		"over all operations of all clients." + ofSteady(d) + absence(d))
}

// ofSteady explains the columns that only steady phases fill. It returns "" if the run has no such phase.
func ofSteady(d Document) string {
	for _, target := range v1alpha1.TargetResults(d.Phases) {
		if target.SteadyState != nil {
			return " 95 % ± is half the width of the 95 % interval of the mean throughput and IOPS, computed from one-second samples. " +
				"A rate is steady if, over the last five minutes, the means per minute differ by at most 20 % of their average and their trend changes by at most 10 % of it."
		}
	}
	return ""
}

// where names the phase, and also the target if the run has several.
func where(d Document, phase *v1alpha1.PhaseResult, target *v1alpha1.TargetResult) string {
	if manyTargets(d) {
		return phase.Name + "/" + target.Target
	}
	return phase.Name
}

// manyTargets reports whether the run has results of several targets. If it has, the report must name the target.
func manyTargets(d Document) bool { return len(targetNames(d)) > 1 }

func targetNames(d Document) []string {
	var names []string
	for _, target := range v1alpha1.TargetResults(d.Phases) {
		if !slices.Contains(names, target.Target) {
			names = append(names, target.Target)
		}
	}
	return names
}
