package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is the column at which text wraps. In a table wider than maxTableWidth, the names at the start of a row move to
// a separate line.
const width, maxTableWidth = 100, 110

// terminal builds text for a terminal. It replaces unprintable characters, because messages quote the output of tools,
// which can contain anything.
type terminal struct {
	strings.Builder
}

// section writes a section. If the section begins with a table, the title becomes the heading of the first column. A
// title that contains names stays above the table, because headings are in capitals, which would change the names.
func (t *terminal) section(s section) {
	if len(s.parts) == 0 {
		return
	}
	t.WriteString("\n")
	title := s.Title
	if first := s.parts[0]; title != "" && (s.named || len(first.tables) != 1 || first.text != "" || first.nested) {
		t.line("  ", title)
		title = ""
	}
	for i, one := range s.parts {
		if one.spaced && i > 0 {
			t.WriteString("\n")
		}
		t.part(one, title)
		title = ""
	}
}

func (t *terminal) part(one part, title string) {
	indent := "  "
	if one.nested {
		indent = "    "
	}
	if one.text != "" {
		t.line(indent, one.text)
	}
	for _, entry := range one.items {
		t.line(indent, "- "+entry.String())
	}
	if len(one.tables) == 2 && t.beside(one.tables) {
		return
	}
	for _, table := range one.tables {
		if table.name != "" {
			t.line(indent, table.name+":")
		}
		t.table(indent, table, title)
	}
}

// line writes a paragraph; lines after the first are indented by two more columns.
func (t *terminal) line(indent, text string) {
	at := 0
	for i, word := range wordsOf(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			t.WriteString(indent)
			at = len(indent)
		case at+1+length > width:
			t.WriteString("\n" + indent + "  ")
			at = len(indent) + 2
		default:
			t.WriteString(" ")
			at++
		}
		t.WriteString(word)
		at += length
	}
	t.WriteString("\n")
}

// table writes a table. If it is too wide, all name columns except the last move to separate lines.
func (t *terminal) table(indent string, table partTable, title string) {
	lines := slices.Clone(table.lines)
	if title != "" {
		lines[0] = append([]string{strings.ToUpper(title)}, lines[0][1:]...)
	}
	names := table.left - 1
	if names < 1 || len(indent)+sum(widthsOf(lines)) <= maxTableWidth {
		t.aligned(indent, lines, table.left)
		return
	}
	figures := make([][]string, len(lines))
	for i, line := range lines {
		figures[i] = line[names:]
	}
	var aligned terminal
	aligned.aligned(indent+"  ", figures, 1)
	written := slices.Collect(strings.Lines(aligned.String()))
	if title != "" {
		t.line(indent, strings.ToUpper(title))
	}
	t.WriteString(written[0])
	for i, line := range lines[1:] {
		if i == 0 || !slices.Equal(line[:names], lines[i][:names]) {
			t.WriteString(indent + strings.Join(line[:names], ", ") + "\n")
		}
		t.WriteString(written[i+1])
	}
}

// gutter is the number of spaces between two columns.
const gutter = 2

// aligned writes lines of cells: the first `left` columns are left-aligned, the others right-aligned.
func (t *terminal) aligned(indent string, lines [][]string, left int) {
	widths := widthsOf(lines)
	for _, line := range lines {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range line {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", gutter))
			}
			fill := strings.Repeat(" ", widths[i]-gutter-utf8.RuneCountInString(cell))
			if i < left {
				b.WriteString(cell + fill)
			} else {
				b.WriteString(fill + cell)
			}
		}
		t.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}

// widthsOf returns the width of each column, including the gutter to its right.
func widthsOf(lines [][]string) []int {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+gutter)
		}
	}
	return widths
}

func sum(numbers []int) int {
	all := 0
	for _, n := range numbers {
		all += n
	}
	return all
}

// beside writes two tables with the same row names side by side, each below the name of the table. If they do not fit,
// it writes nothing and returns false.
func (t *terminal) beside(tables []partTable) bool {
	const indent, between = 4, 2 // between is the extra space between the two tables, in addition to the gutter
	lines := slices.Clone(tables[0].lines)
	first := len(lines[0]) // first is the index of the first column of the second table
	for i := range lines {
		lines[i] = slices.Concat(lines[i], tables[1].lines[i][1:])
	}
	widths := widthsOf(lines)
	start, second := indent+widths[0], indent+sum(widths[:first])+between
	if indent+sum(widths)+between-gutter > width || second-between-start < utf8.RuneCountInString(tables[0].name)+gutter {
		return false
	}
	for i := range lines {
		lines[i][first] = strings.Repeat(" ", between) + fmt.Sprintf("%*s", widths[first]-gutter, lines[i][first])
	}
	apart := second - start - utf8.RuneCountInString(tables[0].name)
	t.WriteString(strings.Repeat(" ", start) + tables[0].name + strings.Repeat(" ", apart) + tables[1].name + "\n")
	t.aligned(strings.Repeat(" ", indent), lines, 1)
	return true
}

// units lists units that a line break must not separate from their number.
var units = []string{"B", "kB", "MB", "GB", "TB", "PB", "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "IOPS", "bytes", "ns", "us", "ms", "s", "%", "CPUs", "clients"}

func wordsOf(text string) []string {
	var words []string
	for _, word := range strings.Fields(printable(text)) {
		last := len(words) - 1
		if last >= 0 && slices.Contains(units, strings.TrimRight(word, ".,;:)")) && strings.ContainsAny(words[last][len(words[last])-1:], "0123456789") {
			words[last] += " " + word
			continue
		}
		words = append(words, word)
	}
	return words
}

// printable replaces characters that a terminal would interpret: white space with a blank, others with U+FFFD.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
