package record

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestMeasuredBucketCountsTheLayout checks that the bucket measured by a drain and a redrain includes the credits that
// a layout had spent before. In the pause between layout and drain they came back more slowly than the drain assumed. A
// cooldown must wait for a bucket of this size, and its result must name it.
func TestMeasuredBucketCountsTheLayout(t *testing.T) {
	run, planned := frozen(t, builders.Benchmark("b").Target("data").Prepare("layout").Cooldown("pause", "1h").
		BurstDrain("burst", "2m", "6h").Redrain("refill", "1h").UntilCredits("wait", 100).Run())
	start := metav1.NewMicroTime(time.Unix(0, 0))
	run.Status.StartTime = &start
	const end = 9800
	for _, step := range planned.Steps {
		switch {
		case step.Phase == "layout" && step.Purpose != plan.Idle:
			run.Status.Steps = append(run.Status.Steps, loaded(step.ID, 1, 0, 600, 250e6, 250))
		case step.Phase == "burst" && step.Purpose == plan.Drain:
			run.Status.Steps = append(run.Status.Steps, loaded(step.ID, 1, 4200, 5400, 146e6, 146))
		case step.Phase == "refill" && step.Purpose == plan.Drain:
			run.Status.Steps = append(run.Status.Steps, loaded(step.ID, 1, 9000, end, 80e6, 80))
		}
	}
	run.Status.Phases = drainAndRedrain(260e6, 32e6, 152_400e6, 12e6)
	wait := planned.Steps[len(planned.Steps)-1]
	step := stepOf(run, wait)
	// The layout spent 600 s * 238 MB/s, 3600 s * 12 MB/s came back, and the drain spent 600 s * 248 MB/s.
	if got, want := step.Until.Sub(time.Unix(end, 0)), 248_400/12*time.Second; (got - want).Abs() > time.Second {
		t.Errorf("the cooldown waits %s, want %s", got, want)
	}
	run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: wait.ID, Attempt: 1,
		StartTime: micro(time.Unix(end, 0)), EndTime: micro(step.Until)})
	history := historyOf(run, plan.NewDemandModel(&run.Spec.Run), wait, decide.Attempt{Step: wait.ID, Number: 1}, "data", wait.Clients)
	made := result.Cooldown(wait, "data", history, time.Unix(end, 0), step.Until).Cooldown
	if !strings.Contains(made.Message, "waited for 100 % of the drained bucket of 248.4 GB to refill") {
		t.Errorf("the cooldown says %q", made.Message)
	}
}

// drainAndRedrain returns the results of a drain whose rate dropped after ten minutes, with the baseline as assumed
// refill, and of a redrain that measured the refill.
func drainAndRedrain(burst, baseline, spent, refill int64) []v1alpha1.PhaseResult {
	drain, redrain := drainOf(true, "Unknown", baseline, 32), drainOf(true, "Unknown", baseline, 32)
	series, again := drain[0].Burst.Bytes, redrain[0].Burst.Bytes
	series.Burst.Value, series.Refill, series.RefillSource = burst, &v1alpha1.Estimate{Value: baseline}, "Assumed"
	drop := v1alpha1.Drop{AtNanoseconds: v1alpha1.Estimate{Value: 600e9}, Spent: &v1alpha1.Estimate{Value: spent}}
	series.Drops = []v1alpha1.Drop{drop}
	again.Refill, again.RefillSource = &v1alpha1.Estimate{Value: refill}, "Measured"
	return []v1alpha1.PhaseResult{{Name: "burst", Kind: v1alpha1.PhaseBurstDrain, Targets: drain},
		{Name: "refill", Kind: v1alpha1.PhaseCooldown, Targets: redrain}}
}

// TestMeasuredBucketAfterOneClient checks which credits come back during a step of one client out of eight: those of
// its own volume if it has one, otherwise those of the shared volume.
func TestMeasuredBucketAfterOneClient(t *testing.T) {
	shared := func() *builders.BenchmarkBuilder { return builders.Benchmark("b").Target("data").Clients(8) }
	for want, benchmark := range map[float64]*builders.BenchmarkBuilder{
		468e9: shared(),             // 1200 s * (50 - 40) MB/s, and 600 s * (800 - 40) MB/s in the drain
		510e9: shared().PerClient(), // 1200 s * (50 - 5) MB/s, and the same in the drain
	} {
		run, planned := frozen(t, benchmark.Ramp("ramp", v1alpha1.RampClients, "20m", 1, 8).
			BurstDrain("burst", "2m", "6h").Redrain("refill", "1h").UntilCredits("wait", 100).Run())
		run.Status.Steps = []v1alpha1.StepStatus{loaded(planned.Steps[0].ID, 1, 0, 1200, 50e6, 50),
			loaded(planned.Steps[2].ID, 1, 1200, 2400, 480e6, 480)}
		run.Status.Phases = drainAndRedrain(800e6, 80e6, 432e9, 40e6)
		got, _ := measuredBucket(run, plan.NewDemandModel(&run.Spec.Run), "wait", "data")
		if got.Size != want {
			t.Errorf("the bucket holds %g bytes, want %g", got.Size, want)
		}
	}
}

// TestUntilCreditsAtASlowRefill checks that a cooldown until the bucket is full uses the refill measured by a redrain,
// even if the documented refill is faster. maxDuration still applies.
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
