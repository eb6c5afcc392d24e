package report

import "strings"

// part is a piece of a report, independent of the output format: a paragraph, a list under a title, or tables side by
// side under a title. The content is the same in every format.
type part struct {
	text   string
	items  []string
	tables []partTable
}

// partTable is a table. Its first line is the heading, and its first left columns are text. The cells of a matrix can
// be compared by size.
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

// partsOf returns the parts that write produces.
func partsOf(write func(*page)) []part {
	var parts []part
	write(&page{parts: &parts})
	return parts
}

// trimmed removes the spaces that align text.
func trimmed(lines [][]string) [][]string {
	clean := make([][]string, len(lines))
	for i, line := range lines {
		for _, cell := range line {
			clean[i] = append(clean[i], strings.TrimSpace(cell))
		}
	}
	return clean
}
