package chart

import (
	"math"
	"strings"
	"unicode/utf8"
)

// shades are the characters of a text chart, from empty to full height; asciiShades are their ASCII equivalents.
var (
	shades      = []rune(" ▁▂▃▄▅▆▇█")
	asciiShades = []rune(" ._-=+*%#")
)

// maxTall is the maximum number of lines in a figure for which TextRows draws each line with the requested number of
// rows. If there are more lines, TextRows draws each in a single row.
const maxTall = 2

// TextRows draws the figure's lines as text, at most columns wide. The lines are drawn one below the other, with a
// common scale that starts at 0. A column shows the mean over the time that it covers, or is blank if nothing was
// measured. Below the chart are the names of the bands and the labels of the X axis.
func (f *Figure) TextRows(columns, rows int, ascii bool) []string {
	if len(f.Lines) > maxTall {
		rows = 1
	}
	signs := shades
	if ascii {
		signs = asciiShades
	}
	gutter, names := 0, 0
	for _, tick := range f.Y.Ticks {
		gutter = max(gutter, utf8.RuneCountInString(tick.Label)+1)
	}
	if len(f.Lines) > 1 {
		for _, line := range f.Lines {
			names = max(names, utf8.RuneCountInString(line.Name)+1)
		}
	}
	plot := columns - gutter - names
	if plot < 1 || rows < 1 {
		return nil
	}
	var drawn []string
	for _, line := range f.Lines {
		means := line.means(f.X, plot)
		for row := range rows {
			text := padded(f.Y.labelIn(rows-1-row, rows), gutter) + column(means, f.Y.Max, rows-1-row, rows, signs)
			if row == 0 && len(f.Lines) > 1 {
				text += " " + line.Name
			}
			drawn = append(drawn, strings.TrimRight(text, " "))
		}
	}
	bands, ticks := strip{width: plot}, strip{width: plot}
	for i, band := range f.Bands {
		end := plot
		if i+1 < len(f.Bands) {
			end = f.X.columnOf(f.Bands[i+1].Start, plot) - 1
		}
		bands.put(band.Name, f.X.columnOf(band.Start, plot), end)
	}
	for _, tick := range f.X.Ticks {
		at := f.X.columnOf(tick.Value, plot)
		// Omit a label that does not fit: if shortened, it would show a different time.
		if end := at + utf8.RuneCountInString(tick.Label); end <= plot {
			ticks.put(tick.Label, at, end)
		}
	}
	for _, one := range []strip{bands, ticks} {
		if len(one.text) > 0 {
			drawn = append(drawn, strings.Repeat(" ", gutter)+string(one.text))
		}
	}
	return drawn
}

// means returns the mean of the line over each column. It is NaN for a column in which nothing was measured.
func (l *Line) means(x Axis, columns int) []float64 {
	width := (x.Max - x.Min) / float64(columns)
	sums, times := make([]float64, columns), make([]float64, columns)
	for _, p := range l.Points {
		for at := x.columnOf(p.Start, columns); at < columns; at++ {
			from, to := x.Min+float64(at)*width, x.Min+float64(at+1)*width
			if time := min(to, p.End) - max(from, p.Start); time > 0 {
				sums[at] += p.Y * time
				times[at] += time
			}
			if to >= p.End {
				break
			}
		}
	}
	for i := range sums {
		// A column without measurements becomes NaN, because 0 is divided by 0.
		sums[i] /= times[i]
	}
	return sums
}

// columnOf returns the column of a value, or the nearest column if the value is outside the axis.
func (a Axis) columnOf(value float64, columns int) int {
	at := (value - a.Min) / (a.Max - a.Min) * float64(columns)
	// An axis of zero length yields NaN, for which !(at > 0) is true.
	if !(at > 0) {
		return 0
	}
	return int(min(at, float64(columns-1)))
}

// labelIn returns the label of the highest tick in a row of text. Rows are counted from the bottom.
func (a Axis) labelIn(row, rows int) string {
	label := ""
	for _, tick := range a.Ticks {
		if min(int(tick.Value/a.Max*float64(rows)), rows-1) == row {
			label = tick.Label
		}
	}
	return label
}

// column draws one row of text of a plotted line, with one character for each mean. row is the number of the row,
// counted from the bottom. top is the value at the upper edge of the highest row.
func column(means []float64, top float64, row, rows int, signs []rune) string {
	full := len(signs) - 1
	drawn := make([]rune, len(means))
	for i, mean := range means {
		height := 0
		if mean > 0 && top > 0 && !math.IsNaN(mean) {
			height = int(min(math.Round(mean/top*float64(rows*full)), float64(rows*full)))
			height = max(height, 1) - row*full
		}
		drawn[i] = signs[min(max(height, 0), full)]
	}
	return string(drawn)
}

// strip is a line of labels that do not overlap.
type strip struct {
	text  []rune
	width int
}

// put writes a label between two columns, shortened to fit. It omits a label that overlaps the previous one or has
// too little space. Labels must be added from left to right.
func (s *strip) put(label string, from, to int) {
	runes := []rune(label)
	to = min(to, s.width)
	if len(s.text) > 0 && from <= len(s.text) || to-from < min(len(runes), 3) {
		return
	}
	runes = runes[:min(len(runes), to-from)]
	s.text = append(append(s.text, []rune(strings.Repeat(" ", from-len(s.text)))...), runes...)
}

func padded(label string, width int) string {
	return strings.Repeat(" ", width-1-utf8.RuneCountInString(label)) + label + " "
}
