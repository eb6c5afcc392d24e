package chart

import (
	"html"
	"html/template"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Size of a drawing, in pixels of its own; text is 12 of them high.
type Size struct{ Width, Height float64 }

// The sizes that a page shows one of, by its width.
var (
	Wide   = Size{Width: 880, Height: 280}
	Narrow = Size{Width: 360, Height: 260}
)

// Figure is what a chart shows.
type Figure struct {
	// ID is unique in the page, and a word.
	ID string
	// Title, and Text, which says in words what the chart shows: it is all that some readers have.
	Title, Text string
	X, Y        Axis
	// Bands are behind everything, in order of X.
	Bands []Band
	// Levels are horizontal lines across the chart, Marks vertical ones.
	Levels []Level
	Marks  []Mark
	// Lines are of intervals, Curves through points.
	Lines  []Line
	Curves []Curve
	// Segments are thick horizontal pieces.
	Segments []Segment
	// Bars are horizontal bars in rows, of which there are Rows; the chart is as high as they need.
	Bars []Bar
	Rows int
}

// Axis is one axis. Ticks are where it has labels.
type Axis struct {
	Min, Max float64
	Log      bool
	Ticks    []Tick
}

// Tick is a labelled place on an axis.
type Tick struct {
	Value float64
	Label string
}

// Band is a stretch of X, such as a phase.
type Band struct {
	Name       string
	Start, End float64
}

// Level is a line at a height, such as a documented limit.
type Level struct {
	Name, Class string
	Y           float64
}

// Mark is a line at a place, such as a knee.
type Mark struct {
	Name, Class string
	X           float64
}

// Line is what was measured in intervals, in order of X. Colour is from 1 on; Dash is 0 for a solid line.
type Line struct {
	Name         string
	Colour, Dash int
	Points       []Point
}

// Point is the mean of an interval. Where Low is below High it is drawn with that band. Faint points are of a warm-up or a
// transition: what was measured in them is in no figure.
type Point struct {
	Start, End, Y, Low, High float64
	Faint                    bool
}

// Curve goes through points.
type Curve struct {
	Name         string
	Colour, Dash int
	Points       []CurvePoint
}

// CurvePoint is a place of a curve; Low and High are the ends of its interval, equal where there is none. Hollow is one
// whose figures are not valid.
type CurvePoint struct {
	X, Y, Low, High float64
	Hollow          bool
	Name            string
}

// Segment is a level that was found in a stretch of X, with the interval of the level.
type Segment struct {
	Name                     string
	Start, End, Y, Low, High float64
}

// Bar is a horizontal bar in a row, which counts from the top.
type Bar struct {
	Name, Class string
	Row         int
	Start, End  float64
}

// SVG draws the figure once for each of the two sizes, with classes wide and narrow, of which the page shows one.
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

// aside is how far a drawing is moved to the right, so that charts under each other begin at one place.
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
	// Add widens the axes to what plotters say of their data; ours say nothing.
	return p
}

// ticker gives the labels of an axis, of which a narrow drawing has every other one.
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

// on is the canvas that a plotter draws on.
func on(c draw.Canvas) *canvas {
	at := c.Canvas
	for {
		cropped, ok := at.(draw.Canvas)
		if !ok {
			return at.(*canvas) //nolint:forcetypeassert // A Figure is drawn on no other one.
		}
		at = cropped.Canvas
	}
}

// grid are faint lines at the labels of the y axis.
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
