package plan

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

const (
	// repeatEvery is the number of cells after which the first cell is measured again.
	repeatEvery = 8
	// unknownDrain is the maximum length of the drain before a sweep if a target's limits are unknown. If the limits
	// are known, the maximum is computed from them, but is at least leastDrain.
	unknownDrain = time.Hour
	leastDrain   = 10 * time.Minute
	// spareCredits is the reserve of credits at the start of a cell that is measured during the burst, as a share of the
	// credits that the cell needs. The reserve is necessary because documented rates are rounded and because a load does
	// not start and end instantly.
	spareCredits = 0.05
	// knownShare is the largest shortfall of credits that causes no warning, as a share of the credits that a cell
	// needs. Waits are rounded to whole seconds, so a bucket may hold slightly fewer credits.
	knownShare = 0.01
)

// sweep plans a step for each combination of the axes, in random order, and repeats the first cell at intervals and at
// the end.
func (p *phaseMaker) sweep(phase *v1alpha1.SweepPhase) {
	before := len(p.problems)
	at := p.path.Child("sweep")
	p.refuseAxes(at.Child("axes"), &phase.Axes)
	warmUp := p.duration(at.Child("warmUp"), phase.WarmUp)
	duration := p.lasting(at.Child("stepDuration"), phase.StepDuration)
	switch phase.Regime {
	case v1alpha1.RegimeAny, v1alpha1.RegimeBaseline:
	case v1alpha1.RegimeBurst:
		if len(p.problems) == before {
			p.refuseBurst(at, phase, warmUp, duration)
		}
	default:
		p.problems = append(p.problems, field.NotSupported(at.Child("regime"), phase.Regime,
			[]v1alpha1.Regime{v1alpha1.RegimeBurst, v1alpha1.RegimeBaseline, v1alpha1.RegimeAny}))
	}
	if !p.loadable() || len(p.problems) > before {
		return
	}
	s := sweeper{phaseMaker: p, phase: phase, cells: cellsOf(&phase.Axes), warmUp: warmUp, duration: duration}
	if !s.proveCells() {
		return
	}
	if phase.Regime == v1alpha1.RegimeBurst {
		p.warnAssumed(at, warmUp+duration)
	}
	order := shuffled(len(s.cells), uint64(p.seed)+uint64(p.index)<<32) //nolint:gosec // Any bit pattern is a valid seed.
	for _, group := range p.groups() {
		if phase.Regime == v1alpha1.RegimeBaseline && !p.drainFirst(at, group, heaviest(&phase.Axes)) {
			return
		}
		for turn, index := range order {
			if !s.measure(group, index, false) {
				return
			}
			if (turn+1 == len(order) || (turn+1)%repeatEvery == 0) && !s.measure(group, order[0], true) {
				return
			}
		}
	}
}

// sweeper plans the cells of a sweep.
type sweeper struct {
	*phaseMaker
	phase            *v1alpha1.SweepPhase
	cells            []cell
	warmUp, duration time.Duration
}

// proveCells checks in index order that all cells can run, so that problems do not depend on the random order.
func (s *sweeper) proveCells() bool {
	for _, group := range s.groups() {
		for index := range s.cells {
			if step := s.step(group, index); !s.validateStep(&step) {
				return false
			}
		}
		if s.phase.Regime != v1alpha1.RegimeBaseline {
			continue
		}
		// The drain before the cells uses the axis values that spend the most credits. Check that it can run too.
		drain := s.drain(group, drainTimes{least: leastDrain, most: leastDrain})
		heaviest(&s.phase.Axes).put(&drain)
		if !s.validateStep(&drain) {
			return false
		}
	}
	s.proven = true
	return true
}

// step returns the step of a cell.
func (s *sweeper) step(targets []string, index int) Step {
	step := s.measured(targets, s.warmUp, s.duration)
	step.Cell = index
	s.cells[index].put(&step)
	return step
}

// measure adds the step of a cell, after a pause if the cell must start with more credits than the bucket holds.
func (s *sweeper) measure(targets []string, index int, repeat bool) bool {
	if s.phase.Regime == v1alpha1.RegimeBurst {
		if pause := s.pauseFor(targets, s.warmUp+s.duration); pause > 0 && !s.add(s.idle(targets, pause), "idle") {
			return false
		}
	}
	step := s.step(targets, index)
	step.Repeat = repeat
	return s.add(step, "")
}

// drainFirst adds a step that drains the buckets with the load of a cell, unless the previous step has just done so.
func (p *phaseMaker) drainFirst(at *field.Path, targets []string, c cell) bool {
	wanted := p.step(Drain, targets)
	c.put(&wanted)
	if p.justDrained(&wanted) {
		return true
	}
	most := leastDrain
	for _, target := range targets {
		known := p.forecasts[target]
		if known == nil {
			most = max(most, unknownDrain)
			p.warn(at.Child("regime"), "documented.throughput of target %s does not set baseline, burst and bucket: "+
				"the drain before the cells may end after %s with credits left. Set them, "+
				"or put a burstDrain phase with the same block size directly before this one",
				target, length(unknownDrain))
			continue
		}
		if bucket := known.account.Bucket(); bucket.Drains() {
			most = max(most, 2*wholeSeconds(bucket.DrainSeconds(known.ceiling)))
		}
	}
	step := p.drain(targets, drainTimes{least: p.duration(at, v1alpha1.DefaultMinDuration), most: min(most, p.deadline)})
	c.put(&step)
	return p.add(step, "drain")
}

