package report

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Limits of what the text lists for one target or one rate; JSON has the rest.
const (
	maxLimitsTold   = 8
	maxMissingTold  = 3
	maxSuspectsTold = 4
	maxReasonsTold  = 3
)

// onBaseline and farAbove are rates in thousandths of the documented baseline: up to onBaseline a rate counts as the
// baseline, above farAbove as a burst.
const onBaseline, farAbove = 1050, 1250

// promises writes the documented limits of the targets, how much of them was reached, and what limited the rates.
func (p *page) promises(d Document) {
	var about, rates []string
	for i := range d.Storage {
		about = append(about, documentedTexts(&d.Storage[i])...)
	}
	for _, phase := range d.Phases {
		for i := range phase.Targets {
			target := &phase.Targets[i]
			for j := range target.Attributions {
				one := &target.Attributions[j]
				name := where(d, phase, target)
				if one.Level != "" {
					name += ", " + strings.ToLower(string(one.Level))
				}
				rates = append(rates, name+": "+reachedText(one)+"; "+heldText(one))
			}
			if text := cellsText(target.Steps); text != "" {
				rates = append(rates, where(d, phase, target)+": "+text)
			}
		}
	}
	p.list("Documented limits of the storage:", about)
	p.list("Rates relative to them, and what limited them:", rates)
}

// documentedTexts returns the documented limits of a target, and its facts that are unknown.
func documentedTexts(s *v1alpha1.StorageDescription) []string {
	var all []string
	var limits []string
	for i := range s.Limits {
		l := &s.Limits[i]
		if len(limits) == maxLimitsTold {
			limits = append(limits, measure.FormatCount(len(s.Limits)-maxLimitsTold, "more limit"))
			break
		}
		format := rateText
		if l.Dimension == "Operations" {
			format = func(iops int64) string { return iopsText(1000 * iops) }
		}
		text := l.Name
		if l.Operation != "" {
			text += " of " + strings.ToLower(string(l.Operation)) + "s"
		}
		text += " " + format(l.Baseline)
		switch {
		case l.Burst == nil:
		case l.Billed:
			text += ", on demand " + format(*l.Burst)
		case l.Bucket == nil:
			text += ", in a burst " + format(*l.Burst) + " (of unpublished length)"
		default:
			text += ", in a burst " + format(*l.Burst)
		}
		if l.Overridden {
			text += " (not the vendor's own figure)"
		}
		limits = append(limits, text)
	}
	if len(limits) > 0 {
		all = append(all, s.Target+": "+strings.Join(limits, "; "))
		for _, missing := range s.Missing[:min(len(s.Missing), maxMissingTold)] {
			all = append(all, s.Target+": not known: "+missing.Field+": "+missing.Message)
		}
	}
	return all
}

// reachedText compares a rate with the documented rates.
func reachedText(a *v1alpha1.Attribution) string {
	rate := rateText(a.BytesPerSecond)
	compared := func(name string, of *v1alpha1.DocumentedRate) string {
		if of == nil {
			return ""
		}
		promised := ""
		switch {
		case of.BytesPerSecond != nil:
			promised = rateText(*of.BytesPerSecond)
		case of.IOPSMilli != nil:
			promised = iopsText(*of.IOPSMilli)
		}
		text := measure.FormatShare(float64(of.PermilleReached)/1000) + " of the documented " + name + promised + " (" + of.Limit
		if arithmetic := sums(of.Arithmetic); arithmetic != "" {
			text += ": " + arithmetic
		}
		return text + ")"
	}
	var parts []string
	switch {
	case a.Burst == nil || a.Baseline == nil:
		parts = []string{compared("", a.Baseline)}
	case a.Level == v1alpha1.LevelBurst:
		parts = []string{compared("burst of ", a.Burst)}
	case a.Level == v1alpha1.LevelBaseline:
		parts = []string{compared("baseline of ", a.Baseline)}
	default: // a rate clearly at one of the two is not compared with the other
		if a.Baseline.PermilleReached <= farAbove {
			parts = append(parts, compared("baseline of ", a.Baseline))
		}
		if a.Baseline.PermilleReached > onBaseline {
			parts = append(parts, compared("burst of ", a.Burst))
		}
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		return rate
	}
	return rate + ", " + text
}

