package plan

import (
	"errors"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/credits"
	"github.com/storagebench/storagebench/internal/limits"
)

// Option changes how a plan is computed.
type Option func(*maker)

// WithCatalog plans with a catalog of documented limits, or with the built-in catalog if it is nil.
func WithCatalog(catalog *limits.Catalog) Option { return func(m *maker) { m.catalog = catalog } }

// Promise holds the documented rates for one kind of load on a target whose buckets are initially full.
type Promise struct {
	Target string `json:"target"`
	// Phases lists the phases with this load.
	Phases []string `json:"phases"`
	// BlockBytes is 0 if operations have several sizes; then only Baseline and Burst are known. Operation is empty for
	// a mix of reads and writes.
	BlockBytes float64          `json:"blockBytes,omitempty"`
	Operation  limits.Operation `json:"operation,omitempty"`
	// Cached is true for reads that the server's cache is meant to serve. The limits of the disks behind the cache then do
	// not apply.
	Cached bool `json:"cached,omitempty"`
	// Baseline is the lowest rate that any limit allows without credits, or nil if no rate is known. Burst is the
	// lowest rate that any limit allows with credits, or nil if credits do not raise the rate.
	Baseline *PromisedRate `json:"baseline,omitempty"`
	Burst    *PromisedRate `json:"burst,omitempty"`
	// Levels lists the expected rates in chronological order. The last level continues until the load ends.
	Levels []PromisedLevel `json:"levels,omitempty"`
	// Drains describes the limits with credits, whether or not the load spends them all.
	Drains []PromisedDrain `json:"drains,omitempty"`
	// Unpublished lists the limits whose burst length is not published. Because of these limits, a level may end
	// earlier than Levels states.
	Unpublished []string `json:"unpublished,omitempty"`
}

// PromisedRate is a rate that a documented limit allows, with the name of the limit and the computation of the rate.
type PromisedRate struct {
	Limit               string  `json:"limit"`
	BytesPerSecond      float64 `json:"bytesPerSecond,omitempty"`
	OperationsPerSecond float64 `json:"operationsPerSecond,omitempty"`
	Arithmetic          string  `json:"arithmetic,omitempty"`
}

// PromisedLevel is a period with a constant rate. Seconds is its length, or nil for the last level.
type PromisedLevel struct {
	StartSeconds   float64  `json:"startSeconds"`
	Seconds        *float64 `json:"seconds,omitempty"`
	BytesPerSecond float64  `json:"bytesPerSecond"`
	// Limit is the name of the limit that sets the rate; Burst is true if the rate is the limit's burst, not its
	// baseline.
	Limit string `json:"limit,omitempty"`
	Burst bool   `json:"burst,omitempty"`
}

// PromisedDrain describes the credits of a limit. Seconds is the time until the load has spent them, or nil if it does
// not spend them all. RefillSeconds is the time until they are refilled.
type PromisedDrain struct {
	Limit         string   `json:"limit"`
	Seconds       *float64 `json:"seconds,omitempty"`
	RefillSeconds float64  `json:"refillSeconds"`
}

// ExpectedSeconds returns the time at which the last level starts, in seconds, or 0 if there is at most one level. A
// drain must last at least until that time.
func (p *Promise) ExpectedSeconds() float64 {
	if len(p.Levels) == 0 {
		return 0
	}
	return p.Levels[len(p.Levels)-1].StartSeconds
}

// maxPromises is the maximum number of promises per target. If the phases have more distinct loads, as in a large
// sweep, only the first are included.
const maxPromises = 8

// findLimits computes the documented limits of each target for which the specification sets limits.
func (m *maker) findLimits() {
	m.documented = map[string]limits.Computed{}
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		given := target.DocumentedLimits()
		if given == nil {
			continue // the limits are not known yet; the run tries to discover them when it begins
		}
		described := m.specifiedDescription(target)
		catalog := m.catalog
		if catalog == nil {
			builtin, err := limits.Builtin()
			if err != nil {
				m.problems = append(m.problems, field.InternalError(m.root, err))
				return
			}
			catalog = builtin
		}
		at := m.root.Child("targets").Index(i).Child("documented")
		computed, err := catalog.Compute(described, given)
		var unknown *limits.UnknownPresetError
		switch {
		case errors.As(err, &unknown):
			m.problems = append(m.problems, field.Invalid(at.Child("preset"), unknown.Preset, unknown.Remedy))
		case err != nil:
			m.problems = append(m.problems, field.Invalid(at, field.OmitValueType{}, err.Error()))
		default:
			m.documented[target.Name] = computed
			m.plan.Documented = append(m.plan.Documented, limits.Record(target.Name, described, computed))
		}
	}
}

