package report

import (
	"fmt"
	"slices"
	"strings"
)

// section is a part of a report with a title. Text, Markdown and HTML render the same sections in the same order.
type section struct {
	ID, Title string
	// named is true if the title contains names of targets or runs, which must not be written in capitals; see
	// terminal.section.
	named bool
	// Class is "bad" for the section that lists the reasons not to use the figures, "warn" for warnings, and otherwise
	// empty.
	Class string
	// Views are the charts of the HTML page. Text shows only one chart: throughput over time.
	Views []view
	parts []part
}

// part is an element of a section: a paragraph, a list, or tables side by side. For a list or tables, text is the title.
type part struct {
	text   string
	items  []item
	tables []partTable
	// nested is true if text output indents the part. spaced is true if a blank line precedes it.
	nested, spaced bool
	// detail is true if the short form omits the part.
	detail bool
}

// item is an entry of a list. like holds further sentences of the entry, such as other messages of the same warning
// type.
type item struct {
	text string
	like []string
}

// partTable is a table. Its first line is the heading, and its first `left` columns are text. If matrix is true, the
// table shows the steps of a sweep or ramp. In HTML, such a table is shaded by value and cannot be sorted.
type partTable struct {
	name   string
	lines  [][]string
	left   int
	matrix bool
	// mixed is true if the columns of a matrix show different figures. The shading then compares values only within a
	// column.
	mixed bool
	// detailRows are the indexes of the lines, and detailColumns the headings of the columns, that the short form
	// leaves out.
	detailRows    []int
	detailColumns []string
}

// String returns all sentences of the entry.
func (i item) String() string { return strings.Join(append([]string{i.text}, i.like...), "; ") }

// maxLike is the maximum length of item.like in the short form. If there are more sentences, the last element states
// how many are omitted.
const maxLike = 2

func (i item) short() item {
	if len(i.like) <= maxLike {
		return i
	}
	more := fmt.Sprintf("%d more like this", len(i.like)-maxLike+1)
	return item{text: i.text, like: append(slices.Clone(i.like[:maxLike-1]), more)}
}

// short returns the section without its details.
func (s section) short() section {
	var kept []part
	for _, one := range s.parts {
		if one.detail {
			continue
		}
		one.items = slices.Clone(one.items)
		for i := range one.items {
			one.items[i] = one.items[i].short()
		}
		var tables []partTable
		for _, t := range one.tables {
			if t = t.short(); len(t.lines) > 1 {
				tables = append(tables, t)
			}
		}
		if len(one.tables) > 0 && len(tables) == 0 {
			continue
		}
		one.tables = tables
		kept = append(kept, one)
	}
	s.parts = kept
	return s
}

// hasDetails reports whether the short form leaves anything out.
func (s section) hasDetails() bool {
	return slices.ContainsFunc(s.parts, func(p part) bool {
		return p.detail || slices.ContainsFunc(p.items, func(i item) bool { return len(i.like) > maxLike }) ||
			slices.ContainsFunc(p.tables, func(t partTable) bool { return len(t.detailRows)+len(t.detailColumns) > 0 })
	})
}

func (t partTable) short() partTable {
	var lines [][]string
	for i, line := range t.lines {
		if slices.Contains(t.detailRows, i) {
			continue
		}
		var cells []string
		for column, cell := range line {
			if !slices.Contains(t.detailColumns, t.lines[0][column]) {
				cells = append(cells, cell)
			}
		}
		lines = append(lines, cells)
	}
	if len(t.detailRows)+len(t.detailColumns) > 0 {
		lines = withoutEmptyColumns(lines, t.left)
	}
	t.lines, t.detailRows, t.detailColumns = lines, nil, nil
	return t
}

// withoutEmptyColumns removes columns that have only a heading. It always keeps the first `left` columns.
func withoutEmptyColumns(lines [][]string, left int) [][]string {
	kept := make([][]string, len(lines))
	for column := range lines[0] {
		if column >= left && !slices.ContainsFunc(lines[1:], func(line []string) bool {
			return line[column] != "" && line[column] != absent
		}) {
			continue
		}
		for i, line := range lines {
			kept[i] = append(kept[i], line[column])
		}
	}
	return kept
}

// trimmed removes the spaces that align cells in text output.
func trimmed(lines [][]string) [][]string {
	clean := make([][]string, len(lines))
	for i, line := range lines {
		for _, cell := range line {
			clean[i] = append(clean[i], strings.TrimSpace(cell))
		}
	}
	return clean
}

// page collects the parts of a section.
type page struct {
	parts []part
	// If detailed is true, all parts that are added count as details. If spaced is true, a blank line precedes the next
	// part.
	detailed, spaced bool
}

// partsOf calls write and returns the parts that it added.
func partsOf(write func(*page)) []part {
	p := &page{}
	write(p)
	return p.parts
}

func (p *page) take(one part) {
	if one.text == "" && len(one.items) == 0 && len(one.tables) == 0 {
		return
	}
	one.detail, one.spaced = one.detail || p.detailed, one.spaced || p.spaced
	p.spaced = false
	p.parts = append(p.parts, one)
}

// details calls write and marks the parts that it adds as details.
func (p *page) details(write func()) {
	before := p.detailed
	p.detailed = true
	write()
	p.detailed = before
}

// gap puts a blank line before the next part.
func (p *page) gap() { p.spaced = true }

// line adds a paragraph.
func (p *page) line(text string) { p.take(part{text: text}) }

// nested adds a paragraph that is indented in text output.
func (p *page) nested(text string) { p.take(part{text: text, nested: true}) }

// columns adds a table: the first `left` columns are left-aligned, the others right-aligned.
func (p *page) columns(lines [][]string, left int) {
	p.take(part{tables: []partTable{{lines: lines, left: left}}})
}

// nestedColumns adds a table that is indented in text output.
func (p *page) nestedColumns(lines [][]string, left int) {
	p.take(part{tables: []partTable{{lines: lines, left: left}}, nested: true})
}

// list adds a list with a title, or nothing if it has no entries.
func (p *page) list(title string, texts []string) {
	var items []item
	for _, text := range texts {
		items = append(items, item{text: text})
	}
	p.items(title, items)
}

func (p *page) items(title string, items []item) {
	if len(items) > 0 {
		p.take(part{text: title, items: items, spaced: title != ""})
	}
}
