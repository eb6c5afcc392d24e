package detect

import (
	"math"
	"slices"
	"testing"
)

// TestByHand checks series without noise, whose drops are obvious.
func TestByHand(t *testing.T) {
	series := func(interval float64, parts ...[2]float64) []Sample {
		var samples []Sample
		at := 0.0
		for _, p := range parts {
			for range int(math.Round(p[0] / interval)) {
				samples = append(samples, Sample{at, at + interval, p[1]})
				at += interval
			}
		}
		return samples
	}
	turns := series(1)
	for range 12 {
		turns = append(turns, shifted(series(1, [2]float64{20, 400}, [2]float64{30, 287.5}), turns)...)
	}
	drained := append(turns, shifted(series(1, [2]float64{600, 32}), turns)...)
	for _, test := range []struct {
		name    string
		samples []Sample
		drops   []float64
		burst   float64
	}{
		{"a level", series(1, [2]float64{600, 100}), nil, 100},
		{"nothing at all", series(1, [2]float64{600, 0}), nil, 0},
		{"a step", series(1, [2]float64{300, 100}, [2]float64{300, 50}), []float64{300}, 100},
		{"a step of 2 %", series(5, [2]float64{3000, 100}, [2]float64{3000, 98}), []float64{3000}, 100},
		{"a step to nothing", series(1, [2]float64{300, 100}, [2]float64{300, 0}), []float64{300}, 100},
		{"a step up", series(1, [2]float64{300, 100}, [2]float64{300, 200}), nil, 150},
		{"two steps", series(1, [2]float64{300, 100}, [2]float64{300, 60}, [2]float64{300, 20}), []float64{300, 600}, 100},
		{"a short burst", series(1, [2]float64{40, 100}, [2]float64{200, 20}), []float64{40}, 100},
		{"a burst of twenty seconds in two minutes", series(1, [2]float64{20, 100}, [2]float64{100, 20}), []float64{20}, 100},
		{"a burst of four seconds in twenty", series(0.1, [2]float64{4, 60}, [2]float64{16, 10}), []float64{4}, 60},
		{"a minute of 30 and 30", series(1, [2]float64{30, 60}, [2]float64{30, 10}), []float64{30}, 60},
		{"a dip", series(1, [2]float64{300, 100}, [2]float64{30, 10}, [2]float64{300, 100}), nil, (600*100 + 300) / 630.0},
		{"a dip at the end", series(1, [2]float64{600, 100}, [2]float64{30, 10}), nil, (600*100 + 300) / 630.0},
		{"down and up again", series(1, [2]float64{300, 100}, [2]float64{600, 10}, [2]float64{300, 100}), nil, 55},
		{"turns", turns, nil, 332.5},
		{"turns that end", drained, []float64{600}, 332.5},
	} {
		r, err := Analyze(test.samples, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var drops []float64
		for _, d := range r.Drops {
			drops = append(drops, d.Seconds.Value)
		}
		right := len(drops) == len(test.drops)
		for i := 0; right && i < len(drops); i++ {
			right = math.Abs(drops[i]-test.drops[i]) < 0.1
		}
		if !right || !(math.Abs(r.Burst.Value-test.burst) <= 0.01*test.burst) {
			t.Errorf("%s: drops %.2f, burst %.2f, want %.2f and %.2f", test.name, drops, r.Burst.Value, test.drops, test.burst)
		}
		if short := len(test.drops) > 0 && test.drops[0] < 5; short != (r.Peak5s == 0) && test.burst > 0 || !short && r.Peak5s < 0.999*test.burst {
			t.Errorf("%s: the peak of 5 s is %.2f beside a burst of %.2f", test.name, r.Peak5s, test.burst)
		}
	}
}

// TestGapInAFineSeries checks that a gap is detected even though samples of 10 ms are joined to longer ones.
func TestGapInAFineSeries(t *testing.T) {
	samples := make([]Sample, 30_000)
	for i := range samples {
		at, rate := float64(i)/100, 50e6
		if i > 15_000 {
			at, rate = at+20, 8e6
		}
		samples[i] = Sample{at, at + 0.01, rate}
		if i > 0 && i != 15_001 {
			samples[i].StartSeconds = samples[i-1].EndSeconds
		}
	}
	r, err := Analyze(samples, Options{})
	if err != nil || len(r.Drops) != 1 {
		t.Fatalf("%v: %+v", err, r.Drops)
	}
	if !warnsOfGaps(r) {
		t.Errorf("it warns %v", r.Warnings)
	}
	if at := r.Drops[0].Seconds; at.High-at.Low < 10 {
		t.Errorf("the drop is from %g to %g s, and the gap from 150 to 170 s", at.Low, at.High)
	}
}

// TestRoundingIsNoGap checks that times that differ by a rounding error do not count as a gap.
func TestRoundingIsNoGap(t *testing.T) {
	samples := make([]Sample, 30)
	for i := range samples {
		samples[i] = Sample{float64(i), float64(i + 1), 50e6}
	}
	samples[9].StartSeconds = math.Nextafter(9, 10)
	r, err := Analyze(samples, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if warnsOfGaps(r) {
		t.Errorf("it warns %v", r.Warnings)
	}
}

func warnsOfGaps(r Result) bool {
	return slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Kind == WarnGaps })
}

func shifted(samples, after []Sample) []Sample {
	if len(after) > 0 {
		for i := range samples {
			samples[i].StartSeconds += after[len(after)-1].EndSeconds
			samples[i].EndSeconds += after[len(after)-1].EndSeconds
		}
	}
	return samples
}
