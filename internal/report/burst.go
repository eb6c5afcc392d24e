package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// bursts writes the results of burst drains and of cooldowns.
func (p *page) bursts(d Document) {
	for _, phase := range d.Phases {
		for i := range phase.Targets {
			target := &phase.Targets[i]
			if target.Cooldown != nil {
				p.WriteString("\n")
				p.line("  ", where(d, phase, target)+": "+cooldownText(target.Cooldown))
			}
			if target.Burst != nil {
				p.burst(where(d, phase, target), target.Burst)
				if why := conclusionOf(d, phase.Name); why != "" {
					p.line("    ", "ended since "+why)
				}
			}
		}
	}
}

// where names the phase, and the target if the run has several.
func where(d Document, phase v1alpha1.PhaseResult, target *v1alpha1.TargetResult) string {
	if manyTargets(d) {
		return phase.Name + "/" + target.Target
	}
	return phase.Name
}

func cooldownText(c *v1alpha1.CooldownResult) string {
	var says []string
	if c.Message == "" {
		says = append(says, "nothing was loaded for "+length(c.IdleNanoseconds))
	} else {
		says = append(says, c.Message)
	}
	if c.CreditPercentAtEnd != nil {
		says = append(says, fmt.Sprintf("the bucket was about %d %% full at the end", *c.CreditPercentAtEnd))
	}
	return strings.Join(says, "; ")
}

func (p *page) burst(where string, burst *v1alpha1.BurstResult) {
	p.WriteString("\n")
	p.line("  ", where+": "+burstTitle(burst))
	p.WriteString("\n")
	lines := [][]string{{"", "BYTES", "95 % INTERVAL", "OPERATIONS", "95 % INTERVAL"}}
	series := [2]*v1alpha1.BurstSeries{burst.Bytes, burst.Operations}
	for i := range series {
		if series[i] == nil {
			series[i] = &v1alpha1.BurstSeries{}
		}
	}
	for _, r := range burstRows(burst) {
		line := []string{r.name}
		shown := false
		for i, s := range series {
			e := r.of(s)
			if r.bytesOnly && i == 1 {
				e = nil
			}
			figure, interval := written(e, r.formats[i])
			line = append(line, figure, interval)
			shown = shown || e != nil
		}
		if shown {
			lines = append(lines, line)
		}
	}
	if from := []string{cmp.Or(series[0].RefillSource, absent), cmp.Or(series[1].RefillSource, absent)}; from[0] != absent || from[1] != absent {
		lines = append(lines, []string{"refill is", strings.ToLower(printable(from[0])), "", strings.ToLower(printable(from[1])), ""})
	}
	p.columns("    ", lines, 1)
	for _, text := range dropTexts(burst) {
		p.line("    ", text)
	}
	if burst.Message != "" {
		p.line("    ", burst.Message)
	}
}

func burstTitle(burst *v1alpha1.BurstResult) string {
	title := "the burst credits"
	if burst.IdleNanoseconds != nil {
		title = "after " + length(*burst.IdleNanoseconds) + " of idling, the burst credits"
	}
	if !burst.Exhausted {
		return title + " did not run out"
	}
	title += map[string]string{"Bytes": " of bytes", "Operations": " of operations"}[burst.Dimension] + " ran out"
	if burst.NanosecondsToBaseline != nil {
		title += " within " + length(burst.NanosecondsToBaseline.Value)
	}
	return title
}

// conclusionOf returns why the phase's last early-ended step was stopped; empty if no step ended early.
func conclusionOf(d Document, phase string) string {
	why := ""
	for _, fact := range d.Steps {
		if fact.Conclusion == "" {
			continue
		}
		at := slices.IndexFunc(d.Spec.Steps, func(s v1alpha1.ResolvedStep) bool { return s.ID == fact.ID })
		if at >= 0 && d.Spec.Steps[at].Phase == phase {
			why = fact.Conclusion
		}
	}
	return why
}

// burstRow is one figure of a drain, for bytes and for operations.
type burstRow struct {
	name      string
	of        func(*v1alpha1.BurstSeries) *v1alpha1.Estimate
	formats   [2]func(int64) string
	bytesOnly bool
}

