package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// comparedPair names a target and its baseline: the first target of the phase, with which it is compared.
type comparedPair struct{ target, baseline string }

// comparedPairs lists the targets that are compared in at least one phase, in the order of their first occurrence in
// the phases.
func comparedPairs(d Document) []comparedPair {
	var pairs []comparedPair
	for _, phase := range d.Phases {
		for _, one := range compare.Targets(&d.Spec.Run, &phase) {
			if pair := (comparedPair{one.Target, one.Baseline}); !slices.Contains(pairs, pair) {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// comparison writes how the figures of a target differ from those of its baseline. It does not list the cells of ramps
// and sweeps, which have their own tables.
func (p *page) comparison(d Document, of comparedPair) {
	table := partTable{left: 2}
	lines := [][]string{{"PHASE", "FIGURE", "DIFFERENCE", "95 % INTERVAL", "BETTER"}}
	var says remarks
	for _, phase := range d.Phases {
		for _, one := range compare.Targets(&d.Spec.Run, &phase) {
			if (comparedPair{one.Target, one.Baseline}) != of {
				continue
			}
			main := phasekind.Of(phase.Kind).Figures(&phase.Targets[0])
			for i := range one.Figures {
				f := &one.Figures[i]
				known := phasekind.Find(main, f.Figure, f.Operation)
				if known == nil || !known.Main ||
					f.Figure == v1alpha1.FigureCompressionRatio && toldBefore(d, &phase, phase.Target(of.target)) {
					table.detailRows = append(table.detailRows, len(lines))
				}
				row := comparisonRow(phase.Name, &one, f)
				// Omit the columns with the two targets' own figures, because other tables show them.
				lines = append(lines, slices.Delete(row, 2, 4))
			}
			// For only two targets, the matrices already show in how many cells each target is faster.
			if one.Cells != nil && len(phase.Targets) > 2 {
				pair := compare.Pair{Kind: phase.Kind, Baseline: &phase.Targets[0], Target: phase.Target(of.target)}
				says.add(phase.Name, countText(&pair))
			}
			if one.Invalid != "" {
				says.add(phase.Name, "not compared with "+one.Baseline+": "+one.Invalid)
			}
			for _, note := range one.Notes {
				says.add(phase.Name, note)
			}
		}
	}
	if len(lines) == 1 && len(says) == 0 {
		return
	}
	if len(lines) > 1 {
		table.lines = leftLast(withoutEmptyColumns(lines, 2))
		p.take(part{tables: []partTable{table}})
	}
	for _, sentence := range says.sentences() {
		p.line(sentence)
	}
	if len(lines) > 1 {
		p.detailed = true
		p.line("The interval is the 95 % confidence interval of the difference within this run; another run can differ by more. " +
			"\"-\" means not evaluated: the figure has no interval.")
	}
}

// remarks is a list of remarks without duplicates. Each remark has the names of the phases, targets or rates that it
// applies to.
type remarks []struct {
	text  string
	about []string
}

func (r *remarks) add(about, text string) {
	for i := range *r {
		if (*r)[i].text == text {
			(*r)[i].about = append((*r)[i].about, about)
			return
		}
	}
	*r = append(*r, struct {
		text  string
		about []string
	}{text, []string{about}})
}

// sentences returns each text once, preceded by the names of the phases, targets or rates that it applies to.
func (r remarks) sentences() []string {
	var all []string
	for _, one := range r {
		all = append(all, strings.Join(one.about, ", ")+": "+one.text)
	}
	return all
}

// Texts shown if neither side is known to be better. They do not say that both sides are equal: an interval of the
// difference that contains 0 can still be wide, so only an equivalence test can show equality.
const (
	notShown     = "not shown"
	noDifference = "no difference"
)

func comparisonRow(phase string, of *v1alpha1.TargetComparison, one *v1alpha1.FigureComparison) []string {
	interval := ""
	if one.LowerPermille != nil && one.UpperPermille != nil && *one.LowerPermille < *one.UpperPermille {
		interval = strings.TrimSuffix(permilleText(*one.LowerPermille), " %") + " to " + permilleText(*one.UpperPermille)
	}
	better := absent
	switch one.Verdict {
	case v1alpha1.FigureTargetBetter:
		better = printable(of.Target)
	case v1alpha1.FigureBaselineBetter:
		better = printable(of.Baseline)
	case v1alpha1.FigureNoDifference:
		better = notShown
	case v1alpha1.FigureNotJudged:
	}
	return []string{printable(phase), figureText(one), figureValue(one.Figure, one.Operation, one.Baseline), figureValue(one.Figure, one.Operation, one.Target),
		permilleText(one.DifferencePermille), interval, better}
}

var figureNames = map[v1alpha1.FigureName]string{
	v1alpha1.FigureThroughput: "throughput", v1alpha1.FigureIOPS: "IOPS", v1alpha1.FigureMeanLatency: "mean latency",
	v1alpha1.FigureP50Latency: "p50 latency", v1alpha1.FigureP95Latency: "p95 latency", v1alpha1.FigureP99Latency: "p99 latency",
	v1alpha1.FigureP999Latency: "p99.9 latency", v1alpha1.FigureBurst: "burst", v1alpha1.FigureSustained: "sustained", v1alpha1.FigurePeak: "peak",
	v1alpha1.FigureBaseline: "baseline", v1alpha1.FigureTimeToBaseline: "time to baseline", v1alpha1.FigureSpent: "credits spent",
	v1alpha1.FigureRefill: "refill", v1alpha1.FigureRate: "", v1alpha1.FigureDuration: "duration", v1alpha1.FigureCompressionRatio: "compression ratio",
}

func figureText(one *v1alpha1.FigureComparison) string {
	name, known := figureNames[one.Figure]
	if !known {
		name = string(one.Figure)
	}
	if one.Operation == "operations" {
		return name
	}
	return printable(strings.TrimSpace(one.Operation + " " + name))
}

// figureValue formats a figure in its unit.
func figureValue(figure v1alpha1.FigureName, operation string, value int64) string {
	switch figure {
	case v1alpha1.FigureIOPS, v1alpha1.FigureRate:
		return iopsOf(float64(value) / 1000)
	case v1alpha1.FigureMeanLatency, v1alpha1.FigureP50Latency, v1alpha1.FigureP95Latency, v1alpha1.FigureP99Latency, v1alpha1.FigureP999Latency:
		return measure.FormatLatency(uint64(max(value, 0)))
	case v1alpha1.FigureTimeToBaseline:
		return finely(value)
	case v1alpha1.FigureDuration:
		return length(value)
	case v1alpha1.FigureCompressionRatio:
		return measure.FormatRatio(value)
	case v1alpha1.FigureSpent:
		if operation == "operations" {
			return operationsText(value)
		}
		return bytesText(value)
	default:
	}
	if operation == "operations" {
		return iopsText(value)
	}
	return rateText(value)
}

// permilleText formats a difference in thousandths as a signed percentage, with one decimal below 100 %. It shortens
// larger differences to ">+10000 %": the upper end of an interval from a few noisy samples can be millions of times the
// figure, and its digits are meaningless.
func permilleText(permille int64) string {
	const most = 100_000
	if permille > most {
		return fmt.Sprintf(">%+d %%", most/10)
	}
	if permille > -1000 && permille < 1000 {
		return fmt.Sprintf("%+.1f %%", float64(permille)/10)
	}
	return fmt.Sprintf("%+d %%", permille/10)
}
