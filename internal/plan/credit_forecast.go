package plan

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/credits"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
)

const (
	// nearlyFull and nearlyEmpty are the fill levels, in percent, at which a bucket counts as full or empty.
	nearlyFull, nearlyEmpty = 99.5, 2
	// minVisible is the minimum time that credits must last for their end to be visible as a drop in the rate. A drain
	// that begins with fewer credits runs for its full length, because no drop is visible. The drain after the pause of a
	// cooldown phase can still end early, because it uses the baseline of the preceding drain instead.
	minVisible = 10 * time.Second
)

// creditForecast is the expected state of a target's bucket at the current point of the plan. Credits are in bytes.
type creditForecast struct {
	account credits.Account
	// fullest is the account of the fullest bucket. It differs from account if some steps load the volumes of only some
	// clients.
	fullest credits.Account
	// spentBy holds the credits that each phase has spent since the bucket was last full.
	spentBy map[string]float64
	// ceiling is an upper bound on the credits in the bucket at this point. It is computed as if only drains spent
	// credits, because other loads, such as one operation at a time, may spend almost none.
	ceiling float64
	// perClient is true if the bucket is the sum of the buckets of each client's own volumes.
	perClient bool
}

// charge advances the forecasts to the end of a step, and stores the expected length and credits in the step.
func (p *phaseMaker) charge(step *Step) {
	took, known := p.expected(step)
	if known {
		step.Expected = took
		step.Longer = step.Purpose == Drain && p.coarse(step)
	}
	step.Credits = map[string]Credits{}
	for name, one := range p.forecasts {
		takesPart := slices.Contains(step.Targets, name)
		drains := 0.0
		if takesPart && step.Purpose == Drain {
			drains = p.demand(step, name)
		}
		one.bound(step, drains, took, known)
		if !takesPart {
			if !known {
				one.idle(step.Least())
			} else {
				one.idle(took)
			}
			continue
		}
		start, fullest := one.account, one.fullest.Percent()
		p.load(step, name, &one.account, took)
		if one.perClient && step.Clients < p.plan.ClientsPerTarget {
			one.fullest.Idle(took.Seconds())
		} else {
			p.load(step, name, &one.fullest, took)
		}
		step.Credits[name] = Credits{
			StartPercent: start.Percent(), EndPercent: one.account.Percent(), FullestPercent: fullest}
		if spent := start.Fill() - one.account.Fill(); spent > 0 {
			one.spentBy[step.Phase] += spent
		}
		if one.account.Percent() >= nearlyFull {
			clear(one.spentBy)
		}
	}
	if known {
		step.Expected += p.overhead(step)
	}
}

// load advances one account to the end of a step. took is the length of the step.
func (p *phaseMaker) load(step *Step, target string, account *credits.Account, took time.Duration) {
	switch step.Purpose {
	case Idle:
		account.Idle(took.Seconds())
	case Prepare, Precondition:
		took -= time.Duration(account.Work(p.demand(step, target), p.work(step, target)) * float64(time.Second))
		account.Idle(max(0, took).Seconds())
	case Drain:
		demand := p.demand(step, target)
		emptied := account.SecondsToEmpty(demand) <= took.Seconds()
		account.Demand(demand, took.Seconds())
		if emptied {
			account.Emptied()
		}
	case Measure:
		if p.cached(step, target) {
			account.LoadBetween(0, min(account.Bucket().Burst, p.demand(step, target)), took.Seconds())
			return
		}
		account.Demand(p.demand(step, target), took.Seconds())
	}
}

// cached reports whether the server's cache is meant to serve everything that a step reads, so the step might not spend
// any credits. It returns false for the cells of a sweep, so that the forecast does not depend on their order.
func (p *phaseMaker) cached(step *Step, target string) bool {
	demand, known := p.demands.demand(p.loads[target].spec, step.For(target))
	if !known || step.Kind == v1alpha1.PhaseSweep {
		return false
	}
	demand.expect(p.phase)
	counts := func(limit limits.Limit) bool { return limit.Bucket > 0 && !limit.CachedReadsPass }
	return demand.Load.CachedShare == 1 && !slices.ContainsFunc(p.documented[target].Limits, counts)
}

