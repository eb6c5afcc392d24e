package detect

import (
	"math"
	"math/rand/v2"
	"testing"
)

// recordedShortBurst is the start of a recorded drain of a store whose bucket was nearly empty: the end of each sample
// in seconds, and its number of operations of 1 MiB. According to the store's own record, the credits lasted 2.97 to
// 2.99 s.
var recordedShortBurst = []struct{ seconds, operations float64 }{
	{0.874, 54}, {1.859, 62}, {2.859, 61}, {3.859, 14}, {4.859, 8}, {5.859, 8}, {6.859, 7}, {7.859, 8}, {8.859, 8},
	{9.859, 7}, {10.859, 8}, {11.859, 7}, {12.859, 8}, {13.859, 8}, {14.859, 7}, {15.859, 8}, {16.859, 8}, {17.859, 7},
	{18.859, 8}, {19.859, 8}, {20.859, 7}, {21.859, 8}, {22.859, 7}, {23.859, 8},
}

// TestRecordedShortBurst checks that a third sample that is 2 % lower than two whole samples of the burst is not taken
// to contain the drop, because two samples do not show how much the rate varies.
func TestRecordedShortBurst(t *testing.T) {
	var samples []Sample
	start := 0.0
	for _, s := range recordedShortBurst {
		samples = append(samples, Sample{start, s.seconds, s.operations * mebi / (s.seconds - start)})
		start = s.seconds
	}
	r, err := Analyze(samples, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Drops) != 1 {
		t.Fatalf("%d drops", len(r.Drops))
	}
	if at := r.Drops[0].Seconds; at.Low > 2.99 || at.High < 2.97 {
		t.Errorf("the drop is at %.3f s (%.3f to %.3f), not at 2.97 to 2.99", at.Value, at.Low, at.High)
	}
	if b := r.Burst; b.Low == b.High {
		t.Errorf("the burst %.4g has an interval without a width", b.Value)
	}
}

// TestShortBurstIntervals checks how often the 95 % intervals contain the truth, for bursts of a few samples and a
// baseline of a few whole operations per second.
func TestShortBurstIntervals(t *testing.T) {
	const series, leastShare, leastFound = 400, 0.88, 0.95
	for _, noise := range []float64{0, 0.003, 0.02, 0.05} {
		for _, burst := range []float64{3, 5, 8, 15} {
			random := rand.New(rand.NewPCG(uint64(burst), uint64(1000*noise)))
			var figures [3]coverage
			for range series {
				s := wholeOperations{random: random, drop: burst + random.Float64(), before: (40 + 40*random.Float64()) * mebi,
					after: (6 + 4*random.Float64()) * mebi, noise: noise}
				samples := s.series(30 + random.IntN(60))
				r, err := Analyze(samples, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Drops) == 1 {
					figures[0].add(r.Drops[0].Seconds, s.drop)
					figures[1].add(r.Burst, s.mean)
					figures[2].add(r.Drops[0].Spent, s.completed-s.after*s.drop)
				}
			}
			for i, name := range []string{"time of the drop", "burst", "amount spent"} {
				c := figures[i]
				if float64(c.covered) < leastShare*float64(c.all) || float64(c.all) < leastFound*series {
					t.Errorf("noise of %g %%, burst of %g s: of %d series, %d drops were found, and %d intervals of the %s contain the truth",
						100*noise, burst, series, c.all, c.covered, name)
				}
			}
			t.Logf("noise of %g %%, burst of %g s: found %d of %d; time %v %%, burst %v %%, spent %v %%", 100*noise, burst, figures[0].all, series,
				figures[0], figures[1], figures[2])
		}
	}
}

// wholeOperations is a store that completes whole operations of 1 MiB. Its rate drops once.
type wholeOperations struct {
	random                     *rand.Rand
	drop, before, after, noise float64
	// mean is the mean rate before the drop. completed is the number of bytes completed by then.
	mean, completed float64
}

// series returns samples of one second; the first one is shorter or longer.
func (w *wholeOperations) series(count int) []Sample {
	whole := func(amount float64) float64 { return math.Floor(amount/mebi) * mebi }
	samples := make([]Sample, count)
	begun := w.random.Float64() * mebi // part of the first operation done before the series
	done, start, first := begun, 0.0, 0.5+w.random.Float64()
	for i := range samples {
		end := first + float64(i)
		fast := max(min(end, w.drop)-start, 0)
		last := done
		done += fast * w.before * max(1+w.noise*w.random.NormFloat64(), 0)
		if fast > 0 {
			w.mean, w.completed = (done-begun)/w.drop, whole(done)
		}
		done += (end - start - fast) * w.after
		samples[i] = Sample{start, end, (whole(done) - whole(last)) / (end - start)}
		start = end
	}
	return samples
}
