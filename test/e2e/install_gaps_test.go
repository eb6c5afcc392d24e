package e2e

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/series"
)

// noGaps checks that the measured points of each step follow each other without gaps.
func noGaps(s *space, run *v1alpha1.BenchmarkRun) {
	s.Helper()
	var kept corev1.ConfigMapList
	must(s.T, s.api.List(s.Context(), &kept, client.InNamespace(s.namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}))
	points := map[string]int{}
	for _, one := range kept.Items {
		text := one.BinaryData[objects.SeriesKey]
		if len(text) == 0 {
			continue
		}
		log, err := series.Decode(text)
		must(s.T, err)
		for _, step := range log.Steps {
			for _, target := range step.Targets {
				points[step.ID] += checkPoints(s, step.ID, target.Points)
			}
		}
	}
	for _, step := range run.Status.Steps {
		// A layout of less than a second has no points.
		if points[step.ID] == 0 && step.ID != "00-layout" {
			s.Errorf("the run has kept no measured point of step %s", step.ID)
		}
	}
}

// checkPoints counts the measured points of a step and checks that each begins where the previous one ended. A gap
// between warm-up and first measured point is allowed.
func checkPoints(s *space, step string, points []series.Point) int {
	s.Helper()
	var first, last int64
	count := 0
	for _, point := range points {
		if point.State != series.Measured {
			continue
		}
		if count > 0 && point.StartNanoseconds != last {
			s.Errorf("step %s: nothing was measured for %s", step, time.Duration(point.StartNanoseconds-last))
		}
		if count == 0 {
			first = point.StartNanoseconds
		}
		last = point.EndNanoseconds
		count++
	}
	s.Logf("step %s: %d measured points over %s", step, count, time.Duration(last-first))
	return count
}
