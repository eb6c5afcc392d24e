package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// letterWidth is the approximate width of a letter in a label, in SVG user units.
const letterWidth = 6.6

type bands []Band

// Named reports whether the band is wide enough for its name in the wide drawing.
func (b *Band) Named(x Axis) bool {
	room := (min(b.End, x.Max) - max(b.Start, x.Min)) / (x.Max - x.Min) * (Wide.Width - 100)
	return letterWidth*float64(len([]rune(b.Name))) <= room-4
}

// Plot draws the bands as two alternating backgrounds and labels each with its name. A band that is too narrow for its
// name is labelled with its number in the page's legend.
func (b bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	to := on(c)
	for i, band := range b {
		left, right := x(max(band.Start, p.X.Min)), x(min(band.End, p.X.Max))
		if right <= left {
			continue
		}
		to.group(func() {
			to.title(band.Name)
			class := ink("ground" + strconv.Itoa(i%2))
			to.SetColor(class)
			to.Fill(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: left, Y: c.Min.Y}}, {Type: vg.LineComp, Pos: vg.Point{X: right, Y: c.Min.Y}},
				{Type: vg.LineComp, Pos: vg.Point{X: right, Y: c.Max.Y}}, {Type: vg.LineComp, Pos: vg.Point{X: left, Y: c.Max.Y}}, {Type: vg.CloseComp}})
			label, room := band.Name, float64(right-left)
			if letterWidth*float64(len([]rune(label))) > room-4 {
				label = strconv.Itoa(i + 1)
			}
			if letterWidth*float64(len(label)) <= room {
				to.text(float64(left+right)/2, float64(c.Max.Y)+5, "middle", "phase", label)
			}
		}, "class", "band", "data-name", band.Name)
	}
}

type levels []Level

func (l levels) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	to := on(c)
	above := math.Inf(1)
	for _, level := range l {
		if level.Y < p.Y.Min || level.Y > p.Y.Max {
			continue
		}
		at := y(level.Y)
		to.group(func() {
			to.title(level.Name)
			to.SetColor(ink("level " + level.Class))
			to.SetLineWidth(1)
			to.Stroke(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: c.Min.X, Y: at}}, {Type: vg.LineComp, Pos: vg.Point{X: c.Max.X, Y: at}}})
			text := float64(at) + 4
			if math.Abs(text-above) < 13 {
				text = float64(at) - 13
			}
			above = text
			to.text(float64(c.Max.X)-4, text, "end", "leveltext halo", level.Name)
		}, "class", "limit", "data-name", level.Name, "data-value", strconv.FormatFloat(level.Y, 'g', -1, 64))
	}
}

type marks []Mark

func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	to := on(c)
	for _, mark := range m {
		if mark.X < p.X.Min || mark.X > p.X.Max {
			continue
		}
		at := x(mark.X)
		to.group(func() {
			to.title(mark.Name)
			to.SetColor(ink("mark " + mark.Class))
			to.SetLineWidth(1)
			to.Stroke(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: at, Y: c.Min.Y}}, {Type: vg.LineComp, Pos: vg.Point{X: at, Y: c.Max.Y}}})
			anchor, beside := "start", 4.0
			if float64(at)+letterWidth*float64(len([]rune(mark.Name)))+8 > float64(c.Max.X) {
				anchor, beside = "end", -4
			}
			to.text(float64(at)+beside, float64(c.Min.Y)+6, anchor, "marktext halo", mark.Name)
		}, "class", "marked", "data-name", mark.Name, "data-value", strconv.FormatFloat(mark.X, 'g', -1, 64))
	}
}

// Plot draws the line's intervals. It connects intervals that follow each other directly, and leaves gaps open.
func (l *Line) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	to := on(c)
	limited := func(value float64) vg.Length { return y(min(max(value, p.Y.Min), p.Y.Max)) }
	pixel := (p.X.Max - p.X.Min) / max(float64(c.Max.X-c.Min.X), 1)
	if _, log := p.X.Scale.(plot.LogScale); log {
		pixel = 0 // do not merge points: on a logarithmic axis, the width of a pixel varies
	}
	points := thin(l.Points, pixel)
	to.group(func() {
		to.title(l.Name)
		if d := envelope(to, points, x, limited); d != "" {
			to.path("envelope", d)
		}
		for _, faint := range []bool{false, true} {
			var d strings.Builder
			end, open := math.NaN(), false
			for _, point := range points {
				if point.Faint != faint {
					open = false
					continue
				}
				left, right, height := number(float64(x(point.Start))), number(max(float64(x(point.End)), float64(x(point.Start))+0.6)), number(to.height-float64(limited(point.Y)))
				if open && point.Start <= end+pixel/4 {
					d.WriteString("V" + height + "H" + right)
				} else {
					d.WriteString("M" + left + " " + height + "H" + right)
				}
				end, open = point.End, true
			}
			if d.Len() > 0 {
				class := "trace"
				if faint {
					class = "trace faint"
				}
				to.path(class, d.String())
			}
		}
	}, "class", styleOf("line", l.Colour, l.Dash), "data-name", l.Name, "data-points", strconv.Itoa(len(points)), "data-measured", strconv.Itoa(len(l.Points)))
}

