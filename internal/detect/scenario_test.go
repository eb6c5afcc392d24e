package detect

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// scenario is a generated series together with its true values.
type scenario struct {
	samples []Sample
	// drops are the times of the drops. levels are the true means of the regimes between them, including dips.
	drops  []float64
	levels []float64
	// plain are the levels without dips.
	plain []float64
	// start is the end of the ramp-up. low and high are the two levels of an oscillating regime, or 0.
	start     float64
	low, high float64
	// isHigh reports whether the rate is on the upper level. shortest is the approximate shortest time on one level.
	isHigh   func(at float64) bool
	shortest float64
	// deviation is the standard deviation of a sample relative to its level. correlation is that of successive samples.
	deviation, correlation float64
	interval               float64
	dips                   [][3]float64 // start, end, remaining fraction of the rate
	// lost is the fraction of a level that dips take away in the long run.
	lost float64
}

// dipAtDrop returns the middle of a dip that contains the drop or is within two samples of it.
func (s scenario) dipAtDrop(i int) (middle float64, touches bool) {
	near := 2 * s.interval
	for _, dip := range s.dips {
		if dip[0]-near < s.drops[i] && s.drops[i] < dip[1]+near {
			return (dip[0] + dip[1]) / 2, true
		}
	}
	return 0, false
}

func (s scenario) String() string {
	return fmt.Sprintf("%d samples of %g s, drops %.1f, levels %.4g, noise %.3f, correlation %.2f, start %.1f",
		len(s.samples), s.interval, s.drops, s.levels, s.deviation, s.correlation, s.start)
}

// maker generates a scenario: first a rate over time, then noise, then disturbed samples.
type maker struct {
	random *rand.Rand
	scenario
	length float64
	rate   func(at float64) float64
}

func pick(random *rand.Rand, values ...float64) float64 { return values[random.IntN(len(values))] }

func (m *maker) uniform(low, high float64) float64 { return low + (high-low)*m.random.Float64() }

// logUniform returns a random value that is uniform on a logarithmic scale.
func (m *maker) logUniform(low, high float64) float64 {
	return low * math.Pow(high/low, m.random.Float64())
}

// newMaker chooses a random length, interval and noise.
func newMaker(random *rand.Rand, shortest, longest float64) *maker {
	m := &maker{random: random}
	m.interval = pick(random, 1, 5)
	m.length = math.Round(m.logUniform(shortest, longest)/m.interval) * m.interval
	m.deviation = m.logUniform(0.002, 0.1)
	m.correlation = pick(random, 0, 0.3, 0.6, 0.8, 0.9, 0.95)
	return m
}

// steps chooses random drops, at most two, and random levels between them.
func (m *maker) steps(drops int, leastRatio, mostRatio float64) {
	m.levels = []float64{m.logUniform(3e7, 1e10)}
	for range drops {
		m.levels = append(m.levels, m.levels[len(m.levels)-1]/m.logUniform(leastRatio, mostRatio))
	}
	switch drops {
	case 1:
		m.drops = []float64{m.uniform(0.2, 0.8) * m.length}
	case 2:
		m.drops = []float64{m.uniform(0.2, 0.4) * m.length, m.uniform(0.6, 0.8) * m.length}
	}
	m.rate = m.stepRate
}

func (m *maker) regime(at float64) int {
	i := 0
	for i < len(m.drops) && at >= m.drops[i] {
		i++
	}
	return i
}

func (m *maker) stepRate(at float64) float64 { return m.levels[m.regime(at)] }

// finish integrates the rate into samples and adds noise. It also computes the true means of the regimes.
func (m *maker) finish() scenario {
	n := int(m.length / m.interval)
	amounts, seconds := make([]float64, len(m.drops)+1), make([]float64, len(m.drops)+1)
	state := m.random.NormFloat64()
	for i := range n {
		start := float64(i) * m.interval
		sum, count := 0.0, 16
		for _, drop := range m.drops {
			if drop > start && drop < start+m.interval {
				count = 4000
			}
		}
		parts := float64(count)
		for part := range count {
			at := start + (float64(part)+0.5)*m.interval/parts
			rate := m.rate(at)
			for _, dip := range m.dips {
				if at >= dip[0] && at < dip[1] {
					rate *= dip[2]
				}
			}
			sum += rate / parts
			if at >= m.start {
				amounts[m.regime(at)] += rate / parts
				seconds[m.regime(at)] += 1 / parts
			}
		}
		if i > 0 {
			state = m.correlation*state + math.Sqrt(1-m.correlation*m.correlation)*m.random.NormFloat64()
		}
		m.samples = append(m.samples, Sample{StartSeconds: start, EndSeconds: start + m.interval,
			Rate: max(sum*(1+m.deviation*state), 0)})
	}
	m.plain, m.levels = m.levels, make([]float64, len(amounts))
	for i := range amounts {
		m.levels[i] = amounts[i] / seconds[i]
	}
	return m.scenario
}

