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

// The template, the styles and the script of the page. They are embedded into each page, because a page must be
// self-contained: its Content-Security-Policy forbids all requests.
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
	// Lead holds the paragraphs before the first section.
	Lead     []string
	Sections []htmlSection
	Spec     string
	Footer   string
	Policy   string
	Style    template.CSS
	Script   template.JS
}

// badge shows a verdict on the run. Class is good, bad or open.
type badge struct{ Text, Class string }

// htmlSection is a section prepared for the template.
type htmlSection struct {
	section
	Parts []htmlPart
}

// htmlPart holds a part of a section in the form that the template needs.
type htmlPart struct {
	Text   string
	Class  string
	Items  []string
	Tables []htmlTable
	// Grid holds matrices that are placed side by side if there is room.
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

// HTML writes a run as one page that opens offline. It contains everything in the text, in the same order, plus charts.
// Names and messages appear only as text, never as markup.
func HTML(w io.Writer, d Document) error {
	spec, err := yaml.Marshal(d.Spec.Run)
	if err != nil {
		return fmt.Errorf("write the report: encode the specification: %w", err)
	}
	made := htmlPage{Title: printable(d.Benchmark), Kind: "Run " + printable(d.Run), Verdicts: badges(d), Spec: string(spec),
		Footer: "Made by storagebench " + printable(d.Version) + "."}
	for _, text := range lead(d) {
		made.Lead = append(made.Lead, printable(text))
	}
	made.Sections = htmlSections(sectionsOf(d))
	return made.write(w)
}

func htmlSections(all []section) []htmlSection {
	made := make([]htmlSection, len(all))
	for i, s := range all {
		made[i] = htmlSection{section: s, Parts: htmlParts(s.parts, s.Class)}
	}
	return made
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

// hashOf returns the hash of a text in the format of the Content-Security-Policy, which allows only texts whose hashes
// it lists.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// badges returns the verdicts on the run: whether it completed, whether it is valid, whether it met its objectives, and
// how many warnings it has.
func badges(d Document) []badge {
	var all []badge
	switch failed := failure(d); {
	case failed != nil && v1alpha1.IsCancellation(failed.Reason):
		all = append(all, badge{"Cancelled", "bad"})
	case failed != nil:
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
	for _, words := range checks(d)[1:] {
		all = append(all, badge{strings.ToUpper(words[:1]) + words[1:], "open"})
	}
	return all
}

func htmlParts(parts []part, class string) []htmlPart {
	var all []htmlPart
	for _, one := range parts {
		made := htmlPart{Text: strings.Join(wordsOf(one.text), " "), Class: class}
		for _, entry := range one.items {
			made.Items = append(made.Items, printable(entry.String()))
		}
		matrix := len(one.tables) > 0 && one.tables[0].matrix
		if matrix && scaleOf(one.tables, allColumns).empty() {
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
	t.lines = trimmed(t.lines)
	made := htmlTable{Name: t.name, Matrix: t.matrix, Label: strings.TrimSpace(strings.Join([]string{title, t.name}, " "))}
	if made.Label == "" {
		made.Label = "Figures"
	}
	numeric := numericColumns(t)
	scales := make([]heatScale, len(t.lines[0]))
	switch {
	case t.mixed:
		for column := range scales {
			scales[column] = scaleOf(beside, column)
		}
	case t.matrix:
		scales = slices.Repeat([]heatScale{scaleOf(beside, allColumns)}, len(scales))
	}
	for i, line := range t.lines {
		var cells []htmlCell
		for column, text := range line {
			if column == 0 && text == "" && i > 1 && !t.matrix {
				// Repeat the name of the row above, because the reader can sort the rows.
				text = made.Lines[i-2][0].Text
			}
			cell := htmlCell{Text: text, Head: t.matrix && column == 0}
			if numeric[column] {
				cell.Class = "number"
			}
			if value, ok := magnitude(text); ok {
				cell.Sort = fmt.Sprintf("%g", value)
				if t.matrix && column >= t.left && i > 0 {
					cell.Class = "number " + scales[column].class(value)
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

// numericColumns reports for each column whether it holds figures.
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

// heatScale is the range of values in matrices that are shown side by side.
type heatScale struct{ least, most float64 }

// allColumns stands for all columns of a matrix.
const allColumns = -1

// scaleOf returns the range of the values in one column of the matrices, or in all columns.
func scaleOf(tables []partTable, only int) heatScale {
	scale := heatScale{math.Inf(1), math.Inf(-1)}
	for _, t := range tables {
		for _, line := range t.lines[1:] {
			for column := t.left; column < len(line); column++ {
				if value, ok := magnitude(line[column]); ok && (only == allColumns || only == column) {
					scale.least, scale.most = min(scale.least, value), max(scale.most, value)
				}
			}
		}
	}
	return scale
}

// empty reports whether the matrices have no figures.
func (s heatScale) empty() bool { return s.least > s.most }

// class returns the CSS class for the shade of a value, from h0 to h9. It is h0 if all values are equal.
func (s heatScale) class(value float64) string {
	if !(s.most > s.least) {
		return "h0"
	}
	return fmt.Sprintf("h%d", int(min(9, math.Floor(10*(value-s.least)/(s.most-s.least)))))
}
