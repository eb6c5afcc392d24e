package detect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// liveScore counts how the live detector did on one family of series.
type liveScore struct {
	name                           string
	series, found, early, returned int
	inTime, asked                  int
	delays                         []float64 // as fractions of the allowed delay
}

// TestLiveTable checks the live detector on all families of series.
func TestLiveTable(t *testing.T) { watchFamilies(t, seedsOf(1)) }

// watchFamilies runs the live detector on the given number of series per family and logs the table of results.
func watchFamilies(t *testing.T, seeds int) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintln(&text, "| family | series | certain, % | of the demanded in time, % (of) | median delay as share of the allowed | false alarms | of these taken back |")
	fmt.Fprintln(&text, "| --- | --- | --- | --- | --- | --- | --- |")
	for f, family := range families() {
		if only := os.Getenv("DETECT_ONLY"); only != "" && !strings.Contains(family.name, only) {
			continue
		}
		c := liveScore{name: family.name}
		for seed := range seeds {
			s := family.make(rand.New(rand.NewPCG(uint64(seed), uint64(f))))
			before := c.early
			c.add(t, s)
			if c.early > before {
				t.Logf("%s:%d early: %s", family.name, seed, s)
			}
		}
		if c.early*100 > c.series && !strings.Contains(c.name, "turns") && !strings.Contains(c.name, "tenant") && !strings.Contains(c.name, "sawtooth") && !strings.Contains(c.name, "dips") {
			t.Errorf("%s: %d false alarms", c.name, c.early)
		}
		delay := "-"
		if len(c.delays) > 0 {
			middle := median(c.delays)
			delay = fmt.Sprintf("%.2f", middle)
			if len(c.delays) >= 10 && middle > 1 {
				t.Errorf("%s: the median delay is %.2f of what is allowed", c.name, middle)
			}
		}
		fmt.Fprintf(&text, "| %s | %d | %.1f | %s | %s | %d | %d |\n", c.name, c.series, 100*float64(c.found)/float64(c.series),
			share(c.inTime, c.asked), delay, c.early, c.returned)
	}
	t.Log("\n" + text.String())
}

func (c *liveScore) add(t *testing.T, s scenario) {
	t.Helper()
	c.series++
	live := NewLive(LiveOptions{})
	var state LiveState
	var decided float64
	alarmed := false
	for _, sample := range s.samples {
		next, err := live.Add(sample)
		if err != nil {
			t.Fatal(err)
		}
		if next.Drops > state.Drops {
			switch {
			case len(s.drops) == 0 || next.Seconds < s.drops[0]-max(30, 0.02*s.drops[0]):
				alarmed = true
			case decided == 0:
				decided = sample.EndSeconds
			}
		}
		state = next
	}
	if alarmed {
		c.early++
		if state.Returns > 0 && (!state.Certain || len(s.drops) > 0) {
			c.returned++
		}
	}
	if len(s.drops) == 0 {
		return
	}
	length := s.samples[len(s.samples)-1].EndSeconds
	delay, allowed := math.Inf(1), max(120, 0.05*s.drops[0])
	if decided > 0 {
		c.found++
		delay = decided - s.drops[0]
	}
	if s.demanded() && !s.hard() && length-s.drops[0] > allowed {
		c.asked++
		c.delays = append(c.delays, delay/allowed)
		if delay <= allowed {
			c.inTime++
		}
	}
}

// TestLiveIntervalOfWholeBlocks checks that the interval of the baseline is not too narrow for stores that complete few
// operations. The rate alternates between 9 and 10 operations per second, so all blocks of two seconds are equal. The
// interval must still allow for one operation more or less.
func TestLiveIntervalOfWholeBlocks(t *testing.T) {
	for _, burst := range []int{382, 701, 3600} {
		live := NewLive(LiveOptions{LastingSeconds: 14, BaselineSeconds: 14})
		var state LiveState
		var err error
		for i := range burst + 240 {
			rate := 60.0
			if i >= burst {
				rate = 9 + float64(i%2)
			}
			if state, err = live.Add(Sample{float64(i), float64(i) + 1, rate}); err != nil {
				t.Fatal(err)
			}
			if state.Certain && state.After.Value > 0 {
				if half := (state.After.High - state.After.Low) / 2; half < 0.9/float64(i+1-burst) {
					t.Fatalf("burst of %d s: at %d s the interval is %g to %g", burst, i, state.After.Low, state.After.High)
				}
			}
		}
		if !state.Certain || !state.Enough || math.Abs(state.After.Value/9.5-1) > 0.02 {
			t.Errorf("burst of %d s: %+v", burst, state)
		}
	}
}

// TestLiveMemory checks that the number of blocks in memory is bounded.
func TestLiveMemory(t *testing.T) {
	live := NewLive(LiveOptions{})
	for i := range 20_000 {
		if _, err := live.Add(Sample{float64(i), float64(i) + 1, 1e8 + float64(i%7)}); err != nil {
			t.Fatal(err)
		}
		if len(live.blocks) > mostLiveBlocks || len(live.within) != len(live.blocks) || len(live.liveWindow.values) > mostLiveBlocks || cap(live.liveWindow.white.sum) > 2*mostLiveBlocks {
			t.Fatalf("%d blocks after %d samples", len(live.blocks), i)
		}
	}
}

func BenchmarkLive(b *testing.B) {
	for _, length := range []int{600, 43_200, 1_000_000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			live := NewLive(LiveOptions{})
			at := 0.0
			add := func() {
				if _, err := live.Add(Sample{at, at + 1, 1e8 * (1 + 0.03*random.NormFloat64())}); err != nil {
					b.Fatal(err)
				}
				at++
			}
			for range length {
				add()
			}
			b.ReportAllocs()
			for b.Loop() {
				add()
			}
		})
	}
}

func BenchmarkAnalyze12h(b *testing.B) {
	for _, sample := range []struct {
		name string
		make func(m *maker)
	}{
		{"step", func(m *maker) {
			m.levels, m.drops = []float64{12.46e9, 11.428e9}, []float64{8 * hour}
			m.rate = m.stepRate
		}},
		{"turns", func(m *maker) {
			m.steps(0, 1, 1)
			m.oscillate(30)
		}},
	} {
		b.Run(sample.name, func(b *testing.B) {
			m := newMaker(rand.New(rand.NewPCG(1, 1)), 12*hour, 12.001*hour)
			m.interval, m.length, m.deviation, m.correlation = 1, 12*hour, 0.03, 0.9
			sample.make(m)
			s := m.finish()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Analyze(s.samples, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