// specifiedDescription describes a target's volumes from the specification. It assumes the sizes that the claim
// templates request; volumes may be larger.
func (m *maker) specifiedDescription(target *v1alpha1.Target) limits.Description {
	made := limits.Description{}
	for i := range target.Volumes {
		volume := limits.Volume{Count: 1}
		if template := target.Volumes[i].ClaimTemplate; template != nil {
			if size, given := template.Spec.Resources.Requests["storage"]; given {
				volume.CapacityBytes = size.Value()
			}
			if template.Scope == v1alpha1.ClaimPerClient {
				volume.Count = m.plan.ClientsPerTarget
			}
		}
		made.Volumes = append(made.Volumes, volume)
	}
	return made
}

// openForecasts opens a forecast for each target with a known bucket. If a target has several buckets, it uses the
// one that the run's loads empty first.
func (m *maker) openForecasts() {
	m.findLimits()
	m.demands = NewDemandModel(m.run)
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		computed, known := m.documented[target.Name]
		if !known {
			continue
		}
		loads := m.demands.Loads(target.Name)
		m.promise(target.Name, computed)
		bucket, limit := mainBucket(computed, loads)
		found := limit != nil
		if given := target.DocumentedLimits(); !found && given != nil {
			// No load empties a bucket. Forecast a bucket anyway, so that warnTooShort can warn that a drain does not
			// spend its credits.
			bucket, found = credits.Of(given.Throughput)
		}
		if found {
			m.forecasts[target.Name] = &creditForecast{
				account: credits.Open(bucket), fullest: credits.Open(bucket),
				spentBy: map[string]float64{}, ceiling: bucket.Size,
				perClient: m.ownVolumes(target.Name) && (limit == nil || limit.Units > 1)}
		}
	}
}

// mainBucket returns the bucket that the loads empty first, in bytes, and its limit, or nil if there is none. It
// converts a bucket of operations to bytes by the size of the loads' operations.
func mainBucket(computed limits.Computed, loads []limits.Load) (found credits.Bucket, limit *limits.Limit) {
	for _, load := range append(slices.Clone(loads), limits.Load{}) {
		main, ok := computed.Main(load)
		if !ok {
			continue
		}
		bucket := main.Bucket
		if main.Limit.Dimension == limits.Operations {
			each := main.Limit.CreditBytes(load)
			bucket = credits.Bucket{Baseline: bucket.Baseline * each, Burst: bucket.Burst * each, Size: bucket.Size * each, Refill: bucket.Refill * each}
		}
		if bucket.Drains() {
			return bucket, main.Limit
		}
		if limit == nil {
			found, limit = bucket, main.Limit
		}
	}
	return found, limit
}

// promise records the documented rates for the loads of a target.
func (m *maker) promise(target string, computed limits.Computed) {
	made := []Promise{}
	for i := range m.run.Phases {
		phase := &m.run.Phases[i]
		for _, demand := range m.demands.ofPhase(phase, target) {
			at := slices.IndexFunc(made, func(p Promise) bool {
				return p.BlockBytes == demand.Load.BlockBytes && p.Operation == demand.Load.Operation && p.Cached == (demand.Load.CachedShare > 0)
			})
			if at >= 0 {
				if !slices.Contains(made[at].Phases, phase.Name) {
					made[at].Phases = append(made[at].Phases, phase.Name)
				}
				continue
			}
			if len(made) < maxPromises {
				one := promiseOf(computed, demand.Load)
				one.Target, one.Phases = target, []string{phase.Name}
				made = append(made, one)
			}
		}
	}
	m.plan.Promises = append(m.plan.Promises, made...)
}

