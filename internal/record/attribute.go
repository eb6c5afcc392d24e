package record

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// attribute ranks the limits that may have restricted the rate of each measured step of a target. It is called after
// each result and recomputes all attributions from the recorded status, because a later step can be evidence for
// earlier ones, for example if it has only one outstanding operation, or more outstanding operations than the earlier
// steps.
func attribute(run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, target string) {
	a := attributor{run: run, target: target, documented: limitsOf(run, target), demands: demands}
	a.follow()
	for i := range run.Status.Phases {
		phase := &run.Status.Phases[i]
		for j := range phase.Targets {
			if phase.Targets[j].Target == target {
				a.collect(phase, &phase.Targets[j])
			}
		}
	}
	result.Relate(a.points)
	for _, set := range a.set {
		set()
	}
}

// attributor determines which limits may have held back the rates of one target of a run.
type attributor struct {
	run        *v1alpha1.BenchmarkRun
	target     string
	documented limits.Computed
	demands    *plan.DemandModel
	// credits holds, by step ID, the bounds of each limit's credits during the whole step. emptied holds, by step ID, the
	// limits whose credits were observed to be spent. emptied is used for limits whose credits are not tracked.
	credits map[string]map[string]limits.Fill
	emptied map[string][]string
	// points are the loads whose rates are attributed. set contains the functions that store the attributions in the
	// status. The functions are called after all points have been compared with one another.
	points []*result.Point
	set    []func()
}

// follow computes the maps credits and emptied from all I/O on the target.
func (a *attributor) follow() {
	a.credits, a.emptied = map[string]map[string]limits.Fill{}, map[string][]string{}
	buckets := open(a.run, a.demands, "", a.target)
	end := timeOf(a.run.Status.StartTime)
	var gone []string
	for _, one := range earlierIO(a.run, decide.Attempt{}, a.target) {
		gone = a.stillGone(gone, one, end)
		a.emptied[one.step.ID] = gone
		if buckets != nil {
			idle(buckets, end, one.span.Start)
			before := buckets.Fills()
			load(a.run, a.demands, buckets, one, a.target)
			// The upper bound of the fill level during the step is the level at the start, and the lower bound is the
			// lower of the levels at the start and the end. If the credits at the start last for only a brief part of
			// the step, the level at the end is the upper bound instead.
			fills := map[string]limits.Fill{}
			for name, after := range buckets.Fills() {
				most := before[name].Most
				if a.burstTooBrief(name, most, &one) {
					most = after.Most
				}
				fills[name] = limits.Fill{Most: most, Least: min(before[name].Least, after.Least)}
			}
			a.credits[one.step.ID] = fills
		}
		end = one.span.End
		if burst := one.exhausted(a.run, a.target); burst != nil {
			gone = result.EmptiedBy(a.documented, burst)
		}
	}
}

// burstTooBrief reports whether the credits of a bucket that is filled to the given percentage last no longer than the
// step's warm-up plus a tenth of the time after the warm-up.
func (a *attributor) burstTooBrief(name string, percent float64, one *attemptIO) bool {
	at := slices.IndexFunc(a.documented.Limits, func(l limits.Limit) bool { return l.Name == name })
	if at < 0 {
		return false
	}
	limit := &a.documented.Limits[at]
	warmUp, err := one.step.WarmUp.Parse()
	if err != nil {
		warmUp = 0
	}
	const share = 0.1
	seconds := one.span.End.Sub(one.span.Start).Seconds() - warmUp.Seconds()
	lasts := percent / 100 * limit.Bucket / max(limit.Burst-limit.Refill, 1)
	return lasts <= warmUp.Seconds()+share*max(seconds, 0)
}

// stillGone filters a list of limits whose credits were spent. It keeps the limits whose credits do not return before
// or during the given attempt. Credits return in a long pause before the attempt, or if the attempt's rate is clearly
// below the baseline.
func (a *attributor) stillGone(gone []string, one attemptIO, end time.Time) []string {
	return slices.DeleteFunc(slices.Clone(gone), func(name string) bool {
		at := slices.IndexFunc(a.documented.Limits, func(l limits.Limit) bool { return l.Name == name })
		if at < 0 {
			return true
		}
		limit := &a.documented.Limits[at]
		baseline := limits.Rate{BytesPerSecond: limit.Baseline}
		if limit.Dimension == limits.Operations {
			baseline = limits.Rate{OperationsPerSecond: limit.Baseline}
		}
		return !one.leavesEmpty(end, baseline)
	})
}

// collect adds a point for each measured load of a phase.
func (a *attributor) collect(phase *v1alpha1.PhaseResult, found *v1alpha1.TargetResult) {
	found.Attributions = nil
	for i := range a.run.Spec.Steps {
		step := &a.run.Spec.Steps[i]
		if step.Phase != phase.Name || step.Repeat != nil && *step.Repeat {
			continue
		}
		kind := phasekind.Of(step.Kind)
		demand, known := a.demands.Of(step, a.target)
		if !known || demand.Metadata || kind.PicksRates {
			continue
		}
		switch {
		case step.Cell != nil:
			at := slices.IndexFunc(found.Steps, func(s v1alpha1.StepResult) bool { return s.Cell == *step.Cell })
			if at >= 0 && len(found.Steps[at].Operations) > 0 {
				cell := &found.Steps[at]
				point := a.add(result.PointOfStep(phase.Name, phase.Kind, demand, cell), step)
				a.set = append(a.set, func() { cell.Attribution = point.Short() })
			}
		case kind.InCells(), kind.Interleaved:
			// The step is the drain before the cells or blocks of its phase. Its rate is not attributed.
		case len(found.Operations) > 0 && (step.Purpose == v1alpha1.StepMeasure || step.Purpose == v1alpha1.StepDrain):
			whole := a.prepare(result.PointOfTarget(phase.Name, phase.Kind, demand, found), step)
			a.levels(found, whole)
		}
	}
}

// levels adds the points of a phase: one for each level of the rate (the burst and the baseline) if the phase is a
// drain that spent the credits, otherwise one for the whole phase.
func (a *attributor) levels(found *v1alpha1.TargetResult, whole *result.Point) {
	levels, points := result.DrainPoints(whole, found.Burst)
	for i, point := range points {
		a.points = append(a.points, point)
		a.set = append(a.set, func() {
			if made := point.Attribution(levels[i]); made != nil {
				found.Attributions = append(found.Attributions, *made)
			}
		})
	}
}

func (a *attributor) add(point *result.Point, step *v1alpha1.ResolvedStep) *result.Point {
	a.points = append(a.points, a.prepare(point, step))
	return point
}

// prepare sets the documented limits, the credits and the expected caching of a point. The limits are scaled to the
// clients that took part, because a run that continues without lost clients has fewer than planned.
func (a *attributor) prepare(point *result.Point, step *v1alpha1.ResolvedStep) *result.Point {
	clients := step.Clients
	if point.Clients > 0 {
		clients = min(clients, int32(point.Clients)) //nolint:gosec // The API allows far fewer clients.
	}
	point.Documented = shareOf(a.run, a.documented, a.target, clients)
	point.Credits = a.credits[step.ID]
	for _, name := range a.emptied[step.ID] {
		if _, followed := point.Credits[name]; !followed {
			point.Emptied = append(point.Emptied, name)
		}
	}
	if phase := a.run.Spec.Run.Phase(step.Phase); phase != nil {
		point.Cached = phase.Expect == v1alpha1.ExpectServerCache
	}
	return point
}
