package live

import (
	"cmp"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// bars are the characters of a sparkline, from empty to full height; plainBars are their ASCII equivalents.
var (
	bars      = []rune(" ▁▂▃▄▅▆▇█")
	plainBars = []rune(" ._-=+*%#")
)

// ratesOf divides the time that the points cover into equal parts, and returns the mean rate per second in each part.
// It uses at most the given number of parts, and fewer if there are too few points. The points are running totals, so
// the rates include all I/O between two points.
func ratesOf(points []v1alpha1.LivePoint, total func(v1alpha1.LivePoint) int64, parts int) []float64 {
	if parts = min(parts, len(points)-1); parts < 1 {
		return nil
	}
	first, last := points[0].Milliseconds, points[len(points)-1].Milliseconds
	if last <= first {
		return nil
	}
	at := func(milliseconds float64) float64 {
		next, found := slices.BinarySearchFunc(points, milliseconds, func(p v1alpha1.LivePoint, at float64) int {
			return cmp.Compare(float64(p.Milliseconds), at)
		})
		if found || next == 0 {
			return float64(total(points[min(next, len(points)-1)]))
		}
		if next == len(points) {
			return float64(total(points[len(points)-1]))
		}
		before, after := points[next-1], points[next]
		share := (milliseconds - float64(before.Milliseconds)) / float64(after.Milliseconds-before.Milliseconds)
		return float64(total(before)) + share*float64(total(after)-total(before))
	}
	width := float64(last-first) / float64(parts)
	rates := make([]float64, parts)
	for i := range rates {
		from := float64(first) + float64(i)*width
		rates[i] = max(0, (at(from+width)-at(from))/width*1000)
	}
	return rates
}

// spark draws rates as a sparkline. Its scale extends from 0 to the highest rate.
func spark(rates []float64, signs []rune) string {
	if len(rates) == 0 {
		return ""
	}
	highest := slices.Max(rates)
	drawn := make([]rune, len(rates))
	for i, rate := range rates {
		height := 0
		if highest > 0 && rate > 0 {
			height = min(1+int(rate/highest*float64(len(signs)-1)-1e-9), len(signs)-1)
		}
		drawn[i] = signs[height]
	}
	return string(drawn)
}

// bar draws a share from 0 to 1 as a bar.
func bar(share float64, width int, full, empty rune) string {
	drawn := make([]rune, width)
	for i := range drawn {
		drawn[i] = empty
		if float64(i)+0.5 < share*float64(width) {
			drawn[i] = full
		}
	}
	return string(drawn)
}