// justDrained reports whether the previous step belongs to another phase and has spent the credits that the given drain
// would spend.
func (p *phaseMaker) justDrained(wanted *Step) bool {
	if len(p.plan.Steps) == 0 {
		return false
	}
	last := &p.plan.Steps[len(p.plan.Steps)-1]
	if last.Purpose != Drain || last.PhaseIndex == p.index {
		return false
	}
	return !slices.ContainsFunc(wanted.Targets, func(name string) bool {
		return !slices.Contains(last.Targets, name) || !p.sameCredits(last, wanted, name)
	})
}

// sameCredits reports whether a drain certainly spends the credits that another drain would spend. Drains with the same
// block size spend the same credits. With different block sizes, one drain may spend credits of bytes and the other
// credits of operations; sameCredits then compares the documented limits that the two drains spend.
func (p *phaseMaker) sameCredits(drain, wanted *Step, target string) bool {
	before, _ := p.demands.demand(drain.Workloads[target], drain.For(target))
	after, _ := p.demands.demand(p.loads[target].spec, wanted.For(target))
	if before.Load.BlockBytes == after.Load.BlockBytes {
		// If a load uses several block sizes, BlockBytes is 0: compare the workloads instead.
		return before.Load.BlockBytes > 0 || reflect.DeepEqual(drain.Workloads[target], p.loads[target].spec)
	}
	known := p.documented[target]
	spent, needed := known.Spends(before.Load), known.Spends(after.Load)
	return before.Load.BlockBytes > 0 && len(needed) > 0 &&
		!slices.ContainsFunc(needed, func(name string) bool { return !slices.Contains(spent, name) })
}

// refuseBurst reports targets whose credits are unknown, and targets whose full bucket holds fewer credits than a cell
// needs.
func (p *phaseMaker) refuseBurst(at *field.Path, phase *v1alpha1.SweepPhase, warmUp, duration time.Duration) {
	var unknown []string
	for _, target := range targetNames(p.run) {
		known := p.forecasts[target]
		if known == nil {
			unknown = append(unknown, target)
			continue
		}
		bucket := known.account.Bucket()
		need := bucket.Needs((warmUp + duration).Seconds())
		if need <= bucket.Size {
			continue
		}
		longest := time.Duration(bucket.DrainSeconds(bucket.Size)) * time.Second
		remedy := "use regime Any"
		if longest-warmUp >= time.Second {
			remedy = "shorten stepDuration to " + string(length(longest-warmUp)) + " or less, or use regime Any"
		}
		p.problems = append(p.problems, field.Invalid(at.Child("regime"), phase.Regime, strings.Join([]string{
			"a cell in the burst needs (warmUp ", string(length(warmUp)), " + stepDuration ", string(length(duration)), ") x (burst ",
			measure.FormatBytesPerSecond(bucket.Burst), " - refill ", measure.FormatBytesPerSecond(bucket.Refill), ") = ", amount(need),
			" of credits, but a full bucket of target ", target, " holds ", amount(bucket.Size), ": ", remedy}, "")))
	}
	if len(unknown) > 0 {
		p.problems = append(p.problems, field.Invalid(at.Child("regime"), phase.Regime,
			"needs documented.throughput with baseline, burst and bucket of every target, but they are missing for "+
				strings.Join(unknown, ", ")+": set them, or use regime Any"))
	}
}

// pauseFor returns how long these targets must idle until each can burst for the given time.
func (p *phaseMaker) pauseFor(targets []string, burst time.Duration) time.Duration {
	var pause time.Duration
	for _, target := range targets {
		account := p.forecasts[target].account
		bucket := account.Bucket()
		need := min(bucket.Size, bucket.Needs(burst.Seconds())*(1+spareCredits))
		if lacking := need - account.Fill(); lacking > 0 {
			pause = max(pause, wholeSeconds(lacking/bucket.Refill))
		}
	}
	return pause
}

// warnAssumed warns of buckets that hold enough credits for a cell only if they are full when the run starts.
func (p *phaseMaker) warnAssumed(at *field.Path, burst time.Duration) {
	for _, target := range targetNames(p.run) {
		account := p.forecasts[target].account
		bucket := account.Bucket()
		need := bucket.Needs(burst.Seconds())
		if account.LeastPercent()/100*bucket.Size >= need*(1-knownShare) {
			continue
		}
		percent := math.Ceil(min(100, need*(1+spareCredits)/bucket.Size*100))
		p.warn(at.Child("regime"), "the bucket of target %s is only assumed to hold the %s that a cell needs, because its initial credit balance "+
			"is unknown. To be sure, insert a phase with cooldown: {untilCredits: {percent: %.0f}} before this one; its pause takes %s",
			target, amount(need), percent, length(wholeSeconds(account.SecondsTo(percent))))
	}
}
