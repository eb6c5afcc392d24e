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
	"github.com/storagebench/storagebench/internal/measure"
)

const (
	// nearlyFull counts as full, and nearlyEmpty as empty, in percent.
	nearlyFull, nearlyEmpty = 99.5, 2
	// unseen is for how long credits have to last, so that their end can be seen. A drain that begins with
	// less has no fall to end by; a redrain knows the baseline of the drain before it.
	unseen = 10 * time.Second
)

// tally is what is expected of a target's bucket while the plan is made, in bytes.
type tally struct {
	account credits.Account
	// spentBy is the credits that each phase has spent since the bucket was full.
	spentBy map[string]float64
	// ceiling is the most that can be in the bucket, in credits: as if all loads but drains had been none. A load
	// of one operation at a time spends little.
	ceiling float64
}

// charge carries the accounts over a step, and notes what is expected of it.
func (p *phaseMaker) charge(step *Step) {
	took, known := p.expected(step)
	if known {
		step.Expected = took
		step.Longer = step.Purpose == Drain && p.coarse(step)
	}
	step.Credits = map[string]Credits{}
	for name, one := range p.tallies {
		one.bound(step, slices.Contains(step.Targets, name), took, known)
		if !slices.Contains(step.Targets, name) {
			if !known {
				one.idle(step.Least())
			} else {
				one.idle(took)
			}
			continue
		}
		start := one.account
		p.load(step, name, one, took)
		step.Credits[name] = Credits{StartPercent: start.Percent(), EndPercent: one.account.Percent()}
		if spent := start.Fill() - one.account.Fill(); spent > 0 {
			one.spentBy[step.Phase] += spent
		}
		if one.account.Percent() >= nearlyFull {
			clear(one.spentBy)
		}
	}
	if known {
		step.Expected += p.around(step)
	}
}

// load carries one account over a step that takes so long.
func (p *phaseMaker) load(step *Step, target string, one *tally, took time.Duration) {
	account := &one.account
	switch step.Purpose {
	case Idle:
		one.idle(took)
	case Prepare, Precondition:
		took -= time.Duration(account.Work(p.demand(step, target), p.work(step, target)) * float64(time.Second))
		one.idle(max(0, took))
	case Drain:
		emptied := account.SecondsToEmpty() <= took.Seconds()
		account.Demand(p.demand(step, target), took.Seconds())
		if emptied && p.demand(step, target) >= account.Bucket().Burst {
			account.Emptied()
		}
	case Measure:
		account.Demand(p.demand(step, target), took.Seconds())
	}
}

// bound carries the ceiling over a step that takes so long, or for longer where that is not known.
func (t *tally) bound(step *Step, takesPart bool, took time.Duration, known bool) {
	bucket := t.account.Bucket()
	switch {
	case takesPart && step.Purpose == Drain:
		if bucket.DrainSeconds(t.ceiling) <= step.Duration.Seconds() {
			t.ceiling = 0
		}
	case !known:
		t.ceiling = bucket.Size
	default:
		t.ceiling = min(bucket.Size, t.ceiling+bucket.Refill*took.Seconds())
	}
}

func (t *tally) idle(took time.Duration) {
	t.account.Idle(took.Seconds())
	if t.account.Percent() >= nearlyFull {
		clear(t.spentBy)
	}
}

