package compare_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/detect"
)

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		baseline, other compare.Value
		better          compare.Direction
		share           float64
		verdict         compare.Verdict
	}{
		"faster":                  {compare.Within(100, 1), compare.Within(110, 1), compare.HigherIsBetter, 0.10, compare.OtherBetter},
		"slower":                  {compare.Within(110, 1), compare.Within(99, 1), compare.HigherIsBetter, -0.10, compare.BaselineBetter},
		"longer wait":             {compare.Within(100, 1), compare.Within(150, 1), compare.LowerIsBetter, 0.50, compare.BaselineBetter},
		"shorter wait":            {compare.Within(100, 1), compare.Within(50, 1), compare.LowerIsBetter, -0.50, compare.OtherBetter},
		"within chance":           {compare.Within(100, 4), compare.Within(105, 4), compare.HigherIsBetter, 0.05, compare.NoDifference},
		"below what is resolved":  {compare.Within(1000, 0), compare.Within(1004, 0), compare.HigherIsBetter, 0.004, compare.NoDifference},
		"no interval":             {compare.WithoutInterval(100), compare.Within(200, 1), compare.HigherIsBetter, 1, compare.NotJudged},
		"exact":                   {compare.Within(1000, 0), compare.Within(3750, 0), compare.HigherIsBetter, 2.75, compare.OtherBetter},
		"both nothing":            {compare.WithoutInterval(0), compare.WithoutInterval(0), compare.HigherIsBetter, 0, compare.NoDifference},
		"reaches down to nothing": {compare.Between(10, 0, 40), compare.Within(30, 1), compare.HigherIsBetter, 2, compare.NoDifference},
		"one round":               {compare.FromRounds(100, 0, 1), compare.FromRounds(200, 1, 5), compare.HigherIsBetter, 1, compare.NotJudged},
		"rounds":                  {compare.FromRounds(100, 2, 5), compare.FromRounds(110, 2, 5), compare.HigherIsBetter, 0.10, compare.OtherBetter},
		"two rounds":              {compare.FromRounds(100, 2, 2), compare.FromRounds(110, 2, 2), compare.HigherIsBetter, 0.10, compare.NoDifference},
	} {
		d, ok := compare.Of(c.baseline, c.other, c.better, 0.005)
		if !ok || math.Abs(d.Share-c.share) > 1e-9 || d.Verdict != c.verdict {
			t.Errorf("%s: %+v, %v; want %v and verdict %v", name, d, ok, c.share, c.verdict)
		}
	}
	for _, bad := range [][2]float64{{0, 1}, {1, 0}, {-1, 1}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		if d, ok := compare.Of(compare.WithoutInterval(bad[0]), compare.WithoutInterval(bad[1]), compare.HigherIsBetter, 0); ok {
			t.Errorf("%v: %+v", bad, d)
		}
	}
}

// TestSwapMirrors checks that swapping the two figures gives the opposite verdict and reciprocal bounds.
func TestSwapMirrors(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	one := func() compare.Value {
		value := math.Exp(random.NormFloat64())
		switch random.IntN(4) {
		case 0:
			return compare.WithoutInterval(value)
		case 1:
			return compare.Between(value, value*(1-random.Float64()), value*(1+3*random.Float64()))
		}
		return compare.Within(value, value*0.3*random.Float64())
	}
	mirror := map[compare.Verdict]compare.Verdict{compare.OtherBetter: compare.BaselineBetter, compare.BaselineBetter: compare.OtherBetter}
	for range 20_000 {
		a, b, direction := one(), one(), compare.Direction(random.IntN(2))
		there, ok1 := compare.Of(a, b, direction, 0.01)
		back, ok2 := compare.Of(b, a, direction, 0.01)
		want := there.Verdict
		if swapped, found := mirror[want]; found {
			want = swapped
		}
		near := func(x, y float64) bool { return math.Abs((1+x)*(1+y)-1) < 1e-9 }
		if !ok1 || !ok2 || back.Verdict != want || !near(there.Share, back.Share) ||
			there.Known && (!near(there.Lower, back.Upper) || !near(there.Upper, back.Lower)) {
			t.Fatalf("%+v and %+v: %+v, and from the other side %+v", a, b, there, back)
		}
		if there.Known && !(there.Lower <= there.Share && there.Share <= there.Upper) {
			t.Fatalf("%+v lies outside of its interval", there)
		}
	}
}