// heldText names the causes that limited a rate, the likeliest first, and the evidence for the likeliest one.
func heldText(a *v1alpha1.Attribution) string {
	if len(a.Suspects) == 0 {
		return "unknown limit"
	}
	first := &a.Suspects[0]
	if first.Cause == v1alpha1.CauseUnknown {
		text := "unknown limit: " + strings.Join(reasons(first, 0), "; ")
		if also := others(a, false); also != "" {
			text += "; perhaps " + also
		}
		return text
	}
	text := "held back by " + suspectText(first, figureTold(a, first))
	if tied := others(a, true); tied != "" {
		text += ", or as likely " + tied
	}
	if near := others(a, false); near != "" {
		text += "; also near: " + near
	}
	skipped := 0
	if first.Limit != "" {
		skipped = 1 // the first reason is the share, which is already in the text
	}
	if why := reasons(first, skipped); len(why) > 0 {
		text += "; " + strings.Join(why, "; ")
	}
	return text
}

// others lists the suspects after the first: the ones that are tied with it, or the ones that are not.
func others(a *v1alpha1.Attribution, tied bool) string {
	var texts []string
	for i := range a.Suspects[1:] {
		if s := &a.Suspects[i+1]; s.Tied == tied && len(texts) < maxSuspectsTold {
			texts = append(texts, suspectText(s, false))
		}
	}
	return strings.Join(texts, ", ")
}

func reasons(s *v1alpha1.Suspect, skipped int) []string {
	if skipped >= len(s.Evidence) {
		return nil
	}
	return s.Evidence[skipped:min(len(s.Evidence), skipped+maxReasonsTold)]
}

// figureTold reports whether the text already compares the rate with the suspect's limit, and so contains its figure.
func figureTold(a *v1alpha1.Attribution, s *v1alpha1.Suspect) bool {
	of := a.Baseline
	if s.Burst {
		of = a.Burst
	}
	return of != nil && of.Limit == s.Limit && a.Level != v1alpha1.LevelBurst == !s.Burst
}

// suspectText returns a cause with its limit, and with the limit's figure unless told is true.
func suspectText(s *v1alpha1.Suspect, told bool) string {
	if s.Limit == "" {
		return causeText(s.Cause)
	}
	text := causeText(s.Cause) + " (" + s.Limit
	if s.Burst {
		text += " in a burst"
	}
	if !told {
		text += ", " + measure.FormatShare(float64(s.PermilleUsed)/1000)
		if s.Arithmetic != "" {
			text += " of " + strings.TrimSuffix(s.Arithmetic, specified)
		}
	}
	return text + ")"
}

// specified ends the arithmetic of a limit whose figure is given in the specification.
const specified = ", as the specification says"

// sums returns the arithmetic of a limit; empty if it is only a figure, which is already in the text.
func sums(arithmetic string) string {
	arithmetic = strings.TrimSuffix(arithmetic, specified)
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
		v1alpha1.CauseUnknown: "something unknown",
	}[c]; known {
		return text
	}
	return string(c)
}

// cellsText counts the steps of a ramp, or the cells of a sweep, by what limited them.
func cellsText(steps []v1alpha1.StepResult) string {
	type group struct {
		name  string
		cells int
		most  int64
	}
	var groups []group
	for i := range steps {
		a := steps[i].Attribution
		if a == nil {
			continue
		}
		name := causeText(a.Cause)
		if a.Limit != "" {
			name += " (" + a.Limit + ")"
		}
		at := -1
		for j := range groups {
			if groups[j].name == name {
				at = j
			}
		}
		if at < 0 {
			groups, at = append(groups, group{name: name}), len(groups)
		}
		groups[at].cells++
		groups[at].most = max(groups[at].most, a.PermilleUsed)
	}
	var texts []string
	for _, g := range groups {
		text := measure.FormatCount(g.cells, "step") + " by " + g.name
		if strings.HasSuffix(g.name, ")") {
			text += ", up to " + measure.FormatShare(float64(g.most)/1000) + " used"
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return ""
	}
	return "held back: " + strings.Join(texts, "; ")
}
