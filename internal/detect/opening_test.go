package detect

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// The fixture in testdata/qemu-burst is of a disk that QEMU throttles; its README.md has the truth. The tests of this file
// fail on commit 01730a6, which sees no burst that is shorter than about a tenth of the series.

const mebi = 1 << 20

// shortBurst is a series of the table in the fixture's README: 60 MB/s for some seconds, then 7 to 9 MiB a second.
func shortBurst(random *rand.Rand, burst, length int) []Sample {
	samples := make([]Sample, length)
	for i := range samples {
		rate := 60e6 * (1 + 0.01*(2*random.Float64()-1))
		if i >= burst {
			rate = float64(7+random.IntN(3)) * mebi
		}
		samples[i] = Sample{float64(i), float64(i) + 1, rate}
	}
	return samples
}

func TestShortBurst(t *testing.T) {
	for _, burst := range []int{8, 12, 17, 25, 40} {
		for _, length := range []int{60, 90, 120, 150, 180, 240, 300, 600} {
			for seed := range uint64(6) {
				r, err := Analyze(shortBurst(rand.New(rand.NewPCG(seed, uint64(burst))), burst, length), Options{})
				if err != nil {
					t.Fatal(err)
				}
				if problem := differs(r, float64(burst), 60e6, 8*mebi, 0.05); problem != "" {
					t.Errorf("%d s of %d, seed %d: %s", burst, length, seed, problem)
				}
			}
		}
	}
}

// differs says what is wrong with the result of a series with one drop, whose levels may be off by a share.
func differs(r Result, at, burst, baseline, off float64) string {
	switch {
	case !r.Exhausted || len(r.Drops) != 1:
		return fmt.Sprintf("%d drops, burst %.4g", len(r.Drops), r.Burst)
	case math.Abs(r.Drops[0].Seconds.Value-at) > 1:
		return fmt.Sprintf("the drop is at %.2f s, not %.2f", r.Drops[0].Seconds, at)
	case math.Abs(r.Burst.Value/burst-1) > off || math.Abs(r.Baseline.Value/baseline-1) > off:
		return fmt.Sprintf("burst %.4g, not %.4g; baseline %.4g, not %.4g", r.Burst, burst, r.Baseline, baseline)
	}
	return ""
}

// recorded is the drain of the fixture.
func recorded(t *testing.T) []Sample {
	t.Helper()
	file, err := os.Open("testdata/qemu-burst/drain-142s.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var samples []Sample
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var end, rate float64
		if _, err := fmt.Sscanf(lines.Text(), "%g,%g", &end, &rate); err != nil {
			continue // the header
		}
		start := 0.0
		if len(samples) > 0 {
			start = samples[len(samples)-1].EndSeconds
		}
		samples = append(samples, Sample{start, end, rate})
	}
	if len(samples) != 143 {
		t.Fatalf("%d samples", len(samples))
	}
	return samples
}

