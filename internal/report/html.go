package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// These files are embedded in the page, which has no links. Its Content-Security-Policy forbids every request.
var (
	//go:embed page/report.html
	pageTemplate string
	//go:embed page/report.css
	pageStyle string
	//go:embed page/report.js
	pageScript string
)

// htmlPage is the data of the page's template.
type htmlPage struct {
	Title    string
	Kind     string
	Verdicts []badge
	Tiles    []tile
	// Doubts come before all figures, Head after the tiles.
	Doubts   []htmlPart
	Head     []htmlPart
	Sections []section
	Spec     string
	Footer   string
	Policy   string
	Style    template.CSS
	Script   template.JS
}

// badge is a verdict; Class is good, bad or open.
type badge struct{ Text, Class string }

// tile is one of the run's main figures, at the top of the page.
type tile struct{ Name, Value, Note string }

type section struct {
	ID, Title string
	Views     []view
	Parts     []htmlPart
}

// htmlPart is a part prepared for the template.
type htmlPart struct {
	Text   string
	Class  string
	Items  []string
	Tables []htmlTable
	// Grid holds matrices that stand side by side if there is room.
	Grid []htmlPart
}

type htmlTable struct {
	Name, Label string
	Matrix      bool
	Heading     []htmlCell
	Lines       [][]htmlCell
}

// htmlCell is a cell with its CSS class and its sort key.
type htmlCell struct {
	Text, Class, Sort string
	Head              bool
}

// HTML writes a run as one page that opens offline: verdicts and warnings first, then charts and all figures. Names and
// messages appear only as text, never as markup.
func HTML(w io.Writer, d Document) error {
	spec, err := yaml.Marshal(d.Spec.Run)
	if err != nil {
		return fmt.Errorf("write the report: the specification: %w", err)
	}
	made := htmlPage{Title: printable(d.Benchmark), Kind: "Run " + printable(d.Run), Verdicts: badges(d), Tiles: tiles(d), Doubts: htmlParts(doubts(d)), Head: htmlParts(partsOf(func(p *page) {
		p.summary(d)
		p.objectives(d)
		p.list("Notes:", remarksOf(d, v1alpha1.SeverityInfo))
	})), Spec: string(spec),
		Footer: footer(d)}
	for i := range made.Doubts {
		made.Doubts[i].Class = severityClass(made.Doubts[i].Text)
	}
	if len(d.Phases) > 0 && len(remarksOf(d, v1alpha1.SeverityDisqualifying))+len(remarksOf(d, v1alpha1.SeverityWarning)) == 0 {
		made.Doubts = append(made.Doubts, htmlPart{Text: "No warnings."})
	}
	made.Sections = slices.DeleteFunc(sections(d), func(s section) bool { return len(s.Views)+len(s.Parts) == 0 })
	return made.write(w)
}

// severityClass returns the CSS class for a list with that title: one for disqualifying remarks, one for warnings, or
// none.
func severityClass(title string) string {
	switch {
	case strings.HasPrefix(title, "The figures do not measure"):
		return "bad"
	case strings.HasPrefix(title, "Warnings"):
		return "warn"
	}
	return ""
}

func (p *htmlPage) write(w io.Writer) error {
	parsed, err := template.New("report").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	p.Style, p.Script = template.CSS(pageStyle), template.JS(pageScript) //nolint:gosec // They are files of this package.
	p.Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hashOf(pageStyle) + "; script-src " + hashOf(pageScript)
	if err := parsed.Execute(w, p); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// hashOf returns the hash of a text for the Content-Security-Policy, which then allows this text and no other.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func footer(d Document) string {
	text := "Made by storagebench " + printable(d.Version) + ". MB is 10^6 bytes. Throughput and operations per second count what was completed while every client ran, over that time; " +
		"for prepare, everything from the first start to the last end" + ofDrains(d) + ". Latency is from submission to completion, over all all operations of all clients."
	return text + absence(rowsOf(d, 1), byJobs(d))
}