// bound advances the ceiling of a forecast to the end of a step. demand is the rate at which the step drains the
// target, or 0 if it does not. took is the length of the step or, if known is false, a lower bound on the length.
func (t *creditForecast) bound(step *Step, demand float64, took time.Duration, known bool) {
	bucket := t.account.Bucket()
	bucket.Burst = min(bucket.Burst, demand)
	switch {
	case bucket.Drains():
		if bucket.DrainSeconds(t.ceiling) <= step.Duration.Seconds() {
			t.ceiling = 0
		}
	case !known:
		t.ceiling = bucket.Size
	default:
		t.ceiling = min(bucket.Size, t.ceiling+bucket.Refill*took.Seconds())
	}
}

func (t *creditForecast) idle(took time.Duration) {
	t.account.Idle(took.Seconds())
	t.fullest.Idle(took.Seconds())
	if t.account.Percent() >= nearlyFull {
		clear(t.spentBy)
	}
}

// expected returns the expected length of a step. If known is false, this length is unknown, and took is a lower bound.
func (p *phaseMaker) expected(step *Step) (took time.Duration, known bool) {
	known = true
	switch step.Purpose {
	case Idle:
		known = step.UntilCreditsPercent == 0 || step.Duration > 0
		if !known {
			wait, _ := p.wait(step.Targets, float64(step.UntilCreditsPercent))
			return min(wait, step.Limit), false
		}
		return step.Duration, true
	case Measure:
		return step.WarmUp + step.Duration, step.Duration > 0
	case Drain, Prepare, Precondition:
	}
	took = step.MinDuration
	for _, target := range step.Targets {
		one := p.forecasts[target]
		switch {
		case p.loads[target].Opaque:
			known = false
		case step.WorkBound() && p.work(step, target) == 0:
		case one == nil:
			known = false
		case step.WorkBound():
			account := one.account
			took = max(took, time.Duration(account.Work(p.demand(step, target), p.work(step, target))*float64(time.Second)))
		case one.account.SecondsToEmpty(p.demand(step, target)) < minVisible.Seconds() && !step.Redrain:
			took = step.Duration
		default:
			fall := wholeSeconds(one.account.SecondsToEmpty(p.demand(step, target)))
			if !step.Redrain {
				fall += sampled // a drop in the rate is detected only at the end of the second in which it occurs
			}
			took = max(took, fall+step.LeastBaseline())
		}
	}
	if step.Purpose == Drain {
		if !known {
			took = step.Duration
		}
		took = min(took+sampled, step.Duration)
	}
	return took, known
}

// sampled is the delay until a change in the rate is visible in the samples, which are taken every second.
const sampled = time.Second

const (
	// A lower rate counts as a baseline if it lasts for usualLasting or for lastingPercent of the drain's minDuration,
	// whichever is shorter, but never if it lasts for less than leastLasting.
	usualLasting   = 85 * time.Second
	leastLasting   = 8 * time.Second
	lastingPercent = 70
)

// LeastBaseline returns how long a lower rate must last in a Drain to count as the baseline. The drain continues for
// that long after the credits are spent. The result is in whole seconds, because rates are measured per second.
func (s Step) LeastBaseline() time.Duration {
	return wholeSeconds(min(usualLasting, max(leastLasting, s.MinDuration*lastingPercent/100)).Seconds())
}

// demand returns the maximum rate, in bytes per second, at which a step loads a target: infinite unless the workload
// has a rate limit, or the step belongs to a search. If each client has its own bucket, demand returns the rate as if
// all clients took part.
func (p *phaseMaker) demand(step *Step, target string) float64 {
	made, err := p.demands.describe(p.loads[target].spec, step.For(target))
	clients := step.Clients
	if one := p.forecasts[target]; one != nil && one.perClient {
		// The forecast follows the bucket of client 0, which takes part in every step and is therefore the emptiest.
		clients = p.plan.ClientsPerTarget
	}
	limit := made.Limit() * float64(clients)
	if step.MaxIOPS > 0 {
		limit = float64(step.MaxIOPS) * float64(made.BlockBytes)
	}
	switch {
	case err != nil || made.NoStorage || made.Metadata:
		return 0
	// Ignore the rate limits of a sweep's cells, so that the forecast does not depend on their order.
	case limit == 0 || step.Kind == v1alpha1.PhaseSweep:
		return math.Inf(1)
	}
	return limit
}

