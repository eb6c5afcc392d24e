package limits

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// world simulates a store, machines and a load with several limits in series. The lowest limit determines the rate. The
// parameters are random and hidden from the attribution, which gets what a user would have: nominal limits that differ
// from the real ones by some percent, and figures with noise.
type world struct {
	random    *rand.Rand
	load      Load
	truth     Cause
	computed  Computed
	measured  Measured
	baseDelay float64
	depth     float64
	// ramp is true if the run has steps with one outstanding operation and with more.
	ramp     bool
	caps     []limitInTheWorld
	rawDisks float64 // operations per second of the disks without a cache
}

// limitInTheWorld is a real limit of the rate, in operations per second.
type limitInTheWorld struct {
	cause      Cause
	operations float64
	// generator is true if requests wait in the client instead of the storage.
	generator bool
	// perDepth is true if the limit grows with the queue depth.
	perDepth bool
}

// between draws a value from a range, uniformly on a logarithmic scale.
func (w *world) between(low, high float64) float64 {
	return low * math.Pow(high/low, w.random.Float64())
}

func (w *world) chance(of float64) bool { return w.random.Float64() < of }

// about adds relative noise to a value.
func (w *world) about(value, noise float64) float64 {
	return value * (1 + noise*min(2.5, max(-2.5, w.random.NormFloat64())))
}

// documented adds a limit of the catalog. Its real value differs slightly.
func (w *world) documented(l Limit, cached float64, cause Cause, followed float64) {
	l.Units = max(1, l.Units)
	honest := 0.95 + 0.07*w.random.Float64()
	rate := l.Baseline
	if l.Burst > 0 {
		fill := Fill{Most: 100, Least: 20 + 80*w.random.Float64()}
		rate = l.Burst
		if w.chance(0.4) { // the credits are spent
			rate, cause = l.Baseline, CauseCredits
			fill = Fill{Most: 2 * w.random.Float64()}
			if w.chance(0.5) {
				fill = Fill{Emptied: true}
			}
		}
		if w.chance(followed) {
			w.measured.Credits[l.Name] = fill
		} else if w.chance(0.5) { // the credits are unknown, as at the start of a run
			w.measured.Credits[l.Name] = Fill{Most: 100}
		}
	}
	operations := rate * honest
	if l.Dimension == Bytes {
		operations /= w.load.BlockBytes
	}
	if l.CachedReadsPass {
		w.rawDisks = min(w.rawDisks, operations)
		operations /= max(1-cached, 1e-9)
	}
	w.computed.Limits = append(w.computed.Limits, l)
	w.caps = append(w.caps, limitInTheWorld{cause: cause, operations: operations})
}

// newWorld draws a random world.
func newWorld(seed, stream uint64, ramp bool) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, stream)), ramp: ramp, rawDisks: math.Inf(1)}
	w.measured.Credits = map[string]Fill{}
	w.load = Load{BlockBytes: []float64{4096, 16384, 65536, 262144, 1 << 20}[w.random.IntN(5)], Operation: []Operation{Read, Write}[w.random.IntN(2)]}
	w.measured.Load = w.load
	w.baseDelay, w.depth = w.between(200e-6, 8e-3), math.Round(w.between(1, 512))
	cached := w.cachedReads()
	burst := func(l Limit) Limit {
		if w.chance(0.5) {
			l.Burst = l.Baseline * w.between(1.5, 20)
			l.Bucket, l.Refill = l.Burst*w.between(600, 20000), l.Baseline
		}
		return l
	}
	w.documented(burst(Limit{Name: "disk throughput", Layer: LayerDisk, Dimension: Bytes, Baseline: w.between(20e6, 4e9), CachedReadsPass: true}), cached, CauseDisk, 0.85)
	w.documented(burst(Limit{Name: "disk operations", Layer: LayerDisk, Dimension: Operations, Baseline: w.between(500, 200e3), CachedReadsPass: true}), cached, CauseDisk, 0.85)
	w.documented(burst(Limit{Name: "server network", Layer: LayerNetwork, Dimension: Bytes, Baseline: w.between(50e6, 10e9)}), 0, CauseNetwork, 0.85)
	if cached >= 1 {
		w.cacheSpeed(w.rawDisks)
	}
	nodes := 1 + w.random.IntN(8)
	w.documented(Limit{Name: "instance network", Layer: LayerInstance, Dimension: Bytes, Baseline: float64(nodes) * w.between(90e6, 6e9), Units: nodes}, 0, CauseInstance, 1)
	flows := nodes * (1 + w.random.IntN(4))
	w.documented(Limit{Name: "one flow", Layer: LayerFlow, Dimension: Bytes, Baseline: float64(flows) * 625e6, Units: flows}, 0, CauseFlow, 1)
	w.caps = append(w.caps,
		limitInTheWorld{cause: CauseQueueDepth, operations: w.depth / w.baseDelay, perDepth: true},
		limitInTheWorld{cause: CauseClientCPU, operations: w.between(5e3, 1e6), generator: true},
		limitInTheWorld{cause: CauseTool, operations: w.between(5e3, 1e6), generator: true})
	if w.chance(0.2) { // an undocumented limit, such as a noisy neighbor
		w.caps = append(w.caps, limitInTheWorld{cause: CauseUnknown, operations: w.between(30e6, 4e9) / w.load.BlockBytes})
	}
	w.measure()
	return w
}