// addDips adds dips of 20 to 30 s: one per ten minutes, and at least two.
func (m *maker) addDips() {
	count := max(2, int(m.length/600))
	m.lost = float64(count) * 25 * 0.65 / m.length
	for range count {
		start := m.uniform(0, m.length-40)
		m.dips = append(m.dips, [3]float64{start, start + m.uniform(20, 30), m.uniform(0, 0.7)})
	}
}

// oscillate replaces the level of the first regime with two alternating levels.
func (m *maker) oscillate(cycles float64) {
	duty, period := m.uniform(0.1, 0.9), m.length/cycles
	high := m.levels[0]
	low := high * m.uniform(0.3, 0.75)
	m.low, m.high = low, high
	jitter := make([]float64, int(2*cycles)+4)
	for i := range jitter {
		jitter[i] = m.uniform(-0.1, 0.1)
	}
	phase := m.random.Float64()
	m.shortest = period * min(0.9*duty, 1-1.1*duty)
	m.isHigh = func(at float64) bool {
		turn := at/period + phase
		whole := math.Floor(turn)
		return turn-whole < duty*(1+jitter[int(whole)])
	}
	m.rate = func(at float64) float64 {
		switch {
		case m.regime(at) > 0:
			return m.stepRate(at)
		case m.isHigh(at):
			return high
		}
		return low
	}
}

// family is a type of scenario.
type family struct {
	name string
	// never is true if the series has no drop because the credits do not run out.
	never bool
	make  func(random *rand.Rand) scenario
}

const hour = 3600.0

func families() []family { return append(exhausting(), neverExhausting()...) }

func exhausting() []family {
	return []family{
		{name: "step", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 300, 2*hour)
			m.steps(1, 1.03, 20)
			return m.finish()
		}},
		{name: "step, 2 to 12 h", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 2*hour, 12*hour)
			m.steps(1, 1.03, 20)
			return m.finish()
		}},
		{name: "step and dips", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 900, 6*hour)
			m.steps(1, 1.03, 20)
			m.addDips()
			return m.finish()
		}},
		{name: "step and outliers", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 300, 6*hour)
			m.steps(1, 1.03, 20)
			return m.spoil(0.01)
		}},
		{name: "step and gaps", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 300, 6*hour)
			m.steps(1, 1.03, 20)
			return m.loseSome()
		}},
		{name: "ramp-up and step", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 600, 6*hour)
			m.steps(1, 1.03, 20)
			m.start = m.uniform(5, 60)
			m.rate = func(at float64) float64 { return m.stepRate(at) * min(at/m.start, 1) }
			return m.finish()
		}},
		{name: "two drops", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 900, 6*hour)
			m.steps(2, 1.03, 6)
			return m.finish()
		}},
		{name: "turns and step", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 1200, 6*hour)
			m.steps(1, 4, 20)
			m.oscillate(m.uniform(8, 40))
			return m.finish()
		}},
		{name: "12,460 to 11,428", make: func(r *rand.Rand) scenario {
			m := newMaker(r, 12*hour, 12.001*hour)
			m.deviation = 0.03
			m.levels, m.drops = []float64{12.46e9, 11.428e9}, []float64{8*hour + m.uniform(0, 60)}
			m.rate = m.stepRate
			return m.finish()
		}},
	}
}

