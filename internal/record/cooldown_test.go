package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestUntilCreditsAtASlowRefill checks that a cooldown that waits for credits lasts until the bucket is full at the
// refill that a redrain has measured, although the documented refill is faster. maxDuration still limits it.
func TestUntilCreditsAtASlowRefill(t *testing.T) {
	const full = 468_000 / 8 * time.Second // 468 GB at the measured 8 MB/s
	for name, test := range map[string]struct {
		most *v1alpha1.Duration
		want time.Duration
	}{
		"without maxDuration": {want: full},
		"with maxDuration":    {most: new(v1alpha1.Duration("9h")), want: 9 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			spec := builders.Benchmark("b").Target("share").Throughput("32M", "260M", "468G", "16M").
				BurstDrain("burst", "2m", "6h").Redrain("refill", "1h").UntilCredits("wait", 100).Run()
			spec.Phases[2].Cooldown.MaxDuration = test.most
			planned, problems := plan.Make(spec, 1)
			if len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			start := metav1.NewMicroTime(builders.Start)
			run := &v1alpha1.BenchmarkRun{Spec: v1alpha1.BenchmarkRunSpec{Run: *spec, Steps: planned.Freeze()}}
			run.Status.StartTime = &start
			run.Status.Phases = []v1alpha1.PhaseResult{{Name: "refill", Targets: []v1alpha1.TargetResult{{Target: "share", Burst: &v1alpha1.BurstResult{
				Bytes: &v1alpha1.BurstSeries{Refill: &v1alpha1.Estimate{Value: 8e6}, RefillSource: "Measured"}}}}}}
			step := stepOf(run, planned.Steps[len(planned.Steps)-1])
			if got := min(step.Until.Sub(start.Time), step.Limit); got != test.want {
				t.Errorf("the cooldown waits until %s after the start, for at most %s; want %s", step.Until.Sub(start.Time), step.Limit, test.want)
			}
		})
	}
}