// cachedReads draws the size of the server's memory and of the data, and returns the share of reads that the memory
// serves.
func (w *world) cachedReads() float64 {
	if w.load.Operation != Read || w.chance(0.3) {
		return 0
	}
	w.computed.Cache = Cache{Bytes: w.between(1e9, 200e9)}
	w.measured.Random = w.chance(0.5)
	w.measured.WorkingSetBytes = w.computed.Cache.Bytes * w.between(0.1, 20)
	hits := min(1, w.computed.Cache.Bytes/w.measured.WorkingSetBytes)
	if hits < 1 && !w.measured.Random {
		hits = 0 // sequential reads evict the data before they read it again
	}
	return hits
}

// cacheSpeed draws the speed of the server's memory, which is faster than its disks.
func (w *world) cacheSpeed(disks float64) {
	w.caps = append(w.caps, limitInTheWorld{cause: CauseServerCache, operations: disks * w.between(1.3, 30)})
}

// at returns the limit that determines the rate if the queue is deeper by the given factor.
func (w *world) at(deeper float64) limitInTheWorld {
	least := limitInTheWorld{operations: math.Inf(1)}
	for _, limit := range w.caps {
		if limit.perDepth {
			limit.operations *= deeper
		}
		if limit.operations < least.operations {
			least = limit
		}
	}
	return least
}

// measure sets the figures that a run in this world would measure.
func (w *world) measure() {
	least := w.at(1)
	w.truth = least.cause
	m := &w.measured
	m.OperationsPerSecond = w.about(least.operations, 0.01)
	m.BytesPerSecond = m.OperationsPerSecond * w.load.BlockBytes
	m.Outstanding = w.depth
	m.LatencySeconds = w.about(w.depth/least.operations, 0.02)
	if least.generator && w.chance(0.6) { // the client computes between operations, not during them
		m.LatencySeconds = w.about(max(w.baseDelay, 0.4*w.depth/least.operations), 0.02)
	}
	if w.ramp {
		m.FloorSeconds = w.about(w.baseDelay, 0.05)
		m.DeeperGain = w.about(w.at(2).operations/least.operations, 0.01)
	}
	for _, limit := range w.caps {
		switch limit.cause {
		case CauseClientCPU:
			m.CPUShare = min(1, w.about(least.operations/limit.operations, 0.02))
		case CauseTool:
			if w.chance(0.7) {
				m.Asked = Rate{OperationsPerSecond: w.about(limit.operations, 0.02)}
			}
		case CauseDisk, CauseLimit, CauseNetwork, CauseFlow, CauseInstance, CauseCredits, CauseServerCache, CauseQueueDepth, CauseUnknown:
		}
	}
}