// expected is how long a step takes by what is known; where that is not known, how long at least.
func (p *phaseMaker) expected(step *Step) (took time.Duration, known bool) {
	known = true
	switch step.Purpose {
	case Idle:
		known = step.UntilCreditsPercent == 0 || step.Duration > 0
		if !known {
			wait, _, _ := p.wait(step.Targets, float64(step.UntilCreditsPercent))
			return min(wait, step.Limit), false
		}
		return step.Duration, true
	case Measure:
		return step.WarmUp + step.Duration, step.Duration > 0
	case Drain, Prepare, Precondition:
	}
	took = step.MinDuration
	for _, target := range step.Targets {
		one := p.tallies[target]
		switch {
		case p.loads[target].engine.Command != nil:
			known = false
		case step.WorkBound() && p.work(step, target) == 0:
		case one == nil:
			known = false
		case step.WorkBound():
			account := one.account
			took = max(took, time.Duration(account.Work(p.demand(step, target), p.work(step, target))*float64(time.Second)))
		case one.account.SecondsToEmpty() < unseen.Seconds() && !step.Redrain:
			took = step.Duration
		default:
			fall := wholeSeconds(one.account.SecondsToEmpty())
			if !step.Redrain {
				fall += sampled // it is dated to the end of the second that it is in
			}
			took = max(took, fall+step.settles())
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

// sampled is how much later than it is true something is known that samples of a second tell.
const sampled = time.Second

// settles is how long a drain goes on after the credits are gone, to measure the baseline: see package watch.
func (s Step) settles() time.Duration {
	return min(85*time.Second, max(8*time.Second, s.MinDuration*7/10)).Round(time.Second)
}

// demand is what a step asks of a target at most, in bytes a second: all that it takes, but for a rate limit.
func (p *phaseMaker) demand(step *Step, target string) float64 {
	engine := p.loads[target].engine
	switch {
	case engine.Mdtest != nil:
		return 0 // it works on metadata
	case engine.IOR != nil, engine.Command != nil:
		return math.Inf(1)
	}
	profile := engine.Fio
	if files, err := p.describe(profile, step.Overrides); err != nil || files.NoStorage {
		return 0
	}
	limit := profile.RateLimit
	// All cells of a sweep count alike, so that nothing but their order depends on the seed.
	if limit == nil || limit.BytesPerSecond == nil || step.WorkBound() || step.Kind == v1alpha1.PhaseSweep {
		return math.Inf(1)
	}
	return limit.BytesPerSecond.AsApproximateFloat64() * float64(step.Clients)
}

// work is the bytes that a layout writes on a target. What is there already is not written again.
func (p *phaseMaker) work(step *Step, target string) float64 {
	if engine := p.loads[target].engine; engine.SpansClients() {
		return rankWork(engine, step)
	} else if engine.Command != nil {
		return 0 // nobody knows
	}
	files, err := p.describe(p.loads[target].engine.Fio, step.Overrides)
	switch {
	case err != nil:
		return 0
	case step.Purpose == Precondition:
		return float64(files.DatasetBytes) * float64(step.Clients) * float64(step.Passes)
	case step.NewBytes[target] == 0:
		return 0
	}
	return float64(files.DatasetBytes) * float64(step.Clients)
}

// rankWork is the bytes that a layout of IOR writes, over all clients.
func rankWork(engine *v1alpha1.Engine, step *Step) float64 {
	traits, err := describeRanks(engine, step)
	if err != nil || engine.IOR == nil {
		return 0
	}
	return float64(traits.DatasetBytes)
}

// warnPartEmpty tells of a drain that does not measure the whole bucket.
func (p *phaseMaker) warnPartEmpty(step *Step) {
	for _, target := range step.Targets {
		one := p.tallies[target]
		if one == nil || one.account.Percent() >= nearlyFull {
			continue
		}
		// By name where two spent the same, so that it does not depend on the order of a map.
		phases := slices.Sorted(maps.Keys(one.spentBy))
		spender := slices.MaxFunc(phases, func(a, b string) int { return cmp.Compare(one.spentBy[a], one.spentBy[b]) })
		p.warn(p.path, "the bucket of target %s is expected to hold %.0f %% when the drain starts, which then measures no more than that: "+
			"phase %s has spent %s. A phase with cooldown: {untilCredits: {percent: 100}} before it takes %s",
			target, one.account.Percent(), spender, amount(one.spentBy[spender]), length(wholeSeconds(one.account.SecondsTo(100))))
	}
}

// warnTooShort tells of a drain that is expected to end before the credits do.
func (p *phaseMaker) warnTooShort(at *field.Path, step *Step) {
	for _, target := range step.Targets {
		one := p.tallies[target]
		if one == nil {
			continue
		}
		bucket := one.account.Bucket()
		if !bucket.Drains() {
			p.warn(at, "%s: by the limits of target %s its credits never end: they grow by %s and are spent at %s at most",
				v1alpha1.WarningRunTooShort, target, measure.FormatBytesPerSecond(bucket.Refill), measure.FormatBytesPerSecond(bucket.Burst))
			continue
		}
		if need := wholeSeconds(one.account.SecondsToEmpty()); need > step.Duration {
			p.warn(at, "%s: target %s is expected to hold %s of credits, which (burst %s - refill %s) spends in %s; the drain ends after %s. "+
				"Raise it to %s or more", v1alpha1.WarningRunTooShort, target, amount(one.account.Fill()),
				measure.FormatBytesPerSecond(bucket.Burst), measure.FormatBytesPerSecond(bucket.Refill),
				length(need), length(step.Duration), length(need+step.settles()))
		}
	}
}

// warnFull tells of a pause in which a bucket gets full, so that the refill is not known from it.
func (p *phaseMaker) warnFull(at *field.Path, pause time.Duration) {
	for _, target := range targetNames(p.run) {
		one := p.tallies[target]
		if one == nil {
			continue
		}
		full := (one.account.Bucket().Size - one.account.Fill()) / one.account.Bucket().Refill
		switch {
		case one.account.Percent() > nearlyEmpty:
			p.warn(p.path, "the bucket of target %s is expected to hold %.0f %% when the pause begins, and a refill is measured on one that was empty: "+
				"put a burstDrain phase right before it", target, one.account.Percent())
		case full < pause.Seconds():
			p.warn(at, "the bucket of target %s is expected to be full after %s of it: the refill then comes out too low. Shorten it",
				target, length(wholeSeconds(full)))
		}
	}
}

// amount writes an amount of bytes.
func amount(bytes float64) string { return measure.FormatBytes(uint64(max(0, bytes))) }
