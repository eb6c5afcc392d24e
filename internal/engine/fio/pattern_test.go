package fio

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// The pattern of a job file follows from its options, however they are written.
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