// scenarios runs the attribution in simulated worlds until it has seen each true cause the given number of times.
func scenarios(t *testing.T, stream uint64, ramp bool, each int) tally {
	t.Helper()
	table := map[Cause]*tally{}
	all := []Cause{CauseDisk, CauseNetwork, CauseFlow, CauseInstance, CauseCredits, CauseServerCache, CauseClientCPU, CauseQueueDepth, CauseTool, CauseUnknown}
	for _, cause := range all {
		table[cause] = &tally{}
	}
	confused := map[string]int{}
	for seed := uint64(1); slices.ContainsFunc(all, func(c Cause) bool { return table[c].scenarios < each }); seed++ {
		w := newWorld(seed, stream, ramp)
		of := table[w.truth]
		if of.scenarios == each {
			continue
		}
		got := w.computed.Attribute(w.measured)
		of.count(got, w.truth)
		if first := got.Suspects[0].Cause; first != w.truth {
			confused[fmt.Sprintf("%s for %s", first, w.truth)]++
		}
	}
	sum := tally{}
	t.Logf("%-12s %9s %9s %9s %9s", "true cause", "scenarios", "in set", "first", "tied")
	for _, cause := range all {
		of := table[cause]
		t.Logf("%-12s %9d %9d %9d %9d", cause, of.scenarios, of.inSet, of.first, of.tied)
		sum = tally{sum.scenarios + of.scenarios, sum.inSet + of.inSet, sum.first + of.first, sum.tied + of.tied, sum.causes + of.causes}
	}
	t.Logf("%-12s %9d %8.1f%% %8.1f%% %8.1f%%; %.2f causes in a set", "all", sum.scenarios, sum.percent(sum.inSet), sum.percent(sum.first), sum.percent(sum.tied), sum.percent(sum.causes)/100)
	t.Logf("named first in place of the true one: %v", confused)
	return sum
}

// tally counts the scenarios with the same true cause.
type tally struct{ scenarios, inSet, first, tied, causes int }

// count adds a scenario. If suspects tie, the true cause does not count as first.
func (of *tally) count(got Attribution, truth Cause) {
	of.scenarios++
	named := map[Cause]bool{}
	for _, suspect := range got.Suspects {
		named[suspect.Cause] = true
	}
	of.causes += len(named)
	if slices.ContainsFunc(got.Suspects, func(s Suspect) bool { return s.Cause == truth }) {
		of.inSet++
	}
	switch {
	case got.Ambiguous:
		of.tied++
	case got.Suspects[0].Cause == truth:
		of.first++
	}
}

func (of tally) percent(part int) float64 { return 100 * float64(part) / float64(of.scenarios) }

// TestSimulatedScenarios checks 1,000 scenarios, 100 per true cause. The cause must be among the suspects in at least
// 95 % of them, and the first suspect in at least 85 %. The thresholds were tuned with another stream of random
// numbers.
func TestSimulatedScenarios(t *testing.T) {
	sum := scenarios(t, 2027, true, 100)
	if got := sum.percent(sum.inSet); got < 95 {
		t.Errorf("the true cause is among the suspects in %.1f %%, want at least 95 %%", got)
	}
	if got := sum.percent(sum.first); got < 85 {
		t.Errorf("the true cause is the first in %.1f %%, want at least 85 %%", got)
	}
	if got := sum.percent(sum.causes) / 100; got > 2 {
		t.Errorf("a set names %.2f causes: whoever names all is always right", got)
	}
}

// TestSimulatedScenariosOfOneStep checks runs that have no steps with one outstanding operation and with more. Without
// those steps, nothing proves a queue depth that is too low, so it must never be suspected. The true cause must be
// among the suspects in at least 85 % of the scenarios.
func TestSimulatedScenariosOfOneStep(t *testing.T) {
	sum := scenarios(t, 2028, false, 100)
	if got := sum.percent(sum.inSet); got < 85 {
		t.Errorf("the true cause is among the suspects in %.1f %%, want at least 85 %%", got)
	}
	for seed := range uint64(2000) {
		w := newWorld(seed, 2029, false)
		for _, suspect := range w.computed.Attribute(w.measured).Suspects {
			if suspect.Cause == CauseQueueDepth {
				t.Fatalf("seed %d: the queue depth is suspected without proof: %+v", seed, suspect)
			}
		}
	}
}
