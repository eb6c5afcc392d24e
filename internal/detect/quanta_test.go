package detect_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/storagebench/storagebench/internal/detect"
)

// TestWholeOperations checks stores that complete only a few large operations per sample after the drop. Most samples
// then have equal rates; the others are noise, not outliers.
func TestWholeOperations(t *testing.T) {
	const block = 1 << 20
	for _, baseline := range []float64{7.05, 7.2, 7.4, 7.5, 7.63, 7.8, 7.95, 38.1, 38.4, 38.9} {
		for _, seconds := range []int{60, 120, 600} {
			t.Run(fmt.Sprintf("%g a second for %d s", baseline, seconds), func(t *testing.T) {
				var samples []detect.Sample
				fall := seconds / 3
				done := 0.0
				for i := range seconds {
					rate := 8.2 * baseline
					if i >= fall {
						rate = baseline
					}
					whole := math.Floor(done+rate) - math.Floor(done)
					done += rate
					samples = append(samples, detect.Sample{StartSeconds: float64(i), EndSeconds: float64(i + 1), Rate: whole * block})
				}
				found, err := detect.Analyze(samples, detect.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if !found.Exhausted || len(found.Drops) != 1 {
					t.Fatalf("exhausted %t, %d drops", found.Exhausted, len(found.Drops))
				}
				if at := found.Drops[0].Seconds.Value; math.Abs(at-float64(fall)) > 0.5 {
					t.Errorf("it fell at %g s, not at %d", at, fall)
				}
				if got := found.Baseline.Value / block; math.Abs(got/baseline-1) > 0.01 {
					t.Errorf("baseline %g operations a second, not %g", got, baseline)
				}
			})
		}
	}
}
