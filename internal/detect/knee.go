package detect

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Point is a step of a ramp: a load (clients, jobs, requests in flight) and the rate reached. Points with equal
// loads are repetitions.
type Point struct {
	Load, Rate float64
}

// Parameters of FindKnee, which needs at least five different loads, and six for the scalability fit.
const (
	LeastKneePoints   = 5
	LeastScalePoints  = 6
	mostKneePoints    = 10_000
	plateauShare      = 0.95
	kneeSensitivity   = 1
	kneeResamples     = 400
	leastPlateauShare = 0.90
)

// Scalability is Gunther's universal scalability law, fitted to a ramp. For a load of N:
//
//	rate = Lambda*N / (1 + Contention*(N-1) + Coherency*N*(N-1))
//
// Lambda is the rate at a load of 1. Contention and Coherency determine how far the rate at higher loads falls short of
// Lambda*N. Most is the load with the highest rate; nil if the rate only grows or only falls.
type Scalability struct {
	Lambda, Contention, Coherency Estimate
	Most                          *Estimate
	// Error is the root mean square of the residuals, as a share of the rates.
	Error float64
}

// KneeResult describes where throughput stops scaling with the load. The intervals are computed from the errors of the
// scalability fit. Without a fit, both ends of each interval equal the value.
type KneeResult struct {
	Steps []Point
	// Knee is the load at which the curve bends most, according to the Kneedle method; nil if it does not bend.
	Knee *Estimate
	// Plateau is the rate at which throughput levels off: the median of the rates that are at least 90 % of the highest
	// rate. Enough is the lowest load whose rate is at least 95 % of the plateau.
	Enough, Plateau Estimate
	Scalability     *Scalability
	Warnings        []Warning
}

// Kinds of warnings about a knee.
const (
	// WarnNoKnee: there is no knee, because the rate still grows at the last step, reaches the plateau only at the last
	// steps, or has already reached it at the first step.
	WarnNoKnee WarningKind = "NoKnee"
	// WarnNoScalabilityFit: there are too few steps for a fit or the law does not fit, so there are no intervals.
	WarnNoScalabilityFit WarningKind = "NoScalabilityFit"
	// WarnPlateauNotSeen: only the last step reaches 95 % of the plateau, so the real plateau may be higher.
	WarnPlateauNotSeen WarningKind = "PlateauNotSeen"
)

var errNoPoints = errors.New("at least five different loads are required")

// FindKnee finds the knee of a ramp. Loads must be positive, rates must not be negative, and there must be at least
// five different loads.
func FindKnee(points []Point) (KneeResult, error) {
	for i, p := range points {
		if !(p.Load > 0) || p.Load > 1e9 || !(p.Rate >= 0) || p.Rate > maxRate {
			return KneeResult{}, fmt.Errorf("find the knee: point %d has load %g and rate %g: loads must be above 0, rates at least 0", i, p.Load, p.Rate)
		}
	}
	steps := merged(points)
	if len(steps) > mostKneePoints {
		return KneeResult{}, fmt.Errorf("find the knee: too many loads (%d): use at most %d", len(steps), mostKneePoints)
	}
	if len(steps) < LeastKneePoints {
		return KneeResult{}, fmt.Errorf("find the knee: %d loads: %w", len(steps), errNoPoints)
	}
	r := KneeResult{Steps: steps}
	enough, plateau := reach(steps)
	r.Enough, r.Plateau = exactly(enough), exactly(plateau)
	if knee, ok := kneedle(steps); ok {
		e := exactly(knee)
		r.Knee = &e
	} else {
		says := "throughput does not level off: add higher loads to locate the knee"
		switch {
		case enough == steps[0].Load:
			says = "the first step already reaches 95 % of the plateau: a higher load gains little"
		case levelsOff(steps):
			says = "throughput levels off only at the last steps: add higher loads to locate the knee"
		}
		r.Warnings = append(r.Warnings, Warning{WarnNoKnee, says})
	}
	if enough == steps[len(steps)-1].Load {
		r.Warnings = append(r.Warnings, Warning{WarnPlateauNotSeen, "only the last step reaches 95 % of the plateau, so the real plateau may be higher: add higher loads"})
	}
	fit, ok := scale(steps)
	if len(steps) < LeastScalePoints || !ok {
		r.Warnings = append(r.Warnings, Warning{WarnNoScalabilityFit,
			fmt.Sprintf("the scalability law cannot be fitted, so there are no confidence intervals: a fit needs at least %d loads with rates above 0", LeastScalePoints)})
		return r, nil
	}
	r.resample(fit)
	return r, nil
}