// series returns one-second samples of a level with noise. Neighbouring samples have a correlation of 0.5.
func series(random *rand.Rand, seconds int, level, noise float64) []detect.Sample {
	const correlation = 0.5
	samples := make([]detect.Sample, seconds)
	value := random.NormFloat64()
	for i := range samples {
		samples[i] = detect.Sample{StartSeconds: float64(i), EndSeconds: float64(i + 1), Rate: max(level*(1+noise*value), 0)}
		value = correlation*value + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
	}
	return samples
}

func valueOf(samples []detect.Sample) compare.Value {
	sum := 0.0
	for _, s := range samples {
		sum += s.Rate / float64(len(samples))
	}
	half, ok := detect.MeanError(samples)
	if !ok {
		return compare.WithoutInterval(sum)
	}
	return compare.Within(sum, half)
}

// TestFalseAndFound checks that at least 95 % of pairs with equal true rates are judged equal, and that true
// differences of 5 % are found as often as promised. The table in docs/design/0014-compare.md is the logged output.
func TestFalseAndFound(t *testing.T) {
	const pairs = 2000
	for _, c := range []struct {
		seconds int
		noise   float64
		found   float64 // least share of true differences of 5 % that must be found
	}{
		{3, 0.02, 0}, {20, 0.02, 0.55}, {20, 0.05, 0.10}, {60, 0.02, 0.99}, {60, 0.05, 0.70}, {60, 0.10, 0.2}, {300, 0.05, 0.99}, {300, 0.10, 0.85}, {900, 0.10, 0.99}, {900, 0.20, 0.75},
	} {
		random := rand.New(rand.NewPCG(uint64(c.seconds), uint64(1000*c.noise)))
		same, found, wrong, twice := 0, 0, 0, 0
		for range pairs {
			baseline := valueOf(series(random, c.seconds, 100, c.noise))
			if d, _ := compare.Of(baseline, valueOf(series(random, c.seconds, 100, c.noise)), compare.HigherIsBetter, 0); d.Verdict == compare.NoDifference {
				same++
			}
			if d, _ := compare.Of(baseline, valueOf(series(random, c.seconds, 200, c.noise)), compare.HigherIsBetter, 0); d.Verdict == compare.OtherBetter {
				twice++
			}
			switch d, _ := compare.Of(baseline, valueOf(series(random, c.seconds, 105, c.noise)), compare.HigherIsBetter, 0); d.Verdict {
			case compare.OtherBetter:
				found++
			case compare.BaselineBetter:
				wrong++
			case compare.NotJudged, compare.NoDifference:
			}
		}
		share := func(count int) float64 { return 100 * float64(count) / pairs }
		t.Logf("| %d | %.0f %% | %.1f %% | %.1f %% | %.2f %% | %.1f %% |", c.seconds, 100*c.noise, share(same), share(found), share(wrong), share(twice))
		if share(twice) < 99 {
			t.Errorf("%d s, noise %.2f: twice the rate is found in %.1f %%", c.seconds, c.noise, share(twice))
		}
		if share(same) < 95 {
			t.Errorf("%d s, noise %.2f: only %.1f %% of the equal pairs are judged equal", c.seconds, c.noise, share(same))
		}
		if share(found) < 100*c.found {
			t.Errorf("%d s, noise %.2f: 5 %% are found in %.1f %%, promised are %.0f %%", c.seconds, c.noise, share(found), 100*c.found)
		}
		if share(wrong) > 0.1 {
			t.Errorf("%d s, noise %.2f: the slower one is judged better in %.2f %%", c.seconds, c.noise, share(wrong))
		}
	}
}

// TestFromRounds checks that half the width of the interval is the standard error times the 97.5 % quantile of
// Student's t, with quantiles from published tables.
func TestFromRounds(t *testing.T) {
	for rounds, quantile := range map[int]float64{2: 12.7062, 3: 4.3027, 6: 2.5706, 7: 2.4469, 11: 2.2281, 31: 2.0423, 121: 1.9799} {
		got := compare.FromRounds(1000, math.Sqrt(float64(rounds)), rounds)
		if math.Abs(got.Upper-1000-quantile) > 1e-4 || math.Abs(1000-got.Lower-quantile) > 1e-4 {
			t.Errorf("%d rounds: %+v, want 1000 +- %g", rounds, got, quantile)
		}
	}
}
