package report

import "strings"

// part is a piece of a report without a form: a paragraph, a list under its title, or tables beside each other under
// theirs. What is said is the same in every form.
type part struct {
	text   string
	items  []string
	tables []partTable
}

// partTable is a table; its first line is the heading, its first left columns are text. The cells of a matrix can be
// compared by their size.
type partTable struct {
	name   string
	lines  [][]string
	left   int
	matrix bool
}

func (p *page) take(one part) {
	if one.text == "" && len(one.items) == 0 && len(one.tables) == 0 {
		return
	}
	*p.parts = append(*p.parts, one)
}

// partsOf is what a piece of the text says.
func partsOf(write func(*page)) []part {
	var parts []part
	write(&page{parts: &parts})
	return parts
}

// trimmed is without the blanks that align text.
func trimmed(lines [][]string) [][]string {
	clean := make([][]string, len(lines))
	for i, line := range lines {
		for _, cell := range line {
			clean[i] = append(clean[i], strings.TrimSpace(cell))
		}
	}
	return clean
}
