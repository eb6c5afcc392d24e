package detect

import "math"

// whitened computes in constant time how well one or two levels explain a stretch of values under autoregressive noise.
// The measure is the sum of squares of the innovations, minimized by generalised least squares.
type whitened struct {
	values      []float64
	correlation float64
	// sum[i] and squares[i] are the sums of u and of u squared over the values before index i, where u = value -
	// correlation * previous value.
	sum, squares []float64
}

func whiten(values []float64, correlation float64) *whitened {
	w := &whitened{values: values, correlation: correlation,
		sum: make([]float64, len(values)+1), squares: make([]float64, len(values)+1)}
	w.fill()
	return w
}

func (w *whitened) fill() {
	for i, v := range w.values {
		u := v
		if i > 0 {
			u -= w.correlation * w.values[i-1]
		}
		w.sum[i+1] = w.sum[i] + u
		w.squares[i+1] = w.squares[i] + u*u
	}
}

// one returns the least sum of squares for the values [from, to), if they are all at one level.
func (w *whitened) one(from, to int) float64 {
	first := w.values[from]
	start := 1 - w.correlation*w.correlation
	c := 1 - w.correlation
	weight := start + float64(to-from-1)*c*c
	right := start*first + c*(w.sum[to]-w.sum[from+1])
	all := start*first*first + w.squares[to] - w.squares[from+1]
	return max(all-right*right/weight, 0)
}

// two returns the least sum of squares for the values [from, to), if they are at one level before `at` and at another
// from `at` on. It also returns both levels.
func (w *whitened) two(from, at, to int) (squares, before, after float64) {
	r := w.correlation
	first := w.values[from]
	start := 1 - r*r
	c := 1 - r
	u := w.sum[at+1] - w.sum[at]
	aa := start + float64(at-from-1)*c*c + r*r
	bb := 1 + float64(to-at-1)*c*c
	ab := -r
	ya := start*first + c*(w.sum[at]-w.sum[from+1]) - r*u
	yb := u + c*(w.sum[to]-w.sum[at+1])
	all := start*first*first + w.squares[to] - w.squares[from+1]
	determinant := aa*bb - ab*ab
	before = (ya*bb - yb*ab) / determinant
	after = (yb*aa - ya*ab) / determinant
	return max(all-before*ya-after*yb, 0), before, after
}

// line returns the least sum of squares for the values [from, to), if they follow a straight line.
func (w *whitened) line(from, to int) float64 {
	r := w.correlation
	var s00, s01, s11, y0, y1, yy float64
	for i := from; i < to; i++ {
		x := float64(i - from)
		a, b, y := 1-r, x-r*(x-1), w.values[i]
		if i == from {
			a = math.Sqrt(1 - r*r)
			b, y = 0, y*a
		} else {
			y -= r * w.values[i-1]
		}
		s00 += a * a
		s01 += a * b
		s11 += b * b
		y0 += a * y
		y1 += b * y
		yy += y * y
	}
	determinant := s00*s11 - s01*s01
	if determinant <= 0 {
		return w.one(from, to)
	}
	level := (y0*s11 - y1*s01) / determinant
	slope := (y1*s00 - y0*s01) / determinant
	return max(yy-level*y0-slope*y1, 0)
}

// edge fits a straight line to the values [from, to) by ordinary least squares. It returns the line's value at the
// index `place`, which may be a fraction, and the variance of that value for white noise of variance 1.
func edge(values []float64, from, to int, place float64) (value, variance float64) {
	n := float64(to - from)
	var sx, sy, sxx, sxy float64
	for i := from; i < to; i++ {
		x := float64(i-from) - (n-1)/2
		sx += x
		sy += values[i]
		sxx += x * x
		sxy += x * values[i]
	}
	x := place - float64(from) - (n-1)/2
	if sxx <= 0 {
		return sy / n, 1 / n
	}
	return sy/n + sxy/sxx*x, 1/n + x*x/sxx
}

// segmentation divides the values into levels of at least `shortest` values each. It minimizes the sum of squares of
// the innovations plus a penalty for each change. It returns the index of the first value of each level, except for the
// first level.
func segmentation(w *whitened, shortest int, penalty float64) []int {
	n := len(w.values)
	if n < 2*shortest {
		return nil
	}
	cost := make([]float64, n+1)
	last := make([]int, n+1)
	for to := 1; to <= n; to++ {
		cost[to] = math.Inf(1)
		if to >= shortest {
			cost[to] = w.one(0, to)
		}
		for from := shortest; from+shortest <= to; from++ {
			if cost[from]+penalty >= cost[to] {
				continue
			}
			if c := cost[from] + penalty + w.one(from, to); c < cost[to] {
				cost[to], last[to] = c, from
			}
		}
	}
	var changes []int
	for at := last[n]; at > 0; at = last[at] {
		changes = append([]int{at}, changes...)
	}
	return changes
}
