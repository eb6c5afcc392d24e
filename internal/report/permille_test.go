package report

import "testing"

func TestPermilleText(t *testing.T) {
	for permille, want := range map[int64]string{0: "+0.0 %", -775: "-77.5 %", 999: "+99.9 %", 1280: "+128 %", 100_000: "+10000 %", 355_585_617_690: ">+10000 %"} {
		if got := permilleText(permille); got != want {
			t.Errorf("%d is %q, not %q", permille, got, want)
		}
	}
}