func burstRows(burst *v1alpha1.BurstResult) []burstRow {
	rates := [2]func(int64) string{rateText, iopsText}
	amounts := [2]func(int64) string{bytesText, operationsText}
	times := [2]func(int64) string{finely, finely}
	alternates := func(s *v1alpha1.BurstSeries, e *v1alpha1.Estimate) *v1alpha1.Estimate {
		if e == nil || s.Burst == nil || e.Value == s.Burst.Value {
			return nil // equal to the burst
		}
		return e
	}
	return []burstRow{
		{name: "burst", of: func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate { return s.Burst }, formats: rates},
		{name: "sustained", of: func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate { return alternates(s, s.Sustained) }, formats: rates},
		{name: "peak", of: func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate { return alternates(s, s.Peak) }, formats: rates},
		{name: "peak of 5 s", bytesOnly: true, formats: rates, of: func(*v1alpha1.BurstSeries) *v1alpha1.Estimate { return exactly(burst.Peak5sBytesPerSecond) }},
		{name: "baseline", of: func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate { return s.Baseline }, formats: rates},
		{name: "time to baseline", bytesOnly: true, formats: times, of: func(*v1alpha1.BurstSeries) *v1alpha1.Estimate { return burst.NanosecondsToBaseline }},
		{name: "spent", formats: amounts, of: func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate {
			if len(s.Drops) == 0 {
				return nil
			}
			return s.Drops[len(s.Drops)-1].Spent
		}},
		{name: "bucket, at least", formats: amounts, of: func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate { return exactly(s.BucketAtLeast) }},
		{name: "refill", formats: rates, of: func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate { return s.Refill }},
	}
}

func exactly(value *int64) *v1alpha1.Estimate {
	if value == nil {
		return nil
	}
	return &v1alpha1.Estimate{Value: *value}
}

// written formats a figure and its interval; the figure is a dash if there is none.
func written(e *v1alpha1.Estimate, format func(int64) string) (figure, interval string) {
	if e == nil {
		return absent, ""
	}
	if e.Lower != nil && e.Upper != nil {
		interval = between(format(*e.Lower), format(*e.Upper))
	}
	return format(e.Value), interval
}

// between formats the ends of an interval, with one unit if both have the same.
func between(lower, upper string) string {
	number, unit, found := strings.Cut(lower, " ")
	if found && strings.HasSuffix(upper, " "+unit) {
		lower = number
	}
	return lower + " to " + upper
}

// dropTexts describes each drop in the series of the dimension whose credits ran out.
func dropTexts(burst *v1alpha1.BurstResult) []string {
	series, operation := phasekind.MainSeries(burst)
	if series == nil {
		return nil
	}
	format := rateText
	if operation == phasekind.InOperations {
		format = iopsText
	}
	var texts []string
	for _, drop := range series.Drops {
		text := "drop after " + length(drop.AtNanoseconds.Value) + " from " + format(drop.Before.Value) + " to " + format(drop.After.Value)
		switch {
		case drop.Cause == "" || drop.Cause == "Unknown":
			text += ", of an unknown cause"
		case drop.Confirmed:
			text += ", by the " + strings.ToLower(drop.Cause) + ", which the documented baseline confirms"
		default:
			text += ", perhaps by the " + strings.ToLower(drop.Cause)
		}
		texts = append(texts, text)
	}
	return texts
}

func rateText(bytesPerSecond int64) string {
	return measure.FormatBytesPerSecond(float64(bytesPerSecond))
}

func iopsText(milli int64) string { return measure.FormatOperationsPerSecond(float64(milli) / 1000) }

func bytesText(bytes int64) string { return measure.FormatBytes(uint64(max(bytes, 0))) }

func operationsText(operations int64) string {
	return strings.TrimSuffix(measure.FormatOperationsPerSecond(float64(operations)), " IOPS")
}

// finely formats a duration to a hundredth of a second.
func finely(nanoseconds int64) string {
	return time.Duration(nanoseconds).Round(10 * time.Millisecond).String()
}

// length formats a duration: to 1 ms below a second, to 100 ms below an hour, else to 1 s.
func length(nanoseconds int64) string {
	unit := 100 * time.Millisecond
	if d := time.Duration(nanoseconds); d >= time.Hour {
		unit = time.Second
	} else if d < time.Second {
		unit = time.Millisecond
	}
	return time.Duration(nanoseconds).Round(unit).String()
}
