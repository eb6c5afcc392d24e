package measure

import (
	"slices"
	"testing"
)

func TestMergeLate(t *testing.T) {
	const mb = 1_000_000
	at := func(seconds float64) int64 { return int64(seconds * float64(second)) }
	tests := []struct {
		name string
		in   []Sample
		want []Sample
	}{
		{"nothing", nil, []Sample{}},
		{"on time", []Sample{reads(0, at(1), mb), reads(at(1), at(2.02), mb)},
			[]Sample{reads(0, at(1), mb), reads(at(1), at(2.02), mb)}},
		{
			// Measured with four jobs, one of which was blocked in a write for 5 s. Unmerged, the rates are 32.6 and then 2,805
			// MB/s; the true rate is about 150 MB/s.
			"a dump that waited 5.5 s",
			[]Sample{reads(0, at(1), 150*mb), reads(at(1), at(6.5), 179*mb), reads(at(6.5), at(6.8), 842*mb), reads(at(6.8), at(7.8), 150*mb)},
			[]Sample{reads(0, at(1), 150*mb), reads(at(1), at(6.8), 1_021*mb), reads(at(6.8), at(7.8), 150*mb)},
		},
		{
			"two late ones in a row", []Sample{reads(0, at(3), 1*mb), reads(at(3), at(6), 2*mb), reads(at(6), at(7), 3*mb), reads(at(7), at(8), 4*mb)},
			[]Sample{reads(0, at(7), 6*mb), reads(at(7), at(8), 4*mb)},
		},
		{
			"the last one late", []Sample{reads(0, at(1), 1*mb), reads(at(1), at(4), 2*mb)},
			[]Sample{reads(0, at(1), 1*mb), reads(at(1), at(4), 2*mb)},
		},
		{
			// Measured: the last dump followed its predecessor after 146 ms.
			"a remainder", []Sample{reads(0, at(1), 10*mb), reads(at(1), at(2), 10*mb), reads(at(2), at(2.146), 9*mb)},
			[]Sample{reads(0, at(1), 10*mb), reads(at(1), at(2.146), 19*mb)},
		},
		{
			"late, then only a remainder", []Sample{reads(0, at(1), 1*mb), reads(at(1), at(4.7), 2*mb), reads(at(4.7), at(4.72), 4*mb)},
			[]Sample{reads(0, at(1), 1*mb), reads(at(1), at(4.72), 6*mb)},
		},
		{
			"short but not last", []Sample{reads(0, at(0.2), 1*mb), reads(at(0.2), at(1), 2*mb)},
			[]Sample{reads(0, at(0.2), 1*mb), reads(at(0.2), at(1), 2*mb)},
		},
		{
			"not over a gap", []Sample{reads(0, at(3), 1*mb), reads(at(3.5), at(4), 2*mb), reads(at(5), at(5.1), 3*mb)},
			[]Sample{reads(0, at(3), 1*mb), reads(at(3.5), at(4), 2*mb), reads(at(5), at(5.1), 3*mb)},
		},
		{
			"not over the end of the warm-up", []Sample{warmUp(reads(0, at(3), 1*mb)), reads(at(3), at(4), 2*mb)},
			[]Sample{warmUp(reads(0, at(3), 1*mb)), reads(at(3), at(4), 2*mb)},
		},
		{"1.5 intervals are on time", []Sample{reads(0, at(1.5), 1*mb), reads(at(1.5), at(2.5), 2*mb)},
			[]Sample{reads(0, at(1.5), 1*mb), reads(at(1.5), at(2.5), 2*mb)}},
		{"1.51 intervals are late", []Sample{reads(0, at(1.51), 1*mb), reads(at(1.51), at(2.5), 2*mb)},
			[]Sample{reads(0, at(2.5), 3*mb)}},
		{"half an interval stands for itself", []Sample{reads(0, at(1), 1*mb), reads(at(1), at(1.5), 2*mb)},
			[]Sample{reads(0, at(1), 1*mb), reads(at(1), at(1.5), 2*mb)}},
		{"0.49 intervals are a remainder", []Sample{reads(0, at(1), 1*mb), reads(at(1), at(1.49), 2*mb)},
			[]Sample{reads(0, at(1.49), 3*mb)}},
		{"one short one", []Sample{reads(0, at(0.1), mb)}, []Sample{reads(0, at(0.1), mb)}},
	}
	for _, test := range tests {
		got := slices.Collect(MergeLate(slices.Values(test.in), second))
		if len(got) != len(test.want) {
			t.Errorf("%s: %d samples, want %d: %+v", test.name, len(got), len(test.want), got)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: sample %d is %+v, want %+v", test.name, i, got[i], test.want[i])
			}
		}
	}
}

// TestMergeLateEndsChains checks that a store so slow that every dump is late still yields a series.
func TestMergeLateEndsChains(t *testing.T) {
	var samples []Sample
	for i := range int64(100) {
		samples = append(samples, reads(i*4*second, (i+1)*4*second, 4_000))
	}
	merged := slices.Collect(MergeLate(slices.Values(samples), second))
	if len(merged) != 13 { // a chain ends after 30 intervals, which 8 samples of 4 s reach
		t.Fatalf("%d samples are left of 100, want 13", len(merged))
	}
	if got := seriesOf(t, merged...).Total()[Read].Bytes; got != 400_000 {
		t.Errorf("%d bytes are left of 400,000", got)
	}
	if got := slices.Collect(MergeLate(slices.Values(samples), 0)); !slices.Equal(got, samples) {
		t.Error("without an interval something was merged")
	}
}
