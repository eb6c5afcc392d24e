package detect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// small returns a drain of one or two minutes, as in a demo: samples of one second, drops by a factor of at least 2,
// noise of up to 5 % with a correlation of up to 0.8, and dips of up to 3 s.
func small(random *rand.Rand, drops int, dips bool) scenario {
	m := newMaker(random, 45, 130)
	m.interval = 1
	m.length = float64(int(m.length))
	m.deviation = m.logUniform(0.002, 0.05)
	m.correlation = pick(random, 0, 0.3, 0.6, 0.8)
	m.steps(drops, 2, 20)
	if drops == 1 {
		m.drops[0] = m.uniform(15, m.length-25)
	}
	if dips {
		for range 1 + random.IntN(4) {
			start := m.uniform(0, m.length-4)
			m.dips = append(m.dips, [3]float64{start, start + m.uniform(1, 3), m.uniform(0, 0.7)})
		}
	}
	return m.finish()
}

// smallScore counts how the live detector, with short times, did on one family of small drains.
type smallScore struct {
	name                                               string
	series, drops, certain, inTime, far, early, enough int
	delays, waits                                      []float64
}

func (c *smallScore) add(t *testing.T, s scenario) {
	t.Helper()
	const allowedSeconds, nearSeconds = 15, 3.5
	c.series++
	live := NewLive(LiveOptions{LastingSeconds: 10, BaselineSeconds: 10})
	last := LiveState{}
	decided, measured := 0.0, 0.0
	for _, sample := range s.samples {
		state, err := live.Add(sample)
		if err != nil {
			t.Fatal(err)
		}
		if state.Drops > last.Drops {
			switch {
			case len(s.drops) == 0 || sample.EndSeconds < s.drops[0]:
				c.early++
			case decided == 0:
				decided = sample.EndSeconds
				if math.Abs(state.Seconds-s.drops[0]) > nearSeconds {
					c.far++
				}
			}
		}
		if state.Enough && measured == 0 {
			measured = sample.EndSeconds
		}
		last = state
	}
	if len(s.drops) == 0 {
		return
	}
	c.drops++
	if decided == 0 {
		return
	}
	c.certain++
	c.delays = append(c.delays, decided-s.drops[0])
	if decided-s.drops[0] <= allowedSeconds {
		c.inTime++
	}
	if measured > 0 {
		c.enough++
		c.waits = append(c.waits, measured-s.drops[0])
	}
}

// TestLiveSmall checks the live detector with short times on small drains.
func TestLiveSmall(t *testing.T) { watchSmall(t, seedsOf(60)) }

func watchSmall(t *testing.T, seeds int) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintln(&text, "| in small | series | certain, % (of) | within 15 s, % (of) | median delay, s | more than 3.5 s off, % (of) | false alarms | measured well enough before the end, % (of) | median seconds to that |")
	fmt.Fprintln(&text, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for f, family := range []family{
		{name: "step", make: func(r *rand.Rand) scenario { return small(r, 1, false) }},
		{name: "step and dips of 3 s", make: func(r *rand.Rand) scenario { return small(r, 1, true) }},
		{name: "level", never: true, make: func(r *rand.Rand) scenario { return small(r, 0, false) }},
		{name: "level and dips of 3 s", never: true, make: func(r *rand.Rand) scenario { return small(r, 0, true) }},
	} {
		c := smallScore{name: family.name}
		for seed := range seeds {
			c.add(t, family.make(rand.New(rand.NewPCG(firstSeed()+uint64(seed), uint64(1000+f)))))
		}
		fmt.Fprintf(&text, "| %s | %d | %s | %s | %.1f | %s | %d | %s | %.1f |\n", c.name, c.series, share(c.certain, c.drops), share(c.inTime, c.drops),
			median(c.delays), share(c.far, c.certain), c.early, share(c.enough, c.certain), median(c.waits))
		if c.early*500 > c.series {
			t.Errorf("%s: %d false alarms", c.name, c.early)
		}
		least := 0.99
		if strings.Contains(c.name, "dips") {
			least = 0.88 // dips in the first ten seconds after the drop delay the decision
		}
		if float64(c.inTime) < least*float64(c.drops) {
			t.Errorf("%s: %d of %d within 15 s", c.name, c.inTime, c.drops)
		}
	}
	t.Log("\n" + text.String())
}

// TestLiveSmallByHand checks a burst of 20 s with a dip, followed by an equally long baseline.
func TestLiveSmallByHand(t *testing.T) {
	for _, factor := range []float64{2, 5, 20} {
		random := rand.New(rand.NewPCG(7, 7))
		live := NewLive(LiveOptions{LastingSeconds: 10, BaselineSeconds: 10})
		decided, enough := 0.0, 0.0
		for i := range 40 {
			rate := 1e8
			switch {
			case i == 8 || i == 9 || i == 10:
				rate = 1e7 // dip
			case i == 20:
				rate = 0.5e8 + 0.5e8/factor
			case i > 20:
				rate = 1e8 / factor
			}
			state, err := live.Add(Sample{float64(i), float64(i) + 1, rate * (1 + 0.03*random.NormFloat64())})
			if err != nil {
				t.Fatal(err)
			}
			if state.Certain && decided == 0 {
				decided = float64(i) + 1
				if math.Abs(state.Seconds-20.5) > 1 {
					t.Errorf("factor %g: the drop is at %.1f s", factor, state.Seconds)
				}
			}
			if state.Enough && enough == 0 {
				enough = float64(i) + 1
				if math.Abs(state.After.Value/(1e8/factor)-1) > 0.03 {
					t.Errorf("factor %g: the baseline is %.4g", factor, state.After.Value)
				}
			}
		}
		if decided < 30 || decided > 35 || enough < decided || enough > 38 {
			t.Errorf("factor %g: decided at %.1f s, enough at %.1f s", factor, decided, enough)
		}
	}
}
