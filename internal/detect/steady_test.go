package detect

import (
	"errors"
	"testing"
)

// minutes returns a series with one rate per minute and a sample every five seconds.
func minutes(rates ...float64) []Sample {
	var samples []Sample
	for i, rate := range rates {
		for k := range 12 {
			at := float64(i*60 + k*5)
			samples = append(samples, Sample{at, at + 5, rate})
		}
	}
	return samples
}

func TestAssessSteady(t *testing.T) {
	gap := minutes(100, 100, 100, 100, 100, 100)
	gap = append(gap[:30], gap[36:]...) // without half of the third minute
	short := minutes(100, 100, 100, 100, 100)
	short[len(short)-1].EndSeconds -= 0.002
	for _, test := range []struct {
		name    string
		samples []Sample
		state   Steadiness
		first   float64 // end of the first steady window, or 0
		kinds   []WarningKind
	}{
		{"level", minutes(100, 100, 100, 100, 100, 100), Steady, 300, []WarningKind{WarnSteadyInBurst}},
		{"five minutes but for 2 ms", short, Steady, 300, []WarningKind{WarnSteadyInBurst}},
		{"four minutes", minutes(100, 100, 100, 100), NotAssessed, 0, []WarningKind{WarnNotAssessed}},
		{"just within 20 %", minutes(91, 109, 100, 91, 109), Steady, 300, []WarningKind{WarnSteadyInBurst}},
		{"beyond 20 %", minutes(89, 111, 100, 89, 111), NotSteady, 0, nil},
		{"a slope of 9.6 %", minutes(95.2, 97.6, 100, 102.4, 104.8), Steady, 300, []WarningKind{WarnSteadyInBurst}},
		{"a slope of 12 %", minutes(94, 97, 100, 103, 106), NotSteady, 0, nil},
		{"steady later", minutes(50, 200, 100, 100, 100, 100, 100), Steady, 420, []WarningKind{WarnSteadyInBurst}},
		{"left again", minutes(100, 100, 100, 100, 100, 20), Steady, 300, []WarningKind{WarnSteadyInBurst, WarnLeftSteadyState}},
		{"a gap", gap, NotAssessed, 0, []WarningKind{WarnNotAssessed}},
		{"nothing", minutes(0, 0, 0, 0, 0), NotSteady, 0, nil},
	} {
		r, err := AssessSteady(test.samples, SteadyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		first := 0.0
		if r.First != nil {
			first = r.First.EndSeconds
		}
		var kinds []WarningKind
		for _, w := range r.Warnings {
			kinds = append(kinds, w.Kind)
		}
		if r.State != test.state || first != test.first || len(kinds) != len(test.kinds) {
			t.Errorf("%s: %s, first until %g, %v", test.name, r.State, first, kinds)
		}
	}
	if r, err := AssessSteady(minutes(1, 1, 1, 1, 1), SteadyOptions{BucketEmpty: true}); err != nil || len(r.Warnings) != 0 {
		t.Errorf("an empty bucket is no burst: %v, %v", r.Warnings, err)
	}
}

// TestBadSeries checks that an invalid series is refused, and that the error has the index of the invalid sample.
func TestBadSeries(t *testing.T) {
	for name, samples := range map[string][]Sample{
		"overlap":       {{0, 1, 5}, {0.5, 2, 5}},
		"backwards":     {{0, 1, 5}, {2, 1, 5}},
		"no length":     {{0, 1, 5}, {1, 1, 5}},
		"negative rate": {{0, 1, 5}, {1, 2, -5}},
		"no rate":       {{0, 1, 5}, {1, 2, nan()}},
		"no time":       {{0, 1, 5}, {1, nan(), 5}},
	} {
		for verb, call := range map[string]func() error{
			"analyze": func() error { _, err := Analyze(samples, Options{}); return err },
			"steady":  func() error { _, err := AssessSteady(samples, SteadyOptions{}); return err },
			"live": func() error {
				live := NewLive(LiveOptions{})
				if _, err := live.Add(samples[0]); err != nil {
					t.Fatal(err)
				}
				_, err := live.Add(samples[1])
				return err
			},
		} {
			err := call()
			var bad *SampleError
			if err == nil || verb != "live" && (!errors.As(err, &bad) || bad.Index != 1) {
				t.Errorf("%s of %s: %v", verb, name, err)
			}
		}
	}
	if _, err := Analyze(nil, Options{}); err == nil {
		t.Error("an empty series was analysed")
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}