// work returns the number of bytes that a layout writes to a target, or 0 if it is unknown.
func (p *phaseMaker) work(step *Step, target string) float64 {
	load := p.loads[target]
	made, err := p.demands.describe(load.spec, step.For(target))
	all := float64(made.ClientBytes) * float64(step.Clients)
	switch {
	case err != nil || made.Metadata:
		return 0
	case step.Purpose == Precondition:
		return all * float64(step.Passes)
	case step.Reused[target]:
		return 0
	}
	return all
}

// warnPartEmpty warns of a drain that is expected to start with a partly empty bucket and therefore cannot measure the
// bucket's full size.
func (p *phaseMaker) warnPartEmpty(step *Step) {
	for _, target := range step.Targets {
		one := p.forecasts[target]
		if one == nil || one.account.Percent() >= nearlyFull {
			continue
		}
		// If two phases spent the same amount, choose by name, so that the result does not depend on the map order.
		phases := slices.Sorted(maps.Keys(one.spentBy))
		spender := slices.MaxFunc(phases, func(a, b string) int { return cmp.Compare(one.spentBy[a], one.spentBy[b]) })
		p.warn(p.path, "the bucket of target %s is expected to be only %.0f %% full when the drain starts, so the drain can measure no more than that: "+
			"phase %s spends %s. To start with a full bucket, add a phase with cooldown: {untilCredits: {percent: 100}} before it, which takes %s",
			target, one.account.Percent(), spender, amount(one.spentBy[spender]), length(wholeSeconds(one.account.SecondsTo(100))))
	}
}

// warnTooShort warns of a drain that is expected to end before the credits are spent. The duration at the path limits
// the drain and the pause before it together.
func (p *phaseMaker) warnTooShort(at *field.Path, pause time.Duration, step *Step) {
	for _, target := range step.Targets {
		one := p.forecasts[target]
		if one == nil {
			continue
		}
		bucket, spent := one.account.Bucket(), "burst"
		demand := p.demand(step, target)
		if demand < bucket.Burst {
			bucket.Burst, spent = demand, "rate limit"
		}
		if !bucket.Drains() {
			p.warn(at, "%s: the credits of target %s never run out, because they refill at %s and are spent at no more than %s",
				v1alpha1.WarningRunTooShort, target, measure.FormatBytesPerSecond(bucket.Refill), measure.FormatBytesPerSecond(bucket.Burst))
			continue
		}
		if need := wholeSeconds(one.account.SecondsToEmpty(demand)); need > step.Duration {
			p.warn(at, "%s: target %s is expected to hold %s of credits, which last %s at a net rate of %s - refill (%s - %s), "+
				"but the drain ends after %s. Raise it to at least %s",
				v1alpha1.WarningRunTooShort, target, amount(one.account.Fill()),
				length(need), spent, measure.FormatBytesPerSecond(bucket.Burst), measure.FormatBytesPerSecond(bucket.Refill),
				length(step.Duration), length(pause+need+step.LeastBaseline()))
		}
	}
}

// warnFull warns of a pause that cannot measure the refill because the bucket becomes full during the pause, or is
// not empty at its start.
func (p *phaseMaker) warnFull(at *field.Path, pause time.Duration) {
	for _, target := range targetNames(p.run) {
		one := p.forecasts[target]
		if one == nil {
			continue
		}
		full := (one.account.Bucket().Size - one.account.Fill()) / one.account.Bucket().Refill
		switch {
		case one.account.Percent() > nearlyEmpty:
			p.warn(p.path, "the bucket of target %s is expected to be %.0f %% full when the pause starts, but the refill is measured on an empty bucket: "+
				"put a burstDrain phase directly before this one", target, one.account.Percent())
		case full < pause.Seconds():
			p.warn(at, "the bucket of target %s is expected to be full after %s, so the measured refill would be too low: shorten the pause",
				target, length(wholeSeconds(full)))
		}
	}
}

// amount formats a number of bytes.
func amount(bytes float64) string { return measure.FormatBytes(uint64(max(0, bytes))) }