// badges returns whether the run is complete, whether it is valid, and whether it met its objectives.
func badges(d Document) []badge {
	var all []badge
	switch {
	case meta.IsStatusConditionTrue(d.Conditions, v1alpha1.ConditionFailed):
		all = append(all, badge{"Failed", "bad"})
	case meta.IsStatusConditionTrue(d.Conditions, v1alpha1.ConditionComplete):
		all = append(all, badge{"Complete", "good"})
	default:
		all = append(all, badge{"Not finished", "open"})
	}
	add := func(kind, good, bad, open string) {
		found := meta.FindStatusCondition(d.Conditions, kind)
		if found == nil {
			return
		}
		switch found.Status {
		case metav1.ConditionTrue:
			all = append(all, badge{good, "good"})
		case metav1.ConditionFalse:
			all = append(all, badge{bad, "bad"})
		case metav1.ConditionUnknown:
			all = append(all, badge{open, "open"})
		}
	}
	add(v1alpha1.ConditionValid, "Valid", "Not valid", "No result")
	if len(d.Objectives) > 0 {
		add(v1alpha1.ConditionObjectivesMet, "Objectives met", "Objectives missed", "Objectives not judged")
	}
	return all
}

// maxTiles is the number of tiles at the top of the page.
const maxTiles = 6

// tiles returns the first figures of the summary; none if the run has several targets.
func tiles(d Document) []tile {
	if manyTargets(d) {
		return nil
	}
	var all []tile
	for _, phase := range d.Phases {
		for i := range phase.Targets {
			for _, f := range summaryFigures(d, &phase, &phase.Targets[i]) {
				if f.value == absent || len(all) == maxTiles {
					continue
				}
				note := ""
				if f.percent != "" {
					note = f.percent + " of the documented " + f.documented
				}
				value, at, found := strings.Cut(f.value, " at ")
				if found {
					note = "at " + at
				}
				all = append(all, tile{Name: tileName(printable(phase.Name), f.name), Value: value, Note: note})
			}
		}
	}
	return all
}

// tileName returns the phase's and the figure's name, or only the figure's if it begins with the phase's name.
func tileName(phase, figure string) string {
	if strings.HasPrefix(figure, phase) {
		return figure
	}
	return phase + ": " + figure
}

func sections(d Document) []section {
	all := []section{
		{ID: "over-time", Title: "Over time", Views: slices.Concat(rates(d), latencies(d))},
		{ID: "bursts", Title: "Burst and baseline", Views: drains(d), Parts: htmlParts(partsOf(func(p *page) { p.bursts(d) }))},
		{ID: "figures", Title: "Figures", Parts: htmlParts(partsOf(func(p *page) { p.operations(d); p.jobs(d); p.commands(d) }))},
		{ID: "distributions", Title: "Latency distribution", Views: distributions(d)},
		{ID: "ramps", Title: "Ramps", Views: rampCharts(d), Parts: htmlParts(partsOf(func(p *page) { p.ramps(d) }))},
		{ID: "searches", Title: "Searches", Parts: htmlParts(partsOf(func(p *page) { p.searches(d) }))},
		{ID: "sweeps", Title: "Sweeps", Parts: htmlParts(partsOf(func(p *page) { p.sweeps(d) }))},
		{ID: "comparison", Title: "Comparison of targets", Parts: htmlParts(partsOf(func(p *page) { p.comparisons(d) }))},
		{ID: "clients", Title: "Clients", Views: clientCharts(d)},
		{ID: "documented", Title: "Documented and measured", Parts: htmlParts(partsOf(func(p *page) { p.promises(d) }))},
		{ID: "space", Title: "Space", Parts: htmlParts(partsOf(func(p *page) { p.spaces(d) }))},
		{ID: "timeline", Title: "Timeline", Parts: htmlParts(partsOf(func(p *page) { p.timeline(d) }))},
		{ID: "environment", Title: "Environment", Parts: htmlParts(partsOf(func(p *page) { p.environment(d); p.storage(d); p.losses(d) }))},
	}
	if made, ok := timelineChart(d); ok {
		all[slices.IndexFunc(all, func(s section) bool { return s.ID == "timeline" })].Views = []view{made}
	}
	if d.Series.Empty() && len(d.Phases) > 0 {
		all[0].Parts = []htmlPart{{Text: "The record of a run has no data over time. Create the report from a file written by " +
			"`run -o json`, or from the run in its cluster while its series are kept."}}
	}
	return all
}

