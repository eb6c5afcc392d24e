package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// promiseTexts describes the rates that the documented limits allow, and the limits that are unknown. Loads of a target
// with the same rates share an entry.
func promiseTexts(d *planDocument) []string {
	promises, documented := d.Promises, d.Documented
	type group struct {
		target, rates, rest string
		loads, phases       []string
	}
	var groups []*group
	for i := range promises {
		p := &promises[i]
		rates, rest := promiseRates(p), promiseCourse(p)
		if rates == "" {
			continue
		}
		at := slices.IndexFunc(groups, func(g *group) bool { return g.target == p.Target && g.rates == rates && g.rest == rest })
		if at < 0 {
			groups, at = append(groups, &group{target: p.Target, rates: rates, rest: rest}), len(groups)
		}
		groups[at].loads = append(groups[at].loads, loadWords(p))
		for _, phase := range p.Phases {
			if !slices.Contains(groups[at].phases, phase) {
				groups[at].phases = append(groups[at].phases, phase)
			}
		}
	}
	var lines []string
	for _, g := range groups {
		lines = append(lines, fmt.Sprintf("documented limits of target %s for %s (%s): %s%s", g.target, strings.Join(g.loads, ", "), strings.Join(g.phases, ", "), g.rates, g.rest))
	}
	for i := range documented {
		for _, missing := range documented[i].Missing {
			lines = append(lines, fmt.Sprintf("limits of target %s are incomplete: %s: %s", documented[i].Target, missing.Field, missing.Message))
		}
	}
	for _, target := range d.Targets {
		if !slices.ContainsFunc(documented, func(s v1alpha1.StorageDescription) bool { return s.Target == target.Name }) {
			lines = append(lines, "documented limits of target "+target.Name+" are looked up from its volumes when the run starts; to see them here, set `documented` in the target")
		}
	}
	return lines
}

func loadWords(p *plan.Promise) string {
	load := "operations of several sizes"
	if p.BlockBytes > 0 {
		load = measure.FormatBinaryBytes(uint64(p.BlockBytes))
	}
	if p.Operation == "" {
		return load + " reads and writes"
	}
	load += " " + strings.ToLower(string(p.Operation)) + "s"
	if p.Cached {
		load += " from the server's cache"
	}
	return load
}

func promiseRates(p *plan.Promise) string {
	switch {
	case p.Baseline == nil:
		return ""
	case p.Burst == nil:
		return rateWords(p.Baseline)
	}
	return "burst " + rateWords(p.Burst) + ", baseline " + rateWords(p.Baseline)
}

// promiseCourse describes how the rates change over time under unlimited demand, starting with full buckets. Each rate
// and each drained bucket has its own line.
func promiseCourse(p *plan.Promise) string {
	var b strings.Builder
	for _, level := range p.Levels {
		if len(p.Levels) < 2 {
			break
		}
		b.WriteString("\n    full buckets give " + measure.FormatBytesPerSecond(level.BytesPerSecond))
		if level.Seconds == nil {
			b.WriteString(" from " + about(level.StartSeconds) + " on")
		} else {
			b.WriteString(" for " + about(*level.Seconds))
		}
		if level.Limit != "" {
			b.WriteString(", by " + level.Limit)
		}
	}
	for _, drain := range p.Drains {
		if drain.Seconds != nil {
			fmt.Fprintf(&b, "\n    credits of %s: spent in %s, refilled in %s", drain.Limit, about(*drain.Seconds), about(drain.RefillSeconds))
		}
	}
	if names := slices.Compact(slices.Sorted(slices.Values(p.Unpublished))); len(names) > 0 {
		b.WriteString("\n    the burst length of " + strings.Join(names, ", ") + " is not published, so a burst can be shorter than expected")
	}
	return b.String()
}

func rateWords(r *plan.PromisedRate) string {
	rate := measure.FormatBytesPerSecond(r.BytesPerSecond)
	if r.BytesPerSecond == 0 {
		rate = measure.FormatOperationsPerSecond(r.OperationsPerSecond)
	}
	text := rate + " (" + r.Limit
	if strings.ContainsAny(r.Arithmetic, "=;") {
		text += ": " + r.Arithmetic
	}
	return text + ")"
}