func styleOf(kind string, colour, dash int) string {
	return fmt.Sprintf("%s c%d d%d", kind, (max(colour, 1)-1)%8+1, dash%4)
}

// envelope returns the path of the bands that extend from the minimum to the maximum of each point.
func envelope(to *canvas, points []Point, x, y func(float64) vg.Length) string {
	var d strings.Builder
	for i := range points {
		if p := &points[i]; p.Low < p.High {
			fmt.Fprintf(&d, "M%s %sH%sV%sH%sZ", number(float64(x(p.Start))), number(to.height-float64(y(p.High))), number(float64(x(p.End))),
				number(to.height-float64(y(p.Low))), number(float64(x(p.Start))))
		}
	}
	return d.String()
}

// thin merges points that share a pixel into one point with their minimum, their maximum and their mean, weighted by
// length. It does not merge points across a gap, or faint points with other points.
func thin(points []Point, pixel float64) []Point {
	var thinned []Point
	weight := 0.0
	for _, one := range points {
		if one.Low >= one.High {
			one.Low, one.High = one.Y, one.Y
		}
		if n := len(thinned) - 1; n >= 0 {
			last := &thinned[n]
			if pixel > 0 && one.End-last.Start <= pixel && one.Faint == last.Faint && one.Start <= last.End+pixel/4 {
				length := one.End - one.Start
				if weight+length > 0 {
					last.Y = (last.Y*weight + one.Y*length) / (weight + length)
				}
				last.End, last.Low, last.High = one.End, min(last.Low, one.Low), max(last.High, one.High)
				weight += length
				continue
			}
		}
		thinned = append(thinned, one)
		weight = one.End - one.Start
	}
	return thinned
}

// Plot draws the curve, with a dot and a confidence interval at each point.
func (l *Curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	to := on(c)
	limited := func(value float64) float64 { return to.height - float64(y(min(max(value, p.Y.Min), p.Y.Max))) }
	to.group(func() {
		to.title(l.Name)
		var d, whiskers strings.Builder
		for i, point := range l.Points {
			at := number(float64(x(point.X)))
			d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + at + " " + number(limited(point.Y)))
			if point.Low < point.High {
				whiskers.WriteString("M" + at + " " + number(limited(point.Low)) + "V" + number(limited(point.High)))
			}
		}
		to.path("trace", d.String())
		if whiskers.Len() > 0 {
			to.path("whisker", whiskers.String())
		}
		for _, point := range l.Points {
			class := "dot"
			if point.Hollow {
				class = "dot hollow"
			}
			to.open("circle", "class", class, "r", "3.5", "cx", number(float64(x(point.X))), "cy", number(limited(point.Y)))
			to.WriteString(">")
			to.title(point.Name)
			to.WriteString("</circle>")
		}
	}, "class", styleOf("line", l.Colour, l.Dash), "data-name", l.Name, "data-points", strconv.Itoa(len(l.Points)))
}

// Plot draws the segment as a thick horizontal line.
func (s *Segment) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	to := on(c)
	to.group(func() {
		to.title(s.Name)
		left, right, at := number(float64(x(max(s.Start, p.X.Min)))), number(float64(x(min(s.End, p.X.Max)))), number(to.height-float64(y(s.Y)))
		to.path("found", "M"+left+" "+at+"H"+right)
	}, "class", "segment", "data-name", s.Name, "data-value", strconv.FormatFloat(s.Y, 'g', -1, 64))
}

type bars []Bar

func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	rows := int(p.Y.Max)
	x, _ := p.Transforms(&c)
	if len(b) == 0 {
		return
	}
	to := on(c)
	height := float64(c.Max.Y-c.Min.Y) / float64(rows)
	for _, one := range b {
		top := float64(c.Max.Y) - float64(one.Row)*height
		left := float64(x(max(one.Start, p.X.Min)))
		width := max(float64(x(min(one.End, p.X.Max)))-left, 1)
		to.group(func() {
			to.title(one.Name)
			to.open("rect", "class", one.Class, "x", number(left), "y", number(to.height-top+height*0.3), "width", number(width), "height", number(height*0.55), "rx", "2")
			to.WriteString("/>")
		}, "class", "bar", "data-name", one.Name)
	}
}
