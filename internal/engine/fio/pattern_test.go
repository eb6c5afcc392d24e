package fio

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// TestPatternOfAJobFile checks that the pattern follows from the options of a job file, however they are written.
func TestPatternOfAJobFile(t *testing.T) {
	for options, want := range map[string]int64{
		"buffer_compress_percentage=75 ; like photos\n":       4000,
		"zero_buffers # all of them\n":                        sameRatio,
		"zero_buffers=0 # off\nrefill_buffers=1\n":            refillRatio,
		";zero_buffers\nbuffer_compress_percentage = 50#60\n": 2000,
	} {
		profile := profileWith(withJobFile("[global]\nsize=8m\n"+options+"[writer]\nrw=write\n", "8Mi"))
		if got := patternOf(profile, &engine.Step{Purpose: v1alpha1.StepMeasure}); got.RatioMilli != want {
			t.Errorf("%q: %+v, want a ratio of %d", options, got, want)
		}
	}
}

// TestPatternOfSeveralOptions checks that the pattern follows from the option that fio obeys if several options set the
// content of its buffers.
func TestPatternOfSeveralOptions(t *testing.T) {
	half := func(p *v1alpha1.FioProfile) { p.Compressibility = &v1alpha1.Compressibility{Percent: 50} }
	full := func(p *v1alpha1.FioProfile) { p.Compressibility = &v1alpha1.Compressibility{Percent: 100} }
	word, zeros := withOption("buffer_pattern", "0xdeadbeef"), withOption("zero_buffers", "1")
	again := withOption("dedupe_percentage", "50")
	large := func(p *v1alpha1.FioProfile) { p.BlockSize = new(resource.MustParse("1Mi")) }
	file := withJobFile("[writer]\nrw=write\nsize=8m\nbuffer_compress_percentage=50\nrefill_buffers=0\n", "8Mi")
	for name, test := range map[string]struct {
		edits   []edit
		purpose v1alpha1.StepPurpose
		ratio   int64 // 0 means that the buffers repeat
	}{
		"part of a pattern":                      {edits: []edit{half, word}, ratio: 2000},
		"part of zeros":                          {edits: []edit{half, zeros}, ratio: 2000},
		"a pattern":                              {edits: []edit{word}, ratio: sameRatio},
		"repeated, not zeros":                    {edits: []edit{again, zeros}},
		"repeated, not a pattern":                {edits: []edit{again, word}},
		"repeated, not compressible":             {edits: []edit{full, again}},
		"repeated and compressible":              {edits: []edit{half, again}},
		"compressible in full":                   {edits: []edit{full}, ratio: sameRatio},
		"zeros without a value":                  {edits: []edit{withOption("zero_buffers", "")}, ratio: sameRatio},
		"compressible, in small blocks":          {edits: []edit{file}},
		"compressible, in a layout's large ones": {edits: []edit{file}, purpose: v1alpha1.StepPrepare, ratio: 2000},
		"random, in small blocks":                {},
		"random, in large blocks":                {edits: []edit{large}, ratio: usualRatio},
	} {
		got := patternOf(profileWith(test.edits...), &engine.Step{Purpose: test.purpose})
		if got.RatioMilli != test.ratio || (got.Repeats == "") == (test.ratio == 0) {
			t.Errorf("%s: %+v, want a ratio of %d", name, got, test.ratio)
		}
	}
}
