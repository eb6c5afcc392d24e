package report

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Bounds of what is told of one target or one rate; the rest is in the JSON.
const (
	maxLimitsTold   = 8
	maxMissingTold  = 3
	maxSuspectsTold = 4
	maxReasonsTold  = 3
)

// onBaseline and farAbove are, in thousandths of the documented baseline, up to where a rate is on it and from where on it
// is a burst.
const onBaseline, farAbove = 1050, 1250

// promises say what is documented of the targets, how much of it was reached, and what held the rates back.
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
	p.list("What is documented of the storage:", about)
	p.list("What was reached of it, and what held the rate back:", rates)
}

// documentedTexts are the limits of a target, and what is not known.
func documentedTexts(s *v1alpha1.StorageDescription) []string {
	var all []string
	var limits []string
	for i := range s.Limits {
		l := &s.Limits[i]
		if len(limits) == maxLimitsTold {
			limits = append(limits, plural(len(s.Limits)-maxLimitsTold, "more limit"))
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
			text += ", in a burst " + format(*l.Burst) + " (for how long is not published)"
		default:
			text += ", in a burst " + format(*l.Burst)
		}
		if l.Overridden {
			text += " (not the operator's own figure)"
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

// reachedText is how a rate compares with what is documented.
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
	default: // of a rate that is plainly one of the two, the other says nothing
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

// heldText names the causes, the likeliest first, and why the first one.
func heldText(a *v1alpha1.Attribution) string {
	if len(a.Suspects) == 0 {
		return "what held it back is not known"
	}
	first := &a.Suspects[0]
	if first.Cause == v1alpha1.CauseUnknown {
		text := "what held it back is not known: " + strings.Join(reasons(first, 0), "; ")
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
		skipped = 1 // it tells the share, which is told already
	}
	if why := reasons(first, skipped); len(why) > 0 {
		text += "; " + strings.Join(why, "; ")
	}
	return text
}

// others are the suspects behind the first, tied with it or not.
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

// figureTold reports whether the rate is compared with the suspect's limit already, so that its figure was told.
func figureTold(a *v1alpha1.Attribution, s *v1alpha1.Suspect) bool {
	of := a.Baseline
	if s.Burst {
		of = a.Burst
	}
	return of != nil && of.Limit == s.Limit && a.Level != v1alpha1.LevelBurst == !s.Burst
}

// suspectText is a cause with its limit, and the limit's figure where that was not told.
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

// specified is behind the figure of a limit that the specification states.
const specified = ", as the specification says"

// sums is the arithmetic of a limit where there is any: a figure alone was told.
func sums(arithmetic string) string {
	arithmetic = strings.TrimSuffix(arithmetic, specified)
	if !strings.ContainsAny(arithmetic, "=x;") {
		return ""
	}
	return arithmetic
}

// causeText is a cause in words.
func causeText(c v1alpha1.Cause) string {
	if text, known := map[v1alpha1.Cause]string{
		v1alpha1.CauseDisk: "the disks", v1alpha1.CauseNetwork: "the server's network", v1alpha1.CauseFlow: "a single connection",
		v1alpha1.CauseInstance: "the client's machine", v1alpha1.CauseCredits: "spent credits", v1alpha1.CauseServerCache: "the server's cache",
		v1alpha1.CauseClientCPU: "the client's CPU", v1alpha1.CauseQueueDepth: "too few operations at a time", v1alpha1.CauseTool: "the tool or its rate limit",
		v1alpha1.CauseUnknown: "something unknown",
	}[c]; known {
		return text
	}
	return string(c)
}

// cellsText counts what held the steps of a ramp or the cells of a sweep back.
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
		text := plural(g.cells, "step") + " by " + g.name
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
