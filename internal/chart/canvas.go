package chart

import (
	"html"
	"image"
	"image/color"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// ink is a colour given as a CSS class name; the page's style sheet defines the colour.
type ink string

// RGBA implements color.Color. The canvas writes the class name instead of this value.
func (ink) RGBA() (r, g, b, a uint32) { return 0, 0, 0, 0xffff }

// canvas writes SVG. Its y axis points up, as in gonum's vg package.
type canvas struct {
	strings.Builder
	canvasState
	width, height float64
	stack         []canvasState
}

type canvasState struct {
	lineWidth vg.Length
	dashes    []vg.Length
	class     ink
	at        vg.Point
}

var _ vg.CanvasSizer = (*canvas)(nil)

func newCanvas(size Size) *canvas {
	c := &canvas{width: size.Width, height: size.Height}
	vg.Initialize(c)
	return c
}

func (c *canvas) Size() (x, y vg.Length)              { return vg.Length(c.width), vg.Length(c.height) }
func (c *canvas) SetLineWidth(w vg.Length)            { c.lineWidth = w }
func (c *canvas) Translate(by vg.Point)               { c.at = c.at.Add(by) }
func (c *canvas) Rotate(float64)                      {} // Rotate does nothing, because no chart has rotated labels
func (c *canvas) Scale(float64, float64)              {}
func (c *canvas) DrawImage(vg.Rectangle, image.Image) {}

func (c *canvas) SetLineDash(pattern []vg.Length, _ vg.Length) { c.dashes = pattern }

func (c *canvas) SetColor(of color.Color) {
	c.class = "axis"
	if named, ok := of.(ink); ok {
		c.class = named
	}
}

func (c *canvas) Push() { c.stack = append(c.stack, c.canvasState) }

func (c *canvas) Pop() {
	last := len(c.stack) - 1
	c.canvasState, c.stack = c.stack[last], c.stack[:last]
}

func (c *canvas) Stroke(path vg.Path) {
	if c.lineWidth > 0 {
		c.path(string(c.class)+" stroke", c.d(path))
	}
}

func (c *canvas) Fill(path vg.Path) { c.path(string(c.class)+" fill", c.d(path)) }

func (c *canvas) path(class, d string) {
	c.open("path", "class", class, "d", d)
	c.WriteString("/>")
}

func (c *canvas) FillString(_ font.Face, at vg.Point, text string) {
	c.text(float64(at.X+c.at.X), float64(at.Y+c.at.Y), "", string(c.class), text)
}

// text writes text at a position. anchor is start, middle or end; empty means start.
func (c *canvas) text(x, y float64, anchor, class, text string) {
	attributes := []string{"x", number(x), "y", number(c.height - y), "class", class}
	if anchor != "" {
		attributes = append(attributes, "text-anchor", anchor)
	}
	c.open("text", attributes...)
	c.WriteString(">" + html.EscapeString(text) + "</text>")
}

// open writes the start of a tag: its name and attributes. The caller writes the closing > and the end tag.
func (c *canvas) open(name string, attributes ...string) {
	c.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		c.WriteString(" " + attributes[i] + `="` + html.EscapeString(attributes[i+1]) + `"`)
	}
}

// group calls do, and puts everything that do draws into a <g> element.
func (c *canvas) group(do func(), attributes ...string) {
	c.open("g", attributes...)
	c.WriteString(">")
	do()
	c.WriteString("</g>")
}

// title sets the tooltip of a group.
func (c *canvas) title(text string) { c.WriteString("<title>" + html.EscapeString(text) + "</title>") }

func (c *canvas) d(path vg.Path) string {
	var b strings.Builder
	for _, part := range path {
		x, y := number(float64(part.Pos.X+c.at.X)), number(c.height-float64(part.Pos.Y+c.at.Y))
		switch part.Type {
		case vg.MoveComp:
			b.WriteString("M" + x + " " + y)
		case vg.LineComp:
			b.WriteString("L" + x + " " + y)
		case vg.CloseComp:
			b.WriteString("Z")
		default: // ignore arcs and curves: the charts contain none
		}
	}
	return b.String()
}

// number formats a coordinate, rounded to a tenth of a pixel.
func number(value float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0")
}
