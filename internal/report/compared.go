package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/measure"
)

// Comparison compares several runs, or targets of runs, with the first one.
type Comparison struct {
	SchemaVersion int `json:"schemaVersion"`
	// MarginPercent is the largest difference, in percent, at which two figures count as the same.
	MarginPercent float64          `json:"marginPercent"`
	Sides         []ComparedSide   `json:"sides"`
	Comparisons   []RunsComparison `json:"comparisons"`
}

// ComparedSide identifies a run, or one target of it, in a comparison.
type ComparedSide struct {
	Name      string            `json:"name"`
	Benchmark string            `json:"benchmark"`
	Run       string            `json:"run"`
	Target    string            `json:"target,omitempty"`
	Hash      string            `json:"hash"`
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`
	Verdict   string            `json:"verdict"`
}

// RunsComparison compares one run, or one target of a run, with the baseline, which is the first run or target.
type RunsComparison struct {
	Baseline string `json:"baseline"`
	Other    string `json:"other"`
	// SameSpec is true if both runs had the same specification and the same profile contents. Otherwise SpecDiffers lists
	// the differences.
	SameSpec    bool                      `json:"sameSpec"`
	SpecDiffers []compare.FieldDifference `json:"specDiffers,omitempty"`
	// Surroundings lists the differences outside the specifications: tools, kernels, machines, storage.
	Surroundings []compare.FieldDifference `json:"surroundings,omitempty"`
	Notes        []string                  `json:"notes,omitempty"`
	Phases       []compare.RunPhase        `json:"phases"`
	// Equivalent is true if both runs are complete, all phases and cells could be compared, and every figure that can be
	// tested is the same within the margin. It is false if any figure is shown to differ by more than the margin, and
	// null otherwise.
	Equivalent *bool `json:"equivalent"`
}

// Compared is one side of a comparison: a document, or one target of it.
type Compared struct {
	Name, Target string
	Document     Document
}

// Compare compares all documents with the first one. It returns an error with the reasons if no phase can be compared.
func Compare(all []Compared, marginPercent float64) (Comparison, error) {
	if len(all) < 2 {
		return Comparison{}, errors.New("nothing to compare: specify two or more runs, or one run with several targets")
	}
	if !(marginPercent > 0 && marginPercent <= 100) {
		return Comparison{}, fmt.Errorf("the margin of %g %% is out of range: must be above 0 and at most 100", marginPercent)
	}
	made := Comparison{SchemaVersion: SchemaVersion, MarginPercent: marginPercent}
	for i := range all {
		d := &all[i].Document
		if all[i].Target != "" && !slices.Contains(targetNames(*d), all[i].Target) {
			return Comparison{}, fmt.Errorf("run %s has no result for target %q: specify one of %s", d.Run, all[i].Target, strings.Join(targetNames(*d), ", "))
		}
		made.Sides = append(made.Sides, ComparedSide{Name: all[i].Name, Benchmark: d.Benchmark, Run: d.Run, Target: all[i].Target, Hash: d.Spec.Hash,
			StartTime: d.StartTime, Verdict: Verdict(*d)})
	}
	var refused []string
	for i := 1; i < len(all); i++ {
		one, err := compareRuns(all[0], all[i], marginPercent/100)
		if err != nil {
			return Comparison{}, err
		}
		made.Comparisons = append(made.Comparisons, one)
		for _, phase := range one.Phases {
			if phase.Refused != "" {
				refused = append(refused, "phase "+phase.Phase+": "+phase.Refused)
			}
		}
	}
	if !slices.ContainsFunc(made.Comparisons, func(c RunsComparison) bool {
		return slices.ContainsFunc(c.Phases, func(p compare.RunPhase) bool { return p.Refused == "" })
	}) {
		if len(refused) == 0 {
			refused = []string{"no figure in common"}
		}
		return Comparison{}, fmt.Errorf("%s and %s cannot be compared:\n  %s", all[0].Name, all[1].Name, strings.Join(refused, "\n  "))
	}
	return made, nil
}

func compareRuns(a, b Compared, margin float64) (RunsComparison, error) {
	left, right := side(&a), side(&b)
	if left.ID == right.ID && (a.Target == b.Target || a.Target == "" || b.Target == "") {
		return RunsComparison{}, fmt.Errorf("%s and %s are the same run: specify two different runs, or two targets of one",
			a.Name, b.Name)
	}
	made := RunsComparison{Baseline: a.Name, Other: b.Name, Phases: compare.Runs(left, right, margin)}
	if left.ID != right.ID {
		made.SameSpec = a.Document.Spec.Hash == b.Document.Spec.Hash &&
			len(compare.WorkloadDifferences(&a.Document.Spec.Run, &b.Document.Spec.Run)) == 0
		if !made.SameSpec {
			made.SpecDiffers = compare.Differences(a.Document.Spec.Run, b.Document.Spec.Run)
		}
		made.Surroundings = compare.EnvironmentDifferences(&a.Document.BenchmarkRunStatus, &b.Document.BenchmarkRunStatus)
	} else {
		made.SameSpec = true
	}
	made.Equivalent = equivalent(made.Phases)
	for _, one := range []*Compared{&a, &b} {
		if meta.IsStatusConditionTrue(one.Document.Conditions, v1alpha1.ConditionComplete) {
			continue
		}
		if made.Equivalent != nil && *made.Equivalent {
			made.Equivalent = nil // equivalence is not proven, because the figures that were not measured may differ
		}
		if failed := failure(one.Document); failed != nil {
			made.Notes = append(made.Notes,
				one.Name+" failed ("+failed.Reason+"): only the figures measured before the failure are compared")
		} else {
			made.Notes = append(made.Notes, one.Name+" has not finished: only the figures measured so far are compared")
		}
	}
	return made, nil
}

func side(c *Compared) compare.Side {
	id := c.Document.RunUID
	if id == "" {
		id = c.Document.Namespace + "/" + c.Document.Run
	}
	return compare.Side{Name: c.Name, Target: c.Target, Run: &c.Document.Spec.Run, Status: &c.Document.BenchmarkRunStatus, ID: id}
}

// equivalent computes RunsComparison.Equivalent for complete runs from all figures that can be tested.
func equivalent(phases []compare.RunPhase) *bool {
	yes, no, some := true, false, false
	add := func(refused string, figures []compare.Figure) {
		if refused != "" {
			yes = false // equivalence is not proven, because the figures that were not compared may differ
		}
		for _, f := range figures {
			switch f.Equivalence {
			case compare.Equivalent:
				some = true
			case compare.NotEquivalent:
				no = true
			case compare.Inconclusive:
				yes = false
			case compare.NotTested:
			}
		}
	}
	for _, phase := range phases {
		add(phase.Refused, phase.Figures)
		for _, cell := range phase.Cells {
			add(cell.Refused, cell.Figures)
		}
	}
	switch {
	case no:
		return new(false)
	case yes && some:
		return &yes
	}
	return nil
}

// CompareJSON writes a comparison as JSON.
func CompareJSON(w io.Writer, c Comparison) error {
	return writeJSON(w, "the comparison", c)
}

// CompareText writes a comparison as text for a terminal.
func CompareText(w io.Writer, c Comparison, all []Compared) error {
	t := &terminal{}
	for _, s := range c.sections(all) {
		t.section(s)
	}
	return writeText(w, "the comparison", strings.TrimLeft(t.String(), "\n"))
}

// CompareMarkdown writes a comparison as Markdown for a pull request.
func CompareMarkdown(w io.Writer, c Comparison, all []Compared) error {
	m := &markdown{}
	m.line("### " + inMarkdown(c.title()))
	for _, s := range c.sections(all) {
		m.section(s)
	}
	return writeText(w, "the comparison", m.String())
}

// CompareHTML writes a comparison as one HTML page that opens offline.
func CompareHTML(w io.Writer, c Comparison, all []Compared) error {
	made := htmlPage{Title: printable(c.title()), Kind: "Comparison", Footer: "Made by storagebench. MB is 10^6 bytes.", Sections: htmlSections(c.sections(all))}
	for i := range c.Comparisons {
		made.Verdicts = append(made.Verdicts, equivalenceBadge(c, &c.Comparisons[i]))
	}
	return made.write(w)
}

// sections returns the content of a comparison: a section that lists the compared runs, then one section for each side
// after the first.
func (c *Comparison) sections(all []Compared) []section {
	made := []section{{ID: "compared", Title: "Compared", parts: partsOf(func(p *page) { p.sides(c) })}}
	for i := range c.Comparisons {
		one := &c.Comparisons[i]
		made = append(made, section{ID: fmt.Sprintf("%s%d", comparisonID, i), named: true, Title: printable(one.Other + " beside " + one.Baseline),
			parts: partsOf(func(p *page) { p.comparedWith(c, one, all[0].Document) })})
	}
	return made
}

func equivalenceBadge(c Comparison, one *RunsComparison) badge {
	name := ""
	if len(c.Comparisons) > 1 {
		name = printable(one.Other) + ": "
	}
	switch {
	case one.Equivalent == nil:
		return badge{fmt.Sprintf("%snot shown to be equivalent within %g %%", name, c.MarginPercent), "open"}
	case *one.Equivalent:
		return badge{fmt.Sprintf("%sequivalent within %g %%", name, c.MarginPercent), "good"}
	}
	return badge{fmt.Sprintf("%sdiffers by more than %g %%", name, c.MarginPercent), "bad"}
}

func (c *Comparison) title() string {
	var names []string
	for _, s := range c.Sides {
		names = append(names, s.Name)
	}
	return strings.Join(names, " and ")
}

// sides writes the table of compared runs.
func (p *page) sides(c *Comparison) {
	lines := [][]string{{"NAME", "RUN", "STARTED", "VERDICT"}}
	for _, s := range c.Sides {
		started := absent
		if s.StartTime != nil {
			started = s.StartTime.UTC().Format(time.DateTime)
		}
		lines = append(lines, []string{printable(s.Name), printable(s.Run), started, s.Verdict})
	}
	p.columns(leftLast(lines), 4)
}

// comparedWith writes the comparison of one run, or one target of a run, with the baseline.
func (p *page) comparedWith(c *Comparison, one *RunsComparison, baseline Document) {
	p.line(p.answer(c, one))
	p.differs("The specifications differ, which can explain a difference:", one, one.SpecDiffers)
	if !one.SameSpec && len(one.SpecDiffers) == 0 {
		p.line("The specifications have different hashes, but the recorded runs do not show the difference.")
	}
	p.differs("Other differences:", one, one.Surroundings)
	p.list("Note:", one.Notes)
	p.comparedFigures(c, one)
	for i := range one.Phases {
		phase := &one.Phases[i]
		spec := baseline.Spec.Run.Phase(phase.Phase)
		switch {
		case phase.Pair == nil || spec == nil:
		case spec.Sweep != nil && cells(axesOf(spec.Sweep.Axes)) <= maxCells:
			p.sweepPair(phaseAndTargets(phase), spec.Sweep, phase.Pair)
		case spec.Ramp != nil:
			p.rampPair(phaseAndTargets(phase), spec.Ramp, phase.Pair)
		}
	}
}

// answer states whether two sides are equivalent, and which figures differ.
func (p *page) answer(c *Comparison, one *RunsComparison) string {
	switch {
	case one.Equivalent == nil:
		return fmt.Sprintf("inconclusive: the difference may be smaller or larger than %g %%", c.MarginPercent)
	case *one.Equivalent:
		return fmt.Sprintf("equivalent within %g %% in every figure that has an interval", c.MarginPercent)
	}
	var names []string
	for _, phase := range one.Phases {
		for i := range phase.Figures {
			if phase.Figures[i].Equivalence == compare.NotEquivalent {
				names = append(names, phase.Phase+" "+figureText(&phase.Figures[i].FigureComparison))
			}
		}
		cells := 0
		for _, cell := range phase.Cells {
			if slices.ContainsFunc(cell.Figures, func(f compare.Figure) bool { return f.Equivalence == compare.NotEquivalent }) {
				cells++
			}
		}
		if cells > 0 {
			names = append(names, fmt.Sprintf("%s in %d of %d cells", phase.Phase, cells, len(phase.Cells)))
		}
	}
	return fmt.Sprintf("difference of more than %g %% in %s", c.MarginPercent, strings.Join(names, ", "))
}

// maxUnlikeTold is the maximum number of differing fields that the text lists. The JSON lists all of them.
const maxUnlikeTold = 12

func (p *page) differs(title string, one *RunsComparison, fields []compare.FieldDifference) {
	if len(fields) == 0 {
		return
	}
	var items []string
	for _, f := range fields[:min(len(fields), maxUnlikeTold)] {
		items = append(items, fmt.Sprintf("%s: %s and %s", f.Field, f.Baseline, f.Other))
	}
	if more := len(fields) - maxUnlikeTold; more > 0 {
		items = append(items, measure.FormatCount(more, "more field")+", see -o json")
	}
	p.list(title+" ("+one.Baseline+" and "+one.Other+")", items)
}

func phaseAndTargets(phase *compare.RunPhase) string {
	if phase.BaselineTarget == phase.Target {
		return phase.Phase + ", target " + phase.Target
	}
	return phase.Phase
}

func (p *page) comparedFigures(c *Comparison, one *RunsComparison) {
	lines := [][]string{{"PHASE", "TARGET", "FIGURE", printable(one.Baseline), printable(one.Other), "DIFFERENCE", "95 % INTERVAL", fmt.Sprintf("WITHIN %g %%", c.MarginPercent), "BETTER"}}
	names := &v1alpha1.TargetComparison{Baseline: one.Baseline, Target: one.Other}
	var refused, notes remarks
	for _, phase := range one.Phases {
		target := printable(phase.BaselineTarget)
		if phase.Target != phase.BaselineTarget && phase.Target != "" {
			target += " and " + printable(phase.Target)
		}
		for i := range phase.Figures {
			row := comparisonRow(phase.Phase, names, &phase.Figures[i].FigureComparison)
			if row[6] == notShown && phase.Figures[i].Equivalence == compare.Equivalent {
				row[6] = noDifference
			}
			lines = append(lines, []string{row[0], target, row[1], row[2], row[3], row[4], row[5], equivalenceText(phase.Figures[i].Equivalence), row[6]})
		}
		if phase.Refused != "" {
			refused.add(strings.TrimSuffix(phase.Phase+"/"+cmp.Or(phase.BaselineTarget, phase.Target), "/"), phase.Refused)
		}
		for _, note := range phase.Notes {
			notes.add(phase.Phase, note)
		}
	}
	if len(lines) > 1 {
		p.gap()
		p.columns(leftLast(lines), 3)
		p.gap()
		p.line("The interval is the 95 % confidence interval of the difference within these runs; another run can differ by more. \"-\" means unknown. " +
			fmt.Sprintf("Within %g %%: yes if two one-sided tests, each at the 5 %% level, show that the difference is no larger; no if the whole interval lies outside ±%g %%; otherwise unclear.", c.MarginPercent, c.MarginPercent))
	}
	p.list("Not compared:", refused.sentences())
	p.list("Notes:", notes.sentences())
}

func equivalenceText(e compare.Equivalence) string {
	switch e {
	case compare.Equivalent:
		return "yes"
	case compare.NotEquivalent:
		return "no"
	case compare.Inconclusive:
		return "unclear"
	case compare.NotTested:
	}
	return absent
}
