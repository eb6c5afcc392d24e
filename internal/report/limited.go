package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Maximum numbers of entries in the text for each target, rate or cause. The JSON lists all entries.
const (
	maxLimitsTold   = 8
	maxMissingTold  = 3
	maxSuspectsTold = 4
	maxReasonsTold  = 3
	maxRatesTold    = 12
)

// limited lists the causes that limited the rates, with one entry per cause. The details also contain the evidence for
// each rate, and the observations in its phase.
func (p *page) limited(d Document) {
	var causes remarks
	var evidence []string
	for _, phase := range d.Phases {
		judged := false
		for i := range phase.Targets {
			target, name := &phase.Targets[i], where(d, &phase, &phase.Targets[i])
			for j := range target.Attributions {
				a := &target.Attributions[j]
				causes.add(rateName(name, target, a), causesText(a))
				judged = true
				if text := evidenceText(a); text != "" {
					evidence = append(evidence, rateName(name, target, a)+": "+text)
				}
			}
			for _, g := range causesOfCells(target.Steps) {
				text := measure.FormatCount(g.cells, cmp.Or(phasekind.Of(phase.Kind).Cell, "step")) + " of " + name
				if g.most > 0 {
					text += " (up to " + measure.FormatShare(float64(g.most)/1000) + " used)"
				}
				causes.add(text, g.cause)
				judged = true
			}
		}
		if text := observedIn(d, phase.Name); judged && text != "" {
			evidence = append(evidence, printable(phase.Name)+": observed meanwhile: "+text)
		}
	}
	var items []string
	for _, c := range causes {
		items = append(items, c.text+": "+measure.FormatList(c.about, maxRatesTold))
	}
	p.list("", items)
	p.details(func() { p.list("Evidence:", evidence) })
}

// rateName names the rate that an attribution explains.
func rateName(where string, target *v1alpha1.TargetResult, a *v1alpha1.Attribution) string {
	switch {
	case a.Level != "":
		return strings.ToLower(printable(string(a.Level))) + " of " + where
	case a.Operation != "" && len(target.Operations) > 1:
		return where + " " + strings.ToLower(printable(string(a.Operation))) + "s"
	}
	return where
}