func promiseOf(computed limits.Computed, load limits.Load) Promise {
	at, course := computed.At(load), computed.ThrottleTimeline(load, math.Inf(1))
	made := Promise{BlockBytes: load.BlockBytes, Operation: load.Operation, Cached: load.CachedShare > 0,
		Baseline: rateOf(at.Baseline, at.BytesBaseline), Burst: rateOf(at.Burst, at.BytesBurst)}
	if base, burst := made.Baseline, made.Burst; base != nil && burst != nil &&
		burst.BytesPerSecond <= base.BytesPerSecond && burst.OperationsPerSecond <= base.OperationsPerSecond {
		made.Burst = nil
	}
	for _, level := range course.Levels {
		one := PromisedLevel{StartSeconds: roundTenth(level.StartSeconds), Seconds: finiteSeconds(level.Seconds),
			BytesPerSecond: math.Round(level.BytesPerSecond), Burst: level.Burst}
		if level.Limit != nil {
			one.Limit = level.Limit.Name
		}
		made.Levels = append(made.Levels, one)
	}
	for _, drain := range course.Drains {
		made.Drains = append(made.Drains, PromisedDrain{Limit: drain.Limit.Name, Seconds: finiteSeconds(drain.Seconds),
			RefillSeconds: roundTenth(drain.RefillSeconds)})
	}
	for _, limit := range course.Unpublished {
		made.Unpublished = append(made.Unpublished, limit.Name)
	}
	return made
}

// rateOf returns the rate that all limits allow or, if the block size is unknown, the rate that the limits in bytes
// allow. It returns nil if neither is known.
func rateOf(whole, bytes limits.Bound) *PromisedRate {
	if whole.Limit == nil {
		whole = bytes
	}
	if whole.Limit == nil {
		return nil
	}
	return &PromisedRate{Limit: whole.Limit.Name, BytesPerSecond: math.Round(whole.BytesPerSecond),
		OperationsPerSecond: roundTenth(whole.OperationsPerSecond), Arithmetic: whole.Arithmetic}
}

// finiteSeconds rounds a time to a tenth of a second. It returns nil for an infinite time.
func finiteSeconds(seconds float64) *float64 {
	if math.IsInf(seconds, 0) || math.IsNaN(seconds) {
		return nil
	}
	return new(roundTenth(seconds))
}

func roundTenth(value float64) float64 { return math.Round(value*10) / 10 }

// warnInBurst warns of a measured step that does not spend all credits even if it runs the given number of times. It
// does not warn if the run has a burstDrain phase.
func (p *phaseMaker) warnInBurst(at *field.Path, step *Step, times int) {
	for i := range p.run.Phases {
		if p.run.Phases[i].BurstDrain != nil {
			return
		}
	}
	for _, target := range step.Targets {
		one := p.forecasts[target]
		if one == nil || p.phase.Expect == v1alpha1.ExpectServerCache || !one.account.Bucket().Drains() || one.account.Percent() <= nearlyEmpty {
			continue
		}
		demand := p.demand(step, target)
		if demand <= one.account.Bucket().Refill {
			continue
		}
		loaded := time.Duration(times) * (step.WarmUp + step.Duration)
		if need := wholeSeconds(one.account.SecondsToEmpty(demand)); need > loaded {
			p.warn(at, "%s: the credits of target %s are expected to last %s, longer than the phase loads it, so the phase measures only the burst. "+
				"Add a burstDrain phase to measure the baseline too", v1alpha1.WarningRunTooShort, target, length(need))
		}
	}
}

// warnLaterDrops warns of a drain that ends before the target reaches its final rate. A target with several credit
// buckets reaches this rate only when the credits of all of them are spent.
func (p *phaseMaker) warnLaterDrops(at *field.Path, step *Step) {
	for i := range p.plan.Promises {
		promise := &p.plan.Promises[i]
		if !slices.Contains(step.Targets, promise.Target) || !slices.Contains(promise.Phases, p.phase.Name) || len(promise.Levels) < 3 {
			continue
		}
		last := time.Duration(min(promise.ExpectedSeconds(), 1e9)) * time.Second
		if last > step.Duration {
			p.warn(at, "%s: according to its documented limits, target %s reaches its final rate after %s, but the drain ends after %s: raise maxDuration",
				v1alpha1.WarningRunTooShort, promise.Target, length(last), length(step.Duration))
		}
	}
}