func exactly(value float64) Estimate { return Estimate{Value: value, Low: value, High: value} }

// merged sorts the points by load and averages the points with equal loads.
func merged(points []Point) []Point {
	ordered := slices.Clone(points)
	slices.SortStableFunc(ordered, func(a, b Point) int { return cmp.Compare(a.Load, b.Load) })
	var steps []Point
	for i := 0; i < len(ordered); {
		sum, j := 0.0, i
		for ; j < len(ordered) && ordered[j].Load == ordered[i].Load; j++ {
			sum += ordered[j].Rate
		}
		steps = append(steps, Point{Load: ordered[i].Load, Rate: sum / float64(j-i)})
		i = j
	}
	return steps
}

// reach returns the lowest load whose rate is at least 95 % of the plateau. The plateau is the median of the rates that
// are at least 90 % of the highest rate.
func reach(steps []Point) (load, plateau float64) {
	highest := 0.0
	for _, p := range steps {
		highest = max(highest, p.Rate)
	}
	var near []float64
	for _, p := range steps {
		if p.Rate >= leastPlateauShare*highest {
			near = append(near, p.Rate)
		}
	}
	plateau = median(near)
	for _, p := range steps {
		if p.Rate >= plateauShare*plateau {
			return p.Load, plateau
		}
	}
	return steps[len(steps)-1].Load, plateau
}

// levelsOff reports whether the last step gains little: per unit of load, less than a quarter of the mean gain over all
// steps.
func levelsOff(steps []Point) bool {
	first, before, last := steps[0], steps[len(steps)-2], steps[len(steps)-1]
	return (last.Rate-before.Rate)/(last.Load-before.Load) < (last.Rate-first.Rate)/(last.Load-first.Load)/4
}

// kneedle implements the method of Satopaa and others (2011) for a concave curve. It takes the difference between the
// curve, scaled to the unit square, and the diagonal. It returns the load of the highest local maximum after which the
// difference falls by more than kneeSensitivity divided by the number of intervals between the points.
func kneedle(steps []Point) (float64, bool) {
	n := len(steps)
	low, high := steps[0].Rate, steps[0].Rate
	for _, p := range steps {
		low, high = min(low, p.Rate), max(high, p.Rate)
	}
	width := steps[n-1].Load - steps[0].Load
	if high <= low {
		return 0, false
	}
	difference := make([]float64, n)
	for i, p := range steps {
		difference[i] = (p.Rate-low)/(high-low) - (p.Load-steps[0].Load)/width
	}
	fall := kneeSensitivity / float64(n-1)
	candidate, threshold := -1, 0.0
	for i := 1; i < n; i++ {
		rises := difference[i] > difference[i-1]
		peak := rises && (i == n-1 || difference[i] >= difference[i+1])
		if peak && (candidate < 0 || difference[i] > difference[candidate]) {
			candidate, threshold = i, difference[i]-fall
			continue
		}
		if candidate >= 0 && difference[i] < threshold {
			return steps[candidate].Load, true
		}
	}
	return 0, false
}

// scalabilityLaw is the scalability law in a form that is linear in its coefficients a, b and c: N/rate = a + b(N-1) +
// cN(N-1) for a load of N.
type scalabilityLaw struct{ a, b, c float64 }

func (l scalabilityLaw) rate(load float64) float64 {
	return load / (l.a + l.b*(load-1) + l.c*load*(load-1))
}

// most returns the load with the highest rate, or infinity if the rate only grows or only falls.
func (l scalabilityLaw) most() float64 {
	if l.c <= 0 || l.b >= l.a {
		return math.Inf(1)
	}
	return math.Sqrt((l.a - l.b) / l.c)
}

// scale fits the scalability law by minimizing the squares of the relative errors. Contention and coherency must not be
// negative.
func scale(steps []Point) (scalabilityLaw, bool) {
	best, least, found := scalabilityLaw{}, math.Inf(1), false
	for _, use := range [][3]bool{{true, true, true}, {true, true, false}, {true, false, true}, {true, false, false}} {
		coefficients, ok := leastSquares(steps, use)
		if !ok || coefficients[0] <= 0 || coefficients[1] < 0 || coefficients[2] < 0 {
			continue
		}
		l := scalabilityLaw{coefficients[0], coefficients[1], coefficients[2]}
		squares := 0.0
		for _, p := range steps {
			e := l.rate(p.Load)/p.Rate - 1
			squares += e * e
		}
		if squares < least {
			best, least, found = l, squares, true
		}
	}
	return best, found
}

