package record

import (
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/credits"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// account estimates a target's credits after all I/O of the run except that of the given attempt. end is the time at
// which this I/O ended. ok is false if no bucket is known, either from documented limits or from measurements.
func account(
	run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, phase, target string, attempt decide.Attempt,
) (a *limits.Buckets, end time.Time, ok bool) {
	if a = open(run, demands, phase, target); a == nil {
		return nil, time.Time{}, false
	}
	end = timeOf(run.Status.StartTime)
	for _, one := range earlierIO(run, attempt, target) {
		idle(a, end, one.span.Start)
		end = one.span.End
		load(run, demands, a, one, target)
	}
	return a, end, true
}

func idle(a *limits.Buckets, from, to time.Time) { a.Idle(to.Sub(from).Seconds()) }

// load updates the credits with the I/O of an attempt. If the attempt was a drain that exhausted the credits, load sets
// them to zero.
func load(run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, a *limits.Buckets, one attemptIO, target string) {
	if !spend(run, demands, a, one, target) {
		return
	}
	if burst := one.exhausted(run, target); burst != nil {
		a.Emptied(result.EmptiedBy(limitsOf(run, target), burst)...)
	}
}

// spend updates the credits with the I/O of an attempt, and reports whether there was any I/O.
func spend(run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, a *limits.Buckets, one attemptIO, target string) bool {
	seconds := one.span.End.Sub(one.span.Start).Seconds()
	if seconds <= 0 {
		return false
	}
	spent := limits.Spending{Bytes: float64(one.span.Bytes), Operations: float64(one.span.Operations), Seconds: seconds,
		// Client 0 takes part in every step, so the buckets of its machine and of its own volumes are the emptiest.
		Share: float64(one.step.Clients) / float64(max(1, run.Spec.Run.Clients.Count)), OwnVolumes: ownVolumes(run, target)}
	if demand, known := demands.Of(&one.step, target); known {
		spent.Operation = demand.Load.Operation
	}
	if phase := run.Spec.Run.Phase(one.step.Phase); phase != nil && phase.Expect == v1alpha1.ExpectServerCache {
		spent.MaybeCached = spent.Operation != limits.Write
	}
	a.Spend(spent)
	return true
}

// open returns the buckets of a target before a phase, with an unknown fill level. It uses the documented limits and,
// if there is one, the refill measured by an earlier redrain (a second drain after idle time). Without documented
// limits, it uses a single bucket with the rates and the size measured by an earlier drain and redrain. It returns nil
// if no bucket is known.
func open(run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, phase, target string) *limits.Buckets {
	bytes, operations := measuredRefill(run, phase, target)
	if made := limitsOf(run, target).Open(demands.Loads(target)...); made != nil {
		for _, measured := range []struct {
			dimension limits.Dimension
			refill    *float64
		}{{limits.Bytes, bytes}, {limits.Operations, operations}} {
			if measured.refill != nil {
				made.Refilled(measured.dimension, *measured.refill)
			}
		}
		return made
	}
	if bucket, ok := measuredBucket(run, demands, phase, target); ok {
		return limits.OpenMeasured("credits spent in a drain", bucket, int(run.Spec.Run.Clients.Count))
	}
	return nil
}

// measuredBucket returns the bucket that a drain and a redrain before a phase measured. ok is false if they measured
// none.
func measuredBucket(
	run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, phase, target string,
) (bucket credits.Bucket, ok bool) {
	refill, _ := measuredRefill(run, phase, target)
	if refill == nil || *refill <= 0 {
		return credits.Bucket{}, false
	}
	for _, one := range run.Status.Phases {
		if one.Name == phase {
			break
		}
		found := run.Status.Result(one.Name, target)
		if found == nil || found.Burst == nil || found.Burst.Bytes == nil || one.Kind != v1alpha1.PhaseBurstDrain {
			continue
		}
		if bucket, ok = spentBucket(found.Burst.Bytes, *refill, ioOfDrain(run, demands, one.Name, target)); ok {
			return bucket, true
		}
	}
	return credits.Bucket{}, false
}

// spentBucket returns a bucket with the measured rates of a drain. Its size is the amount of credits that the drain has
// spent, because the real bucket holds at least that amount.
func spentBucket(series *v1alpha1.BurstSeries, refill float64, io drainIO) (credits.Bucket, bool) {
	if series.Burst == nil || series.Baseline == nil || len(series.Drops) == 0 {
		return credits.Bucket{}, false
	}
	last := series.Drops[len(series.Drops)-1]
	if last.Spent == nil || last.Spent.Value <= 0 {
		return credits.Bucket{}, false
	}
	bucket := credits.Bucket{Baseline: float64(series.Baseline.Value), Burst: float64(series.Burst.Value), Refill: refill}
	// The spent credits were computed with the refill that was known during the drain, as if all clients shared one
	// bucket. Correct them for the measured refill and for the clients' own buckets.
	bucket.Size = float64(last.Spent.Value)
	if series.Refill != nil {
		at := time.Duration(last.AtNanoseconds.Value)
		bucket.Size += io.deficit(at, refill, io.buckets) - io.deficit(at, float64(series.Refill.Value), 1)
	}
	return bucket, bucket.Size > 0 && bucket.Baseline > 0 && bucket.Burst > 0
}

// drainIO holds the times of a drain, and the earlier I/O that the drain's result counts toward the spent credits.
type drainIO struct {
	earlier []attemptIO
	// start is the time of the drain's first I/O, and measured is the end of its warm-up.
	start, measured time.Time
	// buckets is the number of clients if each client has its own bucket, otherwise 1.
	buckets int
}

// ioOfDrain returns the I/O of the drain of a phase. The result is empty if the drain had no I/O.
func ioOfDrain(run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, phase, target string) drainIO {
	all := earlierIO(run, decide.Attempt{}, target)
	at := slices.IndexFunc(all, func(one attemptIO) bool { return one.step.Phase == phase && one.drains() })
	if at < 0 {
		return drainIO{}
	}
	drain, earlier := all[at], all[:at:at]
	if bucket := emptiedFor(run, demands, &drain.step, target, earlier); bucket != nil {
		earlier = slices.DeleteFunc(earlier, func(one attemptIO) bool { return !one.span.End.After(bucket.until) })
	}
	// The recorded times are from the target that started first. All targets have the same warm-up.
	fact := newestAttempt(run, drain.step.ID)
	warmUp := max(timeOf(fact.MeasuredTime).Sub(timeOf(fact.FirstIOTime)), 0)
	made := drainIO{earlier: earlier, start: drain.span.Start, measured: drain.span.Start.Add(warmUp), buckets: 1}
	shared := func(l limits.Limit) bool { return l.Layer.OfStorage() && l.Burst > 0 && l.Units <= 1 }
	if ownVolumes(run, target) && !slices.ContainsFunc(limitsOf(run, target).Limits, shared) {
		made.buckets = int(max(1, run.Spec.Run.Clients.Count))
	}
	return made
}

// deficit returns the total credits missing from the buckets at the start of the drain, minus the credits that came
// back between the start and a drop. refill is the total refill rate, of which each bucket gets an equal share. at is
// the time from the end of the warm-up to the drop.
func (d drainIO) deficit(at time.Duration, refill float64, buckets int) float64 {
	sum, each := 0.0, refill/float64(buckets)
	for bucket := range buckets {
		lacking, end := 0.0, time.Time{}
		for _, one := range d.earlier {
			spenders := min(max(1, int(one.step.Clients)), buckets)
			if bucket >= spenders {
				continue // this client did not take part
			}
			lacking = max(0, lacking-each*one.span.Start.Sub(end).Seconds())
			spent := float64(one.span.Bytes) / float64(spenders)
			lacking = max(0, lacking+spent-each*one.span.End.Sub(one.span.Start).Seconds())
			end = one.span.End
		}
		sum += max(0, lacking-each*d.start.Sub(end).Seconds())
	}
	return sum - refill*d.measured.Add(at).Sub(d.start).Seconds()
}

// noteCredits records the estimated fill level of each target's emptiest bucket at the start and the end of an attempt.
func noteCredits(run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, planned plan.Step, attempt decide.Attempt) {
	fact := step(run, attempt)
	for i := range fact.IO {
		io := &fact.IO[i]
		io.CreditPercentAtStart, io.CreditPercentAtEnd, _ = credit(run, demands, planned, attempt, io.Target)
	}
}

// credit returns the estimated fill level of a target's emptiest bucket at the start and the end of an attempt, in
// percent. fills maps the name of each limit to the fill level of its bucket at the start. Unknown values are nil.
func credit(
	run *v1alpha1.BenchmarkRun, demands *plan.DemandModel, planned plan.Step, attempt decide.Attempt, target string,
) (start, end *int32, fills map[string]limits.Fill) {
	a, last, ok := account(run, demands, planned.Phase, target, attempt)
	if !ok {
		return nil, nil, nil
	}
	fact := step(run, attempt)
	if planned.Purpose == plan.Idle {
		idle(a, last, timeOf(fact.StartTime))
		start, fills = percentOf(a), a.Fills()
		idle(a, latest(last, timeOf(fact.StartTime)), timeOf(fact.EndTime))
		return start, percentOf(a), fills
	}
	io, loaded := span(fact, target)
	if !loaded {
		return nil, nil, nil
	}
	idle(a, last, io.Start)
	start, fills = percentOf(a), a.Fills()
	load(run, demands, a, attemptIO{step: degraded(run, planned.ID, target, io), span: io}, target)
	return start, percentOf(a), fills
}

func percentOf(a *limits.Buckets) *int32 {
	return new(int32(math.Round(a.Percent())))
}

// idleUntil returns the end of an Idle step that waits for credits: the time at which every target's bucket is certain
// to hold the requested credits. If a target's bucket is unknown, idleUntil returns the zero time, and the step waits
// for its maximum duration. If the step has no maximum duration, idleUntil returns a time in the past instead, and the
// step ends at once.
func idleUntil(run *v1alpha1.BenchmarkRun, planned plan.Step) (until time.Time) {
	demands := plan.NewDemandModel(&run.Spec.Run)
	for _, target := range planned.Targets {
		a, end, known := account(run, demands, planned.Phase, target, decide.Attempt{})
		if !known {
			if cooldown := run.Spec.Run.Phases[planned.PhaseIndex].Cooldown; cooldown == nil || cooldown.MaxDuration == nil {
				// The step has no maximum duration, so end it at once.
				return timeOf(run.Status.StartTime)
			}
			return time.Time{}
		}
		wait := time.Duration(min(a.SecondsTo(float64(planned.UntilCreditsPercent)), float64(7*24*3600)) * float64(time.Second))
		until = latest(until, end.Add(wait))
	}
	return until
}
