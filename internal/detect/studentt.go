package detect

import "math"

// studentTail is the chance that Student's t with so many degrees of freedom is above t, for t of 0 or
// more.
func studentTail(t, freedom float64) float64 {
	return incompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t)) / 2
}

// incompleteBeta is the regularized incomplete beta function, by the continued fraction of DLMF 8.17.22
// with Lentz's method.
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, 1-x)
	}
	logA, _ := math.Lgamma(a)
	logB, _ := math.Lgamma(b)
	logAB, _ := math.Lgamma(a + b)
	front := math.Exp(logAB-logA-logB+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny = 1e-300
	c, d, result := 1.0, 0.0, 1.0
	for i := range 300 {
		m := float64(i / 2)
		var term float64
		switch {
		case i == 0:
			term = 1
		case i%2 == 0:
			term = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			term = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		if d = 1 + term*d; math.Abs(d) < tiny {
			d = tiny
		}
		if c = 1 + term/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		step := c * d
		if result *= step; math.Abs(step-1) < 1e-12 {
			break
		}
	}
	return front * (result - 1)
}

// studentQuantile is where the upper tail has the chance p, below one half.
func studentQuantile(p, freedom float64) float64 {
	low, high := 0.0, 1.0
	for studentTail(high, freedom) > p && high < 1e12 {
		high *= 2
	}
	for range 200 {
		middle := (low + high) / 2
		if studentTail(middle, freedom) > p {
			low = middle
		} else {
			high = middle
		}
		if high-low < 1e-9*high {
			break
		}
	}
	return (low + high) / 2
}