// leastSquares solves the normal equations of the scalability law for the coefficients selected by `use`. The other
// coefficients are 0.
func leastSquares(steps []Point, use [3]bool) (coefficients [3]float64, ok bool) {
	var matrix [3][4]float64
	for _, p := range steps {
		if p.Rate <= 0 {
			return coefficients, false
		}
		y := p.Load / p.Rate
		x := [3]float64{1, p.Load - 1, p.Load * (p.Load - 1)}
		for i := range 3 {
			for j := range 3 {
				if use[i] && use[j] {
					matrix[i][j] += x[i] * x[j] / (y * y)
				}
			}
			if use[i] {
				matrix[i][3] += x[i] / y
			}
		}
	}
	for i := range 3 {
		if !use[i] {
			matrix[i][i] = 1
		}
	}
	for i := range 3 {
		if math.Abs(matrix[i][i]) < 1e-300 {
			return coefficients, false
		}
		for k := i + 1; k < 3; k++ {
			factor := matrix[k][i] / matrix[i][i]
			for j := i; j < 4; j++ {
				matrix[k][j] -= factor * matrix[i][j]
			}
		}
	}
	for i := 2; i >= 0; i-- {
		value := matrix[i][3]
		for j := i + 1; j < 3; j++ {
			value -= matrix[i][j] * coefficients[j]
		}
		coefficients[i] = value / matrix[i][i]
	}
	return coefficients, !math.IsNaN(coefficients[0] + coefficients[1] + coefficients[2])
}

// resample sets the intervals by a residual bootstrap: it repeats the analysis on curves generated from the fitted law,
// with errors drawn from the residuals of the fit. The random seed is fixed, so that results are reproducible.
func (r *KneeResult) resample(fit scalabilityLaw) {
	errors := make([]float64, len(r.Steps))
	squares := 0.0
	for i, p := range r.Steps {
		errors[i] = p.Rate/fit.rate(p.Load) - 1
		squares += errors[i] * errors[i]
	}
	n := float64(len(errors))
	// Inflate the residuals, which are smaller than the true errors because the fit minimizes them and uses only a few
	// points.
	inflate := math.Sqrt(n/max(n-3, 1)) * student(n-3) / student(math.Inf(1))
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- reproducible results
	var knees, enough, plateaus, lambdas, contentions, coherencies, most []float64
	for range kneeResamples {
		drawn := make([]Point, len(r.Steps))
		for i, p := range r.Steps {
			e := inflate * errors[random.IntN(len(errors))]
			drawn[i] = Point{Load: p.Load, Rate: fit.rate(p.Load) * max(1+e, 0.01)}
		}
		load, plateau := reach(drawn)
		enough, plateaus = append(enough, load), append(plateaus, plateau)
		if knee, ok := kneedle(drawn); ok {
			knees = append(knees, knee)
		}
		if l, ok := scale(drawn); ok {
			lambdas = append(lambdas, 1/l.a)
			contentions = append(contentions, l.b/l.a)
			coherencies = append(coherencies, l.c/l.a)
			most = append(most, l.most())
		}
	}
	r.Enough, r.Plateau = within(r.Enough.Value, enough), within(r.Plateau.Value, plateaus)
	if r.Knee != nil {
		knee := within(r.Knee.Value, knees)
		r.Knee = &knee
	}
	s := &Scalability{Lambda: within(1/fit.a, lambdas), Contention: within(fit.b/fit.a, contentions),
		Coherency: within(fit.c/fit.a, coherencies), Error: math.Sqrt(squares / n)}
	if peak := fit.most(); !math.IsInf(peak, 0) {
		e := within(peak, most)
		s.Most = &e
	}
	r.Scalability = s
}

// within returns the value as an Estimate, with an interval that contains the middle 95 % of the drawn values.
func within(value float64, drawn []float64) Estimate {
	if len(drawn) == 0 {
		return exactly(value)
	}
	slices.Sort(drawn)
	at := func(q float64) float64 { return drawn[min(int(q*float64(len(drawn))), len(drawn)-1)] }
	return Estimate{Value: value, Low: min(at(0.025), value), High: max(at(0.975), value)}
}
