package detect_test

import (
	"errors"
	"math"
	"testing"

	"github.com/storagebench/storagebench/internal/detect"
)

// drained returns a series of ten minutes at one rate and ten minutes at another one.
func drained(before, after float64) []detect.Sample {
	var samples []detect.Sample
	for i := range 1200 {
		rate := before
		if i >= 600 {
			rate = after
		}
		// Real stores are not exact, so add a little reproducible noise.
		rate *= 1 + 0.01*math.Sin(float64(i)*2.3)
		samples = append(samples, detect.Sample{StartSeconds: float64(i), EndSeconds: float64(i + 1), Rate: rate})
	}
	return samples
}

// TestEarlier checks against values computed by hand how I/O before the series adds to the credits spent, and that it
// changes nothing else.
func TestEarlier(t *testing.T) {
	refill := 20.0
	for name, test := range map[string]struct {
		earlier []detect.Sample
		want    float64
	}{
		"nothing": {want: 600 * (100 - 20)},
		"a layout that adjoins": {
			earlier: []detect.Sample{{StartSeconds: -300, EndSeconds: 0, Rate: 50}},
			want:    300*(50-20) + 600*(100-20)},
		"a layout and a pause in which part came back": {
			earlier: []detect.Sample{{StartSeconds: -500, EndSeconds: -200, Rate: 50}},
			want:    300*(50-20) - 200*20 + 600*(100-20)},
		"a pause in which all came back": {
			earlier: []detect.Sample{{StartSeconds: -2000, EndSeconds: -1700, Rate: 50}},
			want:    600 * (100 - 20)},
		"a load below the refill, in which credits came back": {
			earlier: []detect.Sample{{StartSeconds: -900, EndSeconds: -600, Rate: 50}, {StartSeconds: -600, EndSeconds: 0, Rate: 10}},
			want:    300*(50-20) - 600*10 + 600*(100-20)},
		"two with a pause between them": {
			earlier: []detect.Sample{{StartSeconds: -300, EndSeconds: -200, Rate: 120}, {StartSeconds: -100, EndSeconds: 0, Rate: 40}},
			want:    100*100 - 100*20 + 100*20 + 600*(100-20)},
	} {
		t.Run(name, func(t *testing.T) {
			plain, err := detect.Analyze(drained(100, 20), detect.Options{Refill: &refill, RefillSource: detect.RefillDocumented})
			if err != nil {
				t.Fatal(err)
			}
			got, err := detect.Analyze(drained(100, 20), detect.Options{Refill: &refill, RefillSource: detect.RefillDocumented, Earlier: test.earlier})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Drops) != 1 {
				t.Fatalf("%d drops", len(got.Drops))
			}
			if spent := got.Drops[0].Spent.Value; math.Abs(spent-test.want) > 0.005*test.want {
				t.Errorf("spent is %g, not %g", spent, test.want)
			}
			// Earlier I/O changes no other figure.
			if got.Burst != plain.Burst || got.Baseline != plain.Baseline || got.Drops[0].Seconds != plain.Drops[0].Seconds ||
				len(got.Segments) != len(plain.Segments) || got.Peak5s != plain.Peak5s {
				t.Errorf("other figures changed: %+v, before %+v", got, plain)
			}
		})
	}
}

// TestEarlierProves checks that I/O before the series also counts towards the minimum bucket size that a series without
// a drop proves.
func TestEarlierProves(t *testing.T) {
	refill := 20.0
	got, err := detect.Analyze(drained(100, 100), detect.Options{Refill: &refill,
		Earlier: []detect.Sample{{StartSeconds: -500, EndSeconds: -200, Rate: 50}}})
	if err != nil {
		t.Fatal(err)
	}
	want := 300*30 - 200*20 + 1200*80.0
	if got.BucketAtLeast == nil || math.Abs(*got.BucketAtLeast-want) > 0.005*want {
		t.Errorf("the bucket is at least %v, not %g", got.BucketAtLeast, want)
	}
}

func TestEarlierRefused(t *testing.T) {
	for name, earlier := range map[string][]detect.Sample{
		"reaches into the series": {{StartSeconds: -10, EndSeconds: 0.5, Rate: 1}},
		"not in order":            {{StartSeconds: -10, EndSeconds: -5, Rate: 1}, {StartSeconds: -20, EndSeconds: -15, Rate: 1}},
		"no rate":                 {{StartSeconds: -10, EndSeconds: -5, Rate: math.NaN()}},
		"no length":               {{StartSeconds: -10, EndSeconds: -10, Rate: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var refused *detect.SampleError
			if _, err := detect.Analyze(drained(100, 20), detect.Options{Earlier: earlier}); !errors.As(err, &refused) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestSpentInTheSampleOfTheDrop checks that the I/O in the sample that contains a drop is attributed to the time before
// and after it. Eight seconds at 100 and 0.4 s of the next second, with a refill of 20, spend 672. If that sample were
// spread evenly, the result would be 653.
func TestSpentInTheSampleOfTheDrop(t *testing.T) {
	var samples []detect.Sample
	for i := range 40 {
		rate := 20.0
		switch {
		case i < 8:
			rate = 100
		case i == 8:
			rate = 0.4*100 + 0.6*20
		}
		samples = append(samples, detect.Sample{StartSeconds: float64(i), EndSeconds: float64(i + 1), Rate: rate * (1 + 0.004*math.Sin(float64(i)*2.3))})
	}
	refill := 20.0
	got, err := detect.Analyze(samples, detect.Options{Refill: &refill})
	if err != nil || len(got.Drops) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if spent := got.Drops[0].Spent.Value; math.Abs(spent-672) > 3 {
		t.Errorf("spent is %g, not 672", spent)
	}
	if done := detect.DoneBefore(samples, 8.4, 100, 20); math.Abs(done-840) > 3 {
		t.Errorf("done are %g, not 840", done)
	}
}