func neverExhausting() []family {
	return []family{
		{name: "level", never: true, make: func(r *rand.Rand) scenario {
			m := newMaker(r, 300, 12*hour)
			m.steps(0, 1, 1)
			return m.finish()
		}},
		{name: "level and dips", never: true, make: func(r *rand.Rand) scenario {
			m := newMaker(r, 300, 6*hour)
			m.steps(0, 1, 1)
			m.addDips()
			return m.finish()
		}},
		{name: "level and outliers", never: true, make: func(r *rand.Rand) scenario {
			m := newMaker(r, 300, 6*hour)
			m.steps(0, 1, 1)
			return m.spoil(0.01)
		}},
		{name: "drift", never: true, make: func(r *rand.Rand) scenario {
			m := newMaker(r, 300, 12*hour)
			m.steps(0, 1, 1)
			size, bend := m.uniform(-0.6, 0.3), m.uniform(0.6, 1.6)
			m.rate = func(at float64) float64 { return m.levels[0] * (1 + size*math.Pow(at/m.length, bend)) }
			return m.finish()
		}},
		{name: "sawtooth", never: true, make: func(r *rand.Rand) scenario {
			m := newMaker(r, 300, 12*hour)
			m.steps(0, 1, 1)
			size, teeth, falling := m.uniform(0.1, 0.6), m.uniform(3, 40), r.IntN(2) == 0
			m.rate = func(at float64) float64 {
				_, share := math.Modf(at / m.length * teeth)
				if falling {
					share = 1 - share
				}
				return m.levels[0] * (1 - size*share)
			}
			return m.finish()
		}},
		{name: "turns", never: true, make: func(r *rand.Rand) scenario {
			m := newMaker(r, 600, 12*hour)
			m.steps(0, 1, 1)
			m.oscillate(m.uniform(4, 40))
			return m.finish()
		}},
		{name: "tenant comes and goes", never: true, make: func(r *rand.Rand) scenario {
			m := newMaker(r, 900, 12*hour)
			m.steps(0, 1, 1)
			from := m.uniform(0.1, 0.5) * m.length
			to := from + m.uniform(0.1, 0.3)*m.length
			m.rate = func(at float64) float64 {
				if at >= from && at < to {
					return m.levels[0] * 0.6
				}
				return m.levels[0]
			}
			return m.finish()
		}},
		{name: "ramp-up and level", never: true, make: func(r *rand.Rand) scenario {
			m := newMaker(r, 600, 6*hour)
			m.steps(0, 1, 1)
			m.start = m.uniform(5, 60)
			m.rate = func(at float64) float64 { return m.levels[0] * min(at/m.start, 1) }
			return m.finish()
		}},
	}
}

// spoil multiplies the given fraction of the samples by random factors between 0.1 and 3.
func (m *maker) spoil(share float64) scenario {
	s := m.finish()
	for i := range s.samples {
		if m.random.Float64() < share {
			before := s.samples[i].Rate
			s.samples[i].Rate *= pick(m.random, 0.1, 0.5, 1.4, 2, 3)
			at := m.regime((s.samples[i].StartSeconds + s.samples[i].EndSeconds) / 2)
			s.levels[at] += (s.samples[i].Rate - before) / m.samplesOf(at)
		}
	}
	return s
}

// samplesOf returns the number of samples in a regime.
func (m *maker) samplesOf(at int) float64 {
	start, end := 0.0, m.length
	if at > 0 {
		start = m.drops[at-1]
	}
	if at < len(m.drops) {
		end = m.drops[at]
	}
	return (end - start) / m.interval
}

// loseSome removes single samples and up to three gaps of up to five percent of the series, and joins some pairs of
// samples.
func (m *maker) loseSome() scenario {
	s := m.finish()
	lost := make([]bool, len(s.samples))
	for range 1 + m.random.IntN(3) {
		from := m.random.IntN(len(lost))
		for i := from; i < min(from+1+m.random.IntN(len(lost)/20), len(lost)); i++ {
			lost[i] = true
		}
	}
	var kept []Sample
	for i := 0; i < len(s.samples); i++ {
		if lost[i] || m.random.Float64() < 0.02 {
			continue
		}
		if i+1 < len(s.samples) && !lost[i+1] && m.random.Float64() < 0.1 {
			s.samples[i+1].Rate = (s.samples[i].Rate + s.samples[i+1].Rate) / 2
			s.samples[i+1].StartSeconds = s.samples[i].StartSeconds
			continue
		}
		kept = append(kept, s.samples[i])
	}
	s.samples = kept
	return s
}
