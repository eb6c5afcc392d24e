package fio

import (
	"math"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func TestPercentFor(t *testing.T) {
	for ratio, want := range map[float64]int{0.5: 1, 1: 1, 1.005: 1, 1.25: 20, 2: 50, 3.75: 73, 4: 75, 10: 90, 235: 98, 1e9: 98} {
		if got := PercentFor(ratio); got != want {
			t.Errorf("%v:1 takes %d %%, not %d", ratio, want, got)
		}
	}
	if got := PercentFor(math.NaN()); got != 1 {
		t.Errorf("no ratio gives %d %%", got)
	}
}

// TestRefill checks that a profile cannot disable refill_buffers for partly compressible data. Without the option, fio
// generates new data for each write; with refill_buffers=0, it would repeat a few buffers.
func TestRefill(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.FioProfile)
		want   string
	}{
		"nothing":  {func(*v1alpha1.FioProfile) {}, ""},
		"new data": {func(p *v1alpha1.FioProfile) { p.RefillBuffers = new(true) }, "refill_buffers=1"},
		"not new":  {func(p *v1alpha1.FioProfile) { p.RefillBuffers = new(false) }, "refill_buffers=0"},
		"half":     {func(p *v1alpha1.FioProfile) { p.Compressibility = &v1alpha1.Compressibility{Percent: 50} }, ""},
		"half, not new": {func(p *v1alpha1.FioProfile) {
			p.Compressibility, p.RefillBuffers = &v1alpha1.Compressibility{Percent: 50}, new(false)
		}, ""},
		"nothing compresses":  {func(p *v1alpha1.FioProfile) { p.Compressibility = &v1alpha1.Compressibility{} }, "refill_buffers=1"},
		"like files, not new": {func(p *v1alpha1.FioProfile) { p.CompressLike, p.RefillBuffers = "projects", new(false) }, ""},
	} {
		job, err := Render(profileWith(test.change), Parameters{Purpose: Prepare})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(job) {
			if strings.HasPrefix(line, "refill_buffers") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestWithCompressPercentage(t *testing.T) {
	profile := profileWith(func(p *v1alpha1.FioProfile) { p.CompressLike = "projects/2024" })
	job, err := Render(profile, Parameters{Purpose: Prepare})
	if err != nil {
		t.Fatal(err)
	}
	with := WithCompressPercentage(job, 73)
	if !strings.Contains(with, "\nbuffer_compress_percentage=73\n") || strings.Count(with, "\n") != strings.Count(job, "\n") ||
		strings.Replace(with, "percentage=73", "percentage=50", 1) != job || strings.Contains(job, "projects") {
		t.Errorf("%s\nbecame\n%s", job, with)
	}
	profile.Compressibility = &v1alpha1.Compressibility{Percent: 10}
	if _, err := Render(profile, Parameters{Purpose: Prepare}); err == nil || !strings.Contains(err.Error(), "compressLike") {
		t.Errorf("both at once: %v", err)
	}
}
