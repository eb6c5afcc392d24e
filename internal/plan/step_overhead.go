package plan

import (
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// handling is what a step takes beside its load: its tools start, their results are collected, the next step is begun.
// It was measured with one to eight clients on two processors (0.3 to 0.7 s), and pods are no slower: see TestDeadTime.
const handling = 500 * time.Millisecond

// launching is how much longer it takes where mpirun starts the tools on all clients.
const launching = time.Second

// around is how long a step takes beside the time that it loads for. Its accounts are those of its end.
func (p *phaseMaker) around(step *Step) time.Duration {
	if step.Purpose == Idle {
		return 0
	}
	longest, begins := 0.0, handling
	for _, target := range step.Targets {
		longest = max(longest, p.tail(step, target))
		if p.loads[target].engine.SpansClients() {
			begins = handling + launching
		}
	}
	return begins + time.Duration(longest*float64(time.Second)).Round(100*time.Millisecond)
}

// tail is the seconds that a target takes for what is in flight when a load is over. On a store without credits that is
// seconds: 32 operations of 1 MiB at 8 MB/s are four. Cells of a sweep are left out, whose order is the seed's alone.
func (p *phaseMaker) tail(step *Step, target string) float64 {
	one, engine := p.tallies[target], p.loads[target].engine
	if one == nil || step.WorkBound() || step.Kind == v1alpha1.PhaseSweep || p.phase.Expect == v1alpha1.ExpectServerCache || !math.IsInf(p.demand(step, target), 1) {
		return 0
	}
	demand, ok := p.demands.demand(engine, step.Purpose, step.demandOverrides(), max(1, step.Clients))
	if !ok {
		return 0
	}
	bucket := one.account.Bucket()
	rate := bucket.Burst
	if one.account.Percent() <= nearlyEmpty {
		rate = bucket.Baseline
	}
	if rate <= 0 {
		return 0
	}
	return demand.Outstanding * demand.Load.BlockBytes / rate
}

// coarse reports whether the drain's length is unpredictable because few operations complete per second: the baseline then
// varies by one operation per sample, and takes longer to be known well enough. Over n seconds a rate of whole operations
// is known to 2 % from 50 / sqrt(n) operations per second on: their number varies by half an operation, times 1.96.
func (p *phaseMaker) coarse(step *Step) bool {
	const known = 50
	return slices.ContainsFunc(step.Targets, func(target string) bool {
		one := p.tallies[target]
		if one == nil || step.Redrain {
			return false
		}
		demand, ok := p.demands.demand(p.loads[target].engine, step.Purpose, step.demandOverrides(), max(1, step.Clients))
		return ok && demand.Load.BlockBytes > 0 && one.account.Bucket().Baseline/demand.Load.BlockBytes < known/math.Sqrt(step.settles().Seconds())
	})
}
