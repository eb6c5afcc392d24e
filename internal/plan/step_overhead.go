package plan

import (
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// handling is the time in each step during which no load runs, because tools start, results are collected, and the next
// step begins. TestDeadTime measured 0.3 to 0.7 s with one to eight clients on two processors; pods are at least as
// fast.
const handling = 500 * time.Millisecond

// launching is the additional time of a step in which mpirun starts the tools on all clients.
const launching = time.Second

// overhead returns the time during a step in which no load runs. Advance the forecasts to the end of the step before
// calling overhead, because the time to complete operations in flight depends on the credits that are left then.
func (p *phaseMaker) overhead(step *Step) time.Duration {
	if step.Purpose == Idle {
		return 0
	}
	longest, begins := 0.0, handling
	for _, target := range step.Targets {
		longest = max(longest, p.inFlightSeconds(step, target))
		if p.loads[target].SpansClients {
			begins = handling + launching
		}
	}
	return begins + time.Duration(longest*float64(time.Second)).Round(100*time.Millisecond)
}

// inFlightSeconds returns how many seconds a target needs to complete the operations in flight when a load ends.
// Without credits this can take seconds: 32 operations of 1 MiB take 4 s at 8 MB/s. It returns 0 for the cells of a
// sweep, because their order depends on the seed.
func (p *phaseMaker) inFlightSeconds(step *Step, target string) float64 {
	one, load := p.forecasts[target], p.loads[target]
	if one == nil || step.WorkBound() || step.Kind == v1alpha1.PhaseSweep || p.phase.Expect == v1alpha1.ExpectServerCache || !math.IsInf(p.demand(step, target), 1) {
		return 0
	}
	demand, ok := p.demands.demand(load.spec, step.For(target))
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

// coarse reports whether the drain's length is unpredictable because few operations complete per second. The baseline
// then varies by one operation per sample, and takes longer to measure precisely enough. The number of whole operations
// per second varies by half an operation, so over n seconds the mean has an error of 1.96 x 0.5 / sqrt(n). This error
// is less than 2 % of a rate above 50 / sqrt(n) operations per second.
func (p *phaseMaker) coarse(step *Step) bool {
	const known = 50
	return slices.ContainsFunc(step.Targets, func(target string) bool {
		one := p.forecasts[target]
		if one == nil || step.Redrain {
			return false
		}
		demand, ok := p.demands.demand(p.loads[target].spec, step.For(target))
		return ok && demand.Load.BlockBytes > 0 && one.account.Bucket().Baseline/demand.Load.BlockBytes < known/math.Sqrt(step.LeastBaseline().Seconds())
	})
}
