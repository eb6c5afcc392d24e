package detect

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// The recording in testdata/qemu-burst is from a disk that QEMU throttles; its README.md has the true values. The tests
// in this file fail on commit 01730a6, which does not find bursts shorter than about a tenth of the series.

const mebi = 1 << 20

// shortBurst returns a series like those in the table of testdata/qemu-burst/README.md: 60 MB/s for some seconds, then
// 7 to 9 MiB/s.
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

// differs returns how the result of a series with one drop differs from the expected one, or "". off is the allowed
// relative error of the levels.
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

// recorded returns the recorded drain of testdata/qemu-burst.
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
			continue // header line
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

// TestRecordedBurst checks the recorded drain, extended to different lengths with random samples of its baseline.
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

// opening describes a burst at the start of a series, with noise and optionally a ramp-up and a dip.
type opening struct {
	burst                  int
	factor                 float64
	deviation, correlation float64
	rampUp, dip            int // in samples
}

func (o opening) String() string {
	return fmt.Sprintf("%d samples, factor %g, noise %g, correlation %g, ramp-up %d, dip %d", o.burst, o.factor, o.deviation, o.correlation, o.rampUp, o.dip)
}

// series returns the burst and the given number of baseline samples after it, and the time of the drop.
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

// TestMoreBaseline checks that a burst is found and its figures stay accurate, whether the baseline lasts as long as
// the burst or a thousand times as long.
func TestMoreBaseline(t *testing.T) {
	ratios := []int{1, 2, 3, 5, 7, 10, 20, 40, 70, 100, 300, 1000}
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
		interval := []float64{0.1, 1, 5}[i%3]
		random := rand.New(rand.NewPCG(uint64(i), 77))
		all, at := o.series(random, interval, 1000*o.burst)
		for _, ratio := range ratios {
			length := o.rampUp + o.burst*(1+ratio)
			if length > 10_000 {
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
			if off := 2*o.deviation + 0.01; o.dip == 0 && math.Abs(r.Burst.Value/1e8-1) > off || math.Abs(r.Baseline.Value*o.factor/1e8-1) > off {
				t.Errorf("%s, every %g s, 1:%d: burst %.4g, baseline %.4g", o, interval, ratio, r.Burst, r.Baseline)
			}
			if off := math.Abs(r.Drops[0].Seconds.Value - at); off > interval {
				t.Errorf("%s, every %g s, 1:%d: the drop is at %.2f, not %.2f s", o, interval, ratio, r.Drops[0].Seconds, at)
			}
		}
	}
}

// TestLiveShortBurst checks that the live detector confirms a drop after a burst of seconds soon after the baseline has
// lasted long enough, and not earlier.
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

// TestFastStart checks how a series that starts faster than it continues is classified: as a drop, a doubt (a fast
// start that may not be a burst), or neither.
func TestFastStart(t *testing.T) {
	const drop, doubt, neither = "a drop", "a doubt", "neither"
	part := func(count int, rate float64) []float64 {
		rates := make([]float64, count)
		for i := range rates {
			rates[i] = rate
		}
		return rates
	}
	for _, test := range []struct {
		name  string
		parts [][]float64
		want  string
	}{
		{"a level", [][]float64{part(300, 100)}, neither},
		{"a spike of one sample", [][]float64{part(1, 300), part(300, 100)}, doubt},
		{"a spike of two samples", [][]float64{part(2, 300), part(300, 100)}, doubt},
		{"three samples", [][]float64{part(3, 300), part(300, 100)}, drop},
		{"three samples after a warm-up", [][]float64{{50, 180}, part(3, 300), part(300, 100)}, drop},
		{"twelve samples after a warm-up", [][]float64{{50, 180}, part(12, 300), part(300, 100)}, drop},
		{"three samples that come back", [][]float64{part(3, 300), part(150, 100), part(3, 300), part(150, 100)}, neither},
		{"three samples, and a spike later", [][]float64{part(3, 300), part(150, 100), part(2, 300), part(150, 100)}, drop},
		{"a warm-up", [][]float64{{20, 40, 60, 80}, part(300, 100)}, neither},
		{"a dip at the start", [][]float64{part(5, 100), part(4, 10), part(300, 100)}, neither},
		{"a dip in the burst", [][]float64{part(20, 300), part(3, 10), part(20, 300), part(600, 100)}, drop},
		{"a dip of a quarter of the burst", [][]float64{part(8, 300), part(4, 10), part(5, 300), part(600, 100)}, doubt},
		{"a dip after the burst", [][]float64{part(20, 300), part(30, 100), part(3, 10), part(600, 100)}, drop},
		{"a decay", [][]float64{{300, 280, 260, 240, 220, 200, 180, 160, 140, 120}, part(300, 100)}, doubt},
		{"a cache, then a bucket", [][]float64{part(5, 900), part(120, 300), part(600, 100)}, drop},
	} {
		random := rand.New(rand.NewPCG(3, 9))
		var samples []Sample
		for _, rates := range test.parts {
			for _, rate := range rates {
				at := float64(len(samples))
				samples = append(samples, Sample{at, at + 1, rate * (1 + 0.01*random.NormFloat64())})
			}
		}
		r, err := Analyze(samples, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := neither
		if r.FastStart != nil {
			got = doubt
		}
		if r.Exhausted {
			got = drop
		}
		if got != test.want {
			t.Errorf("%s is %s, not %s: %+v", test.name, got, test.want, r.Drops)
		}
	}
}

// TestFastStartRates checks that a doubtful fast start is reported with the rate of the start and that of the rest,
// because the mean of all samples is neither. The sample in between, which is partly fast, counts for neither rate.
func TestFastStartRates(t *testing.T) {
	samples := []Sample{{0, 0.5, 300}, {0.5, 1.5, 260}, {1.5, 2.5, 130}}
	for at := 2.5; at < 100; at++ {
		samples = append(samples, Sample{at, at + 1, 100})
	}
	r, err := Analyze(samples, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := FastStart{Seconds: 1.5, Rate: (0.5*300 + 260) / 1.5, Rest: 100}
	if r.Exhausted || r.FastStart == nil || *r.FastStart != want {
		t.Errorf("got %+v, want %+v", r.FastStart, want)
	}
}

// TestIntervalsShowSamples checks that the interval of a segment's mean contains at least one sample, or the mean of a
// sixteenth of the segment. Alternating segments have two levels and are skipped.
func TestIntervalsShowSamples(t *testing.T) {
	for f, family := range families() {
		for seed := range uint64(2) {
			samples := family.make(rand.New(rand.NewPCG(seed, uint64(f)))).samples
			samples = samples[:min(len(samples), 1500)]
			r, err := Analyze(samples, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, segment := range r.Segments {
				inside := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
					return s.StartSeconds < segment.StartSeconds || s.EndSeconds > segment.EndSeconds
				})
				if segment.Shape != ShapeLevel || len(inside) < 16 {
					continue
				}
				seen := slices.ContainsFunc(inside, func(s Sample) bool { return segment.Mean.Low <= s.Rate && s.Rate <= segment.Mean.High })
				for i := range 16 {
					amount, seconds := total(inside, i*len(inside)/16, (i+1)*len(inside)/16)
					seen = seen || segment.Mean.Low*(1-1e-9) <= amount/seconds && amount/seconds <= segment.Mean.High*(1+1e-9)
				}
				if !seen {
					t.Errorf("%s, seed %d: the interval %.4g of %.0f to %.0f s contains no sample", family.name, seed, segment.Mean, segment.StartSeconds, segment.EndSeconds)
				}
			}
		}
	}
}