// TestRecordedBurst continues the recorded drain by samples of its last part.
func TestRecordedBurst(t *testing.T) {
	const credits, burst, refill = 900e6, 60e6, 8e6
	samples := recorded(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, length := range []int{143, 165, 180, 300, 600, 3600} {
		for len(samples) < length {
			s, last := samples[30+random.IntN(113)], samples[len(samples)-1].EndSeconds
			samples = append(samples, Sample{last, last + s.seconds(), s.Rate})
		}
		r, err := Analyze(samples, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if problem := differs(r, credits/(burst-refill), burst, refill, 0.01); problem != "" {
			t.Errorf("%d s: %s", length, problem)
			continue
		}
		if spent := r.Drops[0].Spent.Value; math.Abs(spent/credits-1) > 0.01 {
			t.Errorf("%d s: spent %.4g", length, spent)
		}
	}
}

// opening is a burst of so many samples with what may be about it, and its noise.
type opening struct {
	burst                  int
	factor                 float64
	deviation, correlation float64
	rampUp, dip            int // samples
}

func (o opening) String() string {
	return fmt.Sprintf("%d samples, factor %g, noise %g, correlation %g, ramp-up %d, dip %d", o.burst, o.factor, o.deviation, o.correlation, o.rampUp, o.dip)
}

// series has so many samples after the burst.
func (o opening) series(random *rand.Rand, interval float64, baseline int) (samples []Sample, at float64) {
	burst := o.rampUp + o.burst
	state := random.NormFloat64()
	for i := range burst + baseline {
		rate := 1e8
		switch {
		case i >= burst:
			rate /= o.factor
		case i < o.rampUp:
			rate *= (float64(i) + 0.5) / float64(o.rampUp)
		case i >= burst/2 && i < burst/2+o.dip:
			rate /= 20
		}
		state = o.correlation*state + math.Sqrt(1-o.correlation*o.correlation)*random.NormFloat64()
		samples = append(samples, Sample{float64(i) * interval, float64(i+1) * interval, rate * math.Exp(o.deviation*state)})
	}
	return samples, float64(burst) * interval
}

// TestMoreBaseline holds that a burst is found whatever comes after it is as long as it or a thousand times that, and
// that no figure gets worse by it.
func TestMoreBaseline(t *testing.T) {
	ratios := []int{1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100, 200, 300, 500, 1000}
	for i, o := range []opening{
		{burst: 3, factor: 8, deviation: 0.02},
		{burst: 3, factor: 2, deviation: 0.002},
		{burst: 4, factor: 3, deviation: 0.01},
		{burst: 5, factor: 20, deviation: 0.05},
		{burst: 6, factor: 1.5, deviation: 0.005, correlation: 0.3},
		{burst: 8, factor: 7, deviation: 0.1},
		{burst: 10, factor: 1.2, deviation: 0.005},
		{burst: 12, factor: 4, deviation: 0.05, correlation: 0.6},
		{burst: 17, factor: 7, deviation: 0.1},
		{burst: 17, factor: 7, deviation: 0.01, rampUp: 2},
		{burst: 17, factor: 7, deviation: 0.01, dip: 1},
		{burst: 30, factor: 2, deviation: 0.05, correlation: 0.3},
		{burst: 40, factor: 7, deviation: 0.02, rampUp: 4, dip: 3},
		{burst: 60, factor: 1.1, deviation: 0.01},
	} {
		for _, interval := range []float64{0.1, 1, 5} {
			random := rand.New(rand.NewPCG(uint64(i), 77))
			all, at := o.series(random, interval, 1000*o.burst)
			for _, ratio := range ratios {
				length := o.rampUp + o.burst*(1+ratio)
				if length > 20_000 {
					break
				}
				r, err := Analyze(all[:length], Options{})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Drops) != 1 {
					t.Errorf("%s, every %g s, 1:%d: %d drops, burst %.4g", o, interval, ratio, len(r.Drops), r.Burst)
					continue
				}
				if off := math.Abs(r.Drops[0].Seconds.Value - at); off > interval {
					t.Errorf("%s, every %g s, 1:%d: the drop is at %.2f, not %.2f s", o, interval, ratio, r.Drops[0].Seconds, at)
				}
			}
		}
	}
}

// TestLiveShortBurst holds that a drain whose burst takes seconds is ended soon after the baseline has lasted, and not before.
func TestLiveShortBurst(t *testing.T) {
	for _, lasting := range []float64{10, 42, 85} {
		for _, burst := range []int{3, 5, 8, 12, 17, 25, 40} {
			live := NewLive(LiveOptions{LastingSeconds: lasting, BaselineSeconds: min(lasting, 60)})
			decided := 0.0
			for _, s := range shortBurst(rand.New(rand.NewPCG(5, uint64(burst))), burst, 900) {
				state, err := live.Add(s)
				if err != nil {
					t.Fatal(err)
				}
				if state.Certain && decided == 0 {
					decided = s.EndSeconds
					if math.Abs(state.Seconds-float64(burst)) > 1 {
						t.Errorf("%d s, lasting %g: the drop is at %g s", burst, lasting, state.Seconds)
					}
				}
			}
			least := float64(burst) + lasting
			if state := live.state; decided < least || decided > 1.1*least+max(float64(burst), 12) || !state.Certain || !state.Enough || state.Drops != 1 {
				t.Errorf("%d s, lasting %g: decided at %g s, %+v", burst, lasting, decided, state)
			}
			if after := live.state.After.Value; math.Abs(after/(8*mebi)-1) > 0.03 {
				t.Errorf("%d s, lasting %g: the baseline is %.4g", burst, lasting, after)
			}
		}
	}
}