func htmlParts(parts []part) []htmlPart {
	var all []htmlPart
	for _, one := range parts {
		made := htmlPart{Text: one.text, Items: one.items}
		matrix := len(one.tables) > 0 && one.tables[0].matrix
		if matrix && scaleOf(one.tables).empty() {
			continue
		}
		for _, table := range one.tables {
			made.Tables = append(made.Tables, htmlTableOf(one.text, table, one.tables))
		}
		if !matrix {
			all = append(all, made)
			continue
		}
		if n := len(all) - 1; n < 0 || len(all[n].Grid) == 0 {
			all = append(all, htmlPart{})
		}
		last := &all[len(all)-1]
		last.Grid = append(last.Grid, made)
	}
	return all
}

func htmlTableOf(title string, t partTable, beside []partTable) htmlTable {
	made := htmlTable{Name: t.name, Matrix: t.matrix, Label: strings.TrimSpace(strings.Join([]string{title, t.name}, " "))}
	if made.Label == "" {
		made.Label = "Figures"
	}
	numeric := numericColumns(t)
	scale := heatScale{}
	if t.matrix {
		scale = scaleOf(beside)
	}
	for i, line := range t.lines {
		var cells []htmlCell
		for column, text := range line {
			if column == 0 && text == "" && i > 1 && !t.matrix {
				text = made.Lines[i-2][0].Text // repeated because the reader can sort the rows
			}
			cell := htmlCell{Text: text, Head: t.matrix && column == 0}
			if numeric[column] {
				cell.Class = "number"
			}
			if value, ok := magnitude(text); ok {
				cell.Sort = fmt.Sprintf("%g", value)
				if t.matrix && column >= t.left && i > 0 {
					cell.Class = "number " + scale.class(value)
				}
			}
			cells = append(cells, cell)
		}
		if i == 0 {
			made.Heading = cells
			continue
		}
		made.Lines = append(made.Lines, cells)
	}
	return made
}

// numericColumns reports which columns hold figures.
func numericColumns(t partTable) []bool {
	numeric := make([]bool, len(t.lines[0]))
	for _, line := range t.lines[1:] {
		for column := t.left; column < len(line); column++ {
			_, is := magnitude(line[column])
			numeric[column] = numeric[column] || is || line[column] == absent
		}
	}
	return numeric
}

// heatScale is the range of values in matrices that stand side by side.
type heatScale struct{ least, most float64 }

func scaleOf(tables []partTable) heatScale {
	scale := heatScale{math.Inf(1), math.Inf(-1)}
	for _, t := range tables {
		for _, line := range t.lines[1:] {
			for _, text := range line[t.left:] {
				if value, ok := magnitude(text); ok {
					scale.least, scale.most = min(scale.least, value), max(scale.most, value)
				}
			}
		}
	}
	return scale
}

// empty reports whether the matrices have no figure at all.
func (s heatScale) empty() bool { return s.least > s.most }

// class returns the shade of a value, one of ten from h0 to h9; h0 if all values are equal.
func (s heatScale) class(value float64) string {
	if !(s.most > s.least) {
		return "h0"
	}
	return fmt.Sprintf("h%d", int(min(9, math.Floor(10*(value-s.least)/(s.most-s.least)))))
}