// causesText names the likeliest cause with its limit, and all other causes that explain the rate equally well.
func causesText(a *v1alpha1.Attribution) string {
	var all []string
	for i := range a.Suspects {
		if s := &a.Suspects[i]; i == 0 || s.Tied {
			if text := suspectText(s); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	if len(all) == 0 {
		return causeText(v1alpha1.CauseUnknown)
	}
	return strings.Join(all, " or ")
}

// evidenceText returns the evidence for the likeliest cause, the calculation of the documented rate, and the
// next-ranked causes.
func evidenceText(a *v1alpha1.Attribution) string {
	var parts []string
	if len(a.Suspects) > 0 {
		first := &a.Suspects[0]
		why := first.Evidence
		if first.Limit != "" && len(why) > 0 {
			// Omit the first sentence of the evidence. It states the used share of the limit, which a table already shows.
			why = why[1:]
		}
		parts = slices.Clone(why[:min(len(why), maxReasonsTold)])
		if text := calculation(first.Arithmetic); text != "" {
			parts = append(parts, text)
		}
		var near []string
		for i := range a.Suspects[1:] {
			if s := &a.Suspects[i+1]; !s.Tied && len(near) < maxSuspectsTold {
				text := suspectText(s)
				if s.Limit != "" {
					text += ", " + measure.FormatShare(float64(s.PermilleUsed)/1000) + " used"
				}
				near = append(near, text)
			}
		}
		if len(near) > 0 {
			parts = append(parts, "next most likely: "+strings.Join(near, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// documentedLimits describes the documented limits of all targets, and names the limits that are unknown.
func documentedLimits(d Document) []string {
	var all []string
	for i := range d.Storage {
		all = append(all, documentedTexts(&d.Storage[i])...)
	}
	return all
}

// documentedTexts describes the documented limits of a target. If there are any, it also names the limits that are
// unknown.
func documentedTexts(s *v1alpha1.StorageDescription) []string {
	var all []string
	for i := range s.Limits[:min(len(s.Limits), maxLimitsTold)] {
		all = append(all, s.Target+": "+limitText(&s.Limits[i]))
	}
	if more := len(s.Limits) - maxLimitsTold; more > 0 {
		all = append(all, s.Target+": "+measure.FormatCount(more, "more limit"))
	}
	if len(all) > 0 {
		for _, missing := range s.Missing[:min(len(s.Missing), maxMissingTold)] {
			all = append(all, s.Target+": not known: "+missing.Field+": "+missing.Message)
		}
	}
	return all
}

// limitText describes a documented limit: its rates, its bucket and how they are calculated.
func limitText(l *v1alpha1.DocumentedLimit) string {
	rate, amount := rateText, bytesText
	if l.Dimension == "Operations" {
		rate, amount = func(iops int64) string { return iopsText(1000 * iops) }, operationsText
	}
	text := l.Name
	if l.Operation != "" {
		text += " of " + strings.ToLower(string(l.Operation)) + "s"
	}
	text += " " + rate(l.Baseline)
	switch {
	case l.Burst == nil:
	case l.Billed:
		text += ", on demand " + rate(*l.Burst)
	case l.Bucket == nil:
		text += ", in a burst " + rate(*l.Burst) + " (of unpublished length)"
	default:
		text += ", in a burst " + rate(*l.Burst)
	}
	if l.Bucket != nil {
		text += ", bucket " + amount(*l.Bucket)
	}
	if l.Refill != nil {
		text += ", refill " + rate(*l.Refill)
	}
	for _, arithmetic := range []string{l.Arithmetic, l.BurstArithmetic, l.BucketArithmetic} {
		if arithmetic = calculation(arithmetic); arithmetic != "" {
			text += "; " + arithmetic
		}
	}
	if l.Overridden {
		text += " (not from the built-in catalog)"
	}
	return text
}

// suspectText names a cause and its limit.
func suspectText(s *v1alpha1.Suspect) string {
	text := causeText(s.Cause)
	if s.Limit == "" {
		return text
	}
	if s.Burst {
		return text + " (" + s.Limit + " in a burst)"
	}
	return text + " (" + s.Limit + ")"
}

// calculation returns the arithmetic of a limit, or "" if it is just a number, because a table already shows that
// number.
func calculation(arithmetic string) string {
	if !strings.ContainsAny(arithmetic, "=x;") {
		return ""
	}
	return arithmetic
}

func causeText(c v1alpha1.Cause) string {
	if text, known := map[v1alpha1.Cause]string{
		v1alpha1.CauseDisk: "the disks", v1alpha1.CauseLimit: "the given limit", v1alpha1.CauseNetwork: "the server's network", v1alpha1.CauseFlow: "a single connection",
		v1alpha1.CauseInstance: "the client's machine", v1alpha1.CauseCredits: "spent credits", v1alpha1.CauseServerCache: "the server's cache",
		v1alpha1.CauseClientCPU: "the client's CPU", v1alpha1.CauseQueueDepth: "too few outstanding operations", v1alpha1.CauseTool: "the tool or its rate limit",
		v1alpha1.CauseUnknown: "an unknown limit",
	}[c]; known {
		return text
	}
	return string(c)
}

// cellsOfCause counts the cells whose rates were limited by the same cause. most is the highest utilization of the
// cause's documented limit in these cells, in thousandths, or 0 if the cause has no documented limit.
type cellsOfCause struct {
	cause string
	cells int
	most  int64
}

// causesOfCells counts the steps of a ramp, or the cells of a sweep, by the cause that limited their rates.
func causesOfCells(steps []v1alpha1.StepResult) []cellsOfCause {
	var all []cellsOfCause
	for i := range steps {
		a := steps[i].Attribution
		if a == nil {
			continue
		}
		cause := suspectText(&v1alpha1.Suspect{Cause: a.Cause, Limit: a.Limit})
		at := slices.IndexFunc(all, func(c cellsOfCause) bool { return c.cause == cause })
		if at < 0 {
			at = len(all)
			all = append(all, cellsOfCause{cause: cause})
		}
		all[at].cells++
		if a.Limit != "" {
			all[at].most = max(all[at].most, a.PermilleUsed)
		}
	}
	return all
}
