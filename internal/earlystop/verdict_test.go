package earlystop

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/plan"
)

// TestResultConfirmsTheEnd checks that the final analysis agrees with the decision to end a drain: it finds the drop
// and both levels, even if the clients stop a few seconds after the decision.
func TestResultConfirmsTheEnd(t *testing.T) {
	const rate, lowRate, stops = 60e6, 10e6, 5
	for _, least := range []time.Duration{20 * time.Second, 2 * time.Minute} {
		for _, burst := range []int{20, 30, 60, 100, 160, 250, 382, 700, 1500, 3600} {
			for _, deviation := range []float64{0, 0.01, 0.03, 0.05} {
				t.Run(fmt.Sprintf("%s, burst of %d s, noise of %g", least, burst, deviation), func(t *testing.T) {
					t.Parallel()
					random := rand.New(rand.NewPCG(uint64(burst), uint64(1000*deviation)+uint64(least)))
					d := newDrain(plan.Step{MinDuration: least}, 0, false)
					var samples []detect.Sample
					for i, left := 0, stops; left > 0; i++ {
						if i > 2*burst+600 {
							t.Fatal("it was never ended")
						}
						level := rate
						if i >= burst {
							level = lowRate
						}
						s := detect.Sample{StartSeconds: float64(i), EndSeconds: float64(i + 1), Rate: level * (1 + deviation*random.NormFloat64())}
						samples = append(samples, s)
						if why := d.add(second{Sample: s}); why != "" {
							left--
							confirmed(t, samples, burst, why)
						}
					}
				})
			}
		}
	}
}

// confirmed checks that the analysis finds one drop, with both levels close to the mean rates of the samples.
func confirmed(t *testing.T, samples []detect.Sample, burst int, why string) {
	t.Helper()
	if len(samples) <= burst {
		t.Fatalf("it was ended after %d s, in the burst: %s", len(samples), why)
	}
	found, err := detect.Analyze(samples, detect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !found.Exhausted || len(found.Drops) != 1 {
		t.Fatalf("it was ended after %d s: %s; the result has %d drops", len(samples), why, len(found.Drops))
	}
	for _, level := range []struct {
		name    string
		found   detect.Estimate
		samples []detect.Sample
	}{{"burst", found.Burst, samples[:burst]}, {"baseline", found.Baseline, samples[burst:]}} {
		if truth := meanRate(level.samples); math.Abs(level.found.Value/truth-1) > 0.02 {
			t.Errorf("after %d s the %s is %g, and was %g", len(samples), level.name, level.found.Value, truth)
		}
	}
}

func meanRate(samples []detect.Sample) float64 {
	sum := 0.0
	for _, s := range samples {
		sum += s.Rate
	}
	return sum / float64(len(samples))
}
