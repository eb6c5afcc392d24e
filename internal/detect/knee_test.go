package detect

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFindKnee(t *testing.T) {
	points := func(rate func(n float64) float64, loads ...float64) []Point {
		var result []Point
		for _, n := range loads {
			result = append(result, Point{n, rate(n)})
		}
		return result
	}
	sharp := func(n float64) float64 { return 100 * min(n, 8) }
	line := func(n float64) float64 { return 100 * n }
	flat := func(float64) float64 { return 100 }
	for _, test := range []struct {
		name         string
		points       []Point
		knee, enough float64 // 0 means that there is no knee
		fit          bool
		warnings     int
	}{
		{"a sharp one", points(sharp, 1, 2, 4, 6, 8, 10, 12, 16), 8, 8, true, 0},
		{"in any order, twice", append(points(sharp, 12, 2, 4, 16, 6), points(sharp, 1, 8, 10, 12)...), 8, 8, true, 0},
		{"five", points(sharp, 1, 4, 8, 12, 16), 8, 8, false, 1},
		{"a line", points(line, 1, 2, 3, 4, 5, 6, 7, 8), 0, 8, true, 2},
		{"flat", points(flat, 1, 2, 3, 4, 5, 6), 0, 1, true, 1},
	} {
		r, err := FindKnee(test.points)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		knee := 0.0
		if r.Knee != nil {
			knee = r.Knee.Value
		}
		if knee != test.knee || r.Enough.Value != test.enough || (r.Scalability != nil) != test.fit || len(r.Warnings) != test.warnings {
			t.Errorf("%s: knee %g, enough %g, fit %v, %v", test.name, knee, r.Enough.Value, r.Scalability != nil, r.Warnings)
		}
	}
	for name, bad := range map[string][]Point{
		"four": points(sharp, 1, 2, 3, 4), "four of five": points(sharp, 1, 2, 3, 4, 4), "nothing": nil,
		"load 0": points(sharp, 0, 1, 2, 3, 4), "no rate": append(points(sharp, 1, 2, 3, 4), Point{5, nan()}),
	} {
		if _, err := FindKnee(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestKneeNearTheEnd checks the warnings for rates without a knee: a rate that levels off only at the last steps is
// distinguished from one that does not level off.
func TestKneeNearTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		rates []float64
		want  string
	}{
		"levels off": {[]float64{10, 20, 30, 39, 40}, "levels off only at the last steps"},
		"grows":      {[]float64{10, 20, 30, 39, 45}, "does not level off"},
	} {
		var points []Point
		for i, rate := range test.rates {
			points = append(points, Point{Load: float64(i + 1), Rate: rate})
		}
		r, err := FindKnee(points)
		if err != nil {
			t.Fatal(err)
		}
		if r.Knee != nil || !strings.Contains(r.Warnings[0].Message, test.want) {
			t.Errorf("%s: knee %v, enough at %g, it warns %v", name, r.Knee, r.Enough.Value, r.Warnings)
		}
	}
}

// TestKneeOfARateThatFalls checks that no higher load is recommended if the rate never grows. The fitted law then has
// no maximum.
func TestKneeOfARateThatFalls(t *testing.T) {
	for name, of := range map[string]scalabilityLaw{"contention over 1": {a: 0.01, b: 0.012, c: 0.001}, "no change": {a: 0.01, b: 0.01}} {
		var points []Point
		for _, load := range []float64{1, 2, 4, 8, 16, 32} {
			points = append(points, Point{Load: load, Rate: of.rate(load)})
		}
		r, err := FindKnee(points)
		if err != nil {
			t.Fatal(err)
		}
		if r.Knee != nil || r.Enough.Value != 1 || r.Scalability == nil || r.Scalability.Most != nil {
			t.Errorf("%s: %+v", name, r)
		}
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "a higher load gains little") {
			t.Errorf("%s: it warns %v", name, r.Warnings)
		}
	}
}

// TestScalability checks how often the intervals contain the true parameters, with ramps drawn from the scalability law
// with noise.
func TestScalability(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	const series = 150
	truth := scalabilityLaw{a: 1 / 100.0, b: 0.03 / 100, c: 0.0008 / 100}
	var lambda, contention, coherency, most coverage
	for range series {
		var points []Point
		for _, n := range []float64{1, 2, 4, 6, 8, 12, 16, 24, 32, 40, 48, 64} {
			points = append(points, Point{n, truth.rate(n) * (1 + 0.02*random.NormFloat64())})
		}
		r, err := FindKnee(points)
		if err != nil || r.Scalability == nil {
			t.Fatal(err)
		}
		lambda.add(r.Scalability.Lambda, 100)
		contention.add(r.Scalability.Contention, 0.03)
		coherency.add(r.Scalability.Coherency, 0.0008)
		if r.Scalability.Most == nil {
			t.Fatal("the highest rate was not found")
		}
		most.add(*r.Scalability.Most, math.Sqrt((1-0.03)/0.0008))
	}
	t.Logf("covered: lambda %s, contention %s, coherency %s, load of the highest rate %s", lambda, contention, coherency, most)
	for _, c := range []coverage{lambda, contention, coherency, most} {
		if c.covered < series*86/100 {
			t.Errorf("an interval covers %s %% only", c)
		}
	}
}
