package chart

import (
	"html"
	"html/template"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Size is the size of a drawing in SVG user units; text is 12 units high.
type Size struct{ Width, Height float64 }

// Wide and Narrow are the sizes in which SVG draws each chart. The page shows one of the drawings, depending on the
// width of the page.
var (
	Wide   = Size{Width: 880, Height: 280}
	Narrow = Size{Width: 360, Height: 260}
)

// Figure is the content of a chart.
type Figure struct {
	// ID is a single word, unique within the page.
	ID string
	// Title is the chart's title. Text describes the chart for readers who cannot see it.
	Title, Text string
	X, Y        Axis
	// Bands are drawn behind everything else. They are ordered by X.
	Bands []Band
	// Levels are horizontal lines across the chart; Marks are vertical lines.
	Levels []Level
	Marks  []Mark
	// Lines are drawn from measured intervals, and Curves connect individual points.
	Lines  []Line
	Curves []Curve
	// Segments are thick horizontal lines over part of the chart.
	Segments []Segment
	// Bars are horizontal bars, which are drawn in rows. Rows is the number of rows; it determines the height of the
	// chart.
	Bars []Bar
	Rows int
}

// Axis is one axis with its labels.
type Axis struct {
	Min, Max float64
	Log      bool
	Ticks    []Tick
}

// Tick is a labelled value on an axis.
type Tick struct {
	Value float64
	Label string
}

// Band is a range of X, such as a phase.
type Band struct {
	Name       string
	Start, End float64
}

// Level is a horizontal line, such as a documented limit.
type Level struct {
	Name, Class string
	Y           float64
}

// Mark is a vertical line, such as a knee.
type Mark struct {
	Name, Class string
	X           float64
}

// Line is a series of measured intervals, ordered by X. Colour is the number of the line's colour in the page's
// palette, counted from 1. Dash is the number of its dash pattern; 0 is a solid line.
type Line struct {
	Name         string
	Colour, Dash int
	Points       []Point
}

// Point is the mean of an interval. If Low is below High, it is drawn with a band between them. Faint points belong
// to a warm-up or a transition; figures do not include them.
type Point struct {
	Start, End, Y, Low, High float64
	Faint                    bool
}

// Curve is a line through points.
type Curve struct {
	Name         string
	Colour, Dash int
	Points       []CurvePoint
}

// CurvePoint is a point of a curve. Low and High are the ends of its confidence interval; they are equal if there is
// none. Hollow marks a point whose figures are not valid.
type CurvePoint struct {
	X, Y, Low, High float64
	Hollow          bool
	Name            string
}

// Segment is a period of a drain, from Start to End, in which the analysis found no lasting change in the rate. Y is
// the mean rate.
type Segment struct {
	Name          string
	Start, End, Y float64
}

// Bar is a horizontal bar in a row; rows are numbered from the top.
type Bar struct {
	Name, Class string
	Row         int
	Start, End  float64
}

// SVG draws the figure in both sizes, with the classes wide and narrow; the page shows one of them.
func (f *Figure) SVG() template.HTML {
	return template.HTML(f.draw(Wide, "wide") + f.draw(Narrow, "narrow")) //nolint:gosec // All text in it was escaped by the canvas.
}

func (f *Figure) draw(size Size, class string) string {
	if f.Rows > 0 {
		size.Height = 40 + 26*float64(f.Rows)
	}
	c := newCanvas(size)
	id := f.ID + "-" + class
	c.open("svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", "0 0 "+number(size.Width)+" "+number(size.Height), "role", "img",
		"class", "chart "+class, "data-chart", f.ID, "aria-labelledby", id+"-t", "aria-describedby", id+"-d")
	c.WriteString(`><title id="` + id + `-t">` + html.EscapeString(f.Title) + `</title><desc id="` + id + `-d">` + html.EscapeString(f.Text) + `</desc>`)
	p := f.plot(class == "narrow")
	p.Draw(draw.Crop(draw.New(c), 2+f.aside(p, class == "narrow"), -12, 4, -18))
	c.WriteString("</svg>")
	return c.String()
}

// aside returns the distance by which a drawing is shifted to the right to align the plots of vertically stacked charts.
func (f *Figure) aside(p *plot.Plot, narrow bool) vg.Length {
	room := vg.Length(80)
	if narrow {
		room = 62
	}
	widest := vg.Length(0)
	for _, tick := range f.Y.Ticks {
		if tick.Value >= f.Y.Min && tick.Value <= f.Y.Max {
			widest = max(widest, p.Y.Tick.Label.Width(tick.Label))
		}
	}
	return max(room-widest, 0)
}

func (f *Figure) plot(narrow bool) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = f.X.Min, f.X.Max, f.Y.Min, f.Y.Max
	for axis, of := range map[*plot.Axis]*Axis{&p.X: &f.X, &p.Y: &f.Y} {
		axis.LineStyle.Color, axis.Tick.LineStyle.Color, axis.Tick.Label.Color = ink("axis"), ink("axis"), ink("label")
		axis.LineStyle.Width, axis.Tick.LineStyle.Width, axis.Padding = 1, 1, 0
		axis.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 12}
		axis.Tick.Marker = ticker{of, narrow && axis == &p.X}
		axis.Tick.Length = 4
		if of.Log {
			axis.Scale = plot.LogScale{}
		}
	}
	p.Y.LineStyle.Width = 0
	p.Y.Tick.LineStyle.Width = 0
	p.Add(grid{}, bands(f.Bands), bars(f.Bars))
	for i := range f.Lines {
		p.Add(&f.Lines[i])
	}
	for i := range f.Segments {
		p.Add(&f.Segments[i])
	}
	p.Add(levels(f.Levels), marks(f.Marks))
	for i := range f.Curves {
		p.Add(&f.Curves[i])
	}
	// p.Add extends the axes only for plotters that report a data range. The plotters of this package do not, so the
	// axes keep their bounds.
	return p
}

// ticker supplies the labels of an axis. If thin is true and the axis has more than five labels, ticker omits every
// other label.
type ticker struct {
	axis *Axis
	thin bool
}

func (t ticker) Ticks(_, _ float64) []plot.Tick {
	var all []plot.Tick
	for i, tick := range t.axis.Ticks {
		if tick.Value < t.axis.Min || tick.Value > t.axis.Max {
			continue
		}
		label := tick.Label
		if t.thin && len(t.axis.Ticks) > 5 && i%2 == 1 {
			label = ""
		}
		all = append(all, plot.Tick{Value: tick.Value, Label: label})
	}
	return all
}

// on returns this package's canvas, which gonum has wrapped in one or more draw.Canvas values.
func on(c draw.Canvas) *canvas {
	at := c.Canvas
	for {
		cropped, ok := at.(draw.Canvas)
		if !ok {
			return at.(*canvas) //nolint:forcetypeassert // A Figure is drawn only on this canvas type.
		}
		at = cropped.Canvas
	}
}

// grid draws faint lines at the labels of the y axis.
type grid struct{}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	to := on(c)
	to.SetColor(ink("grid"))
	to.SetLineWidth(1)
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		to.Stroke(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: c.Min.X, Y: y(tick.Value)}}, {Type: vg.LineComp, Pos: vg.Point{X: c.Max.X, Y: y(tick.Value)}}})
	}
}
