package record

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxWarnings is the API's limit for the warnings of a run.
const maxWarnings = 64

// Warn adds warnings about the run as a whole. It skips warnings that the run already has.
func Warn(run *v1alpha1.BenchmarkRun, warnings ...v1alpha1.Warning) {
	for _, one := range warnings {
		told := slices.ContainsFunc(run.Status.Warnings, func(w v1alpha1.Warning) bool { return w.Type == one.Type && w.Message == one.Message })
		if !told && len(run.Status.Warnings) < maxWarnings {
			run.Status.Warnings = append(run.Status.Warnings, one)
		}
	}
	fit(run)
}
