package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// bursts describes the outcome of each drain and cooldown.
func (p *page) bursts(d Document, phases []v1alpha1.PhaseResult) {
	for phase, target := range v1alpha1.TargetResults(phases) {
		name := where(d, phase, target)
		if burst := target.Burst; burst != nil && !burst.Exhausted {
			p.line(name + ": " + burstTitle(burst) + bucketText(burst))
		}
		if burst := target.Burst; burst != nil && burst.ObservedCreditPercentAtStart != nil {
			p.line(fmt.Sprintf("%s: at the start, the bucket was %d %% full according to the store", name, *burst.ObservedCreditPercentAtStart))
		}
		p.details(func() {
			var texts []string
			if target.Cooldown != nil {
				texts = append(texts, cooldownText(target.Cooldown))
			}
			if target.Burst != nil {
				texts = append(texts, burstTexts(d, phase.Name, target)...)
			}
			p.list(name+":", texts)
		})
	}
}

func cooldownText(c *v1alpha1.CooldownResult) string {
	var says []string
	if c.Message == "" {
		says = append(says, "no load for "+length(c.IdleNanoseconds))
	} else {
		says = append(says, c.Message)
	}
	if c.CreditPercentAtEnd != nil {
		says = append(says, fmt.Sprintf("the bucket was about %d %% full at the end", *c.CreditPercentAtEnd))
	}
	return strings.Join(says, "; ")
}

// burstTexts describes a drain: which credits ran out, the drops, the result's message, and why the drain ended early.
func burstTexts(d Document, phase string, target *v1alpha1.TargetResult) []string {
	burst := target.Burst
	var texts []string
	if burst.Exhausted {
		texts = append(texts, burstTitle(burst))
	}
	texts = append(texts, dropTexts(burst)...)
	if burst.Message != "" {
		texts = append(texts, burst.Message)
	}
	if why := conclusionOf(d, phase, target.Target); why != "" {
		texts = append(texts, "ended early: "+why)
	}
	return texts
}

func burstTitle(burst *v1alpha1.BurstResult) string {
	title := "the burst credits"
	if burst.IdleNanoseconds != nil {
		title = "after " + length(*burst.IdleNanoseconds) + " without load, the burst credits"
	}
	if !burst.Exhausted {
		return title + " did not run out"
	}
	return title + map[string]string{"Bytes": " of bytes", "Operations": " of operations"}[burst.Dimension] + " ran out"
}

// bucketText states the lower bound on the bucket size if a drain did not empty the bucket. It returns "" if there is
// no such bound.
func bucketText(burst *v1alpha1.BurstResult) string {
	series, operation := phasekind.MainSeries(burst)
	if series == nil || series.BucketAtLeast == nil {
		return ""
	}
	return ": there were at least " + figureValue(v1alpha1.FigureSpent, operation, *series.BucketAtLeast)
}

// conclusionOf returns the reason why a step of the phase on a target ended early, or "" if none ended early. If
// several steps ended early, it returns the reason of the last one.
func conclusionOf(d Document, phase, target string) string {
	why := ""
	for _, fact := range d.Steps {
		step := resolvedStep(d, fact.ID)
		if fact.Conclusion != "" && step.Phase == phase && slices.Contains(step.Targets, target) {
			why = fact.Conclusion
		}
	}
	return why
}

// dropTexts describes each drop of the rate, in bytes or in operations, depending on which credits ran out. For a
// single drop, it omits the rates before and after, because these are the burst and the baseline, which the report
// shows separately.
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
		text := "drop after " + length(drop.AtNanoseconds.Value)
		if len(series.Drops) > 1 {
			text += " from " + format(drop.Before.Value) + " to " + format(drop.After.Value)
		}
		switch {
		case drop.Cause == "" || drop.Cause == "Unknown":
			text += ", cause unknown"
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
	return iopsOf(float64(operations))
}

// finely formats a duration, rounded to a hundredth of a second.
func finely(nanoseconds int64) string {
	return time.Duration(nanoseconds).Round(10 * time.Millisecond).String()
}

// length formats a duration, rounded to 1 ms below a second, to 100 ms below an hour, and otherwise to 1 s.
func length(nanoseconds int64) string {
	unit := 100 * time.Millisecond
	if d := time.Duration(nanoseconds); d >= time.Hour {
		unit = time.Second
	} else if d < time.Second {
		unit = time.Millisecond
	}
	return time.Duration(nanoseconds).Round(unit).String()
}
