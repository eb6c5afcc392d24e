package detect

import (
	"fmt"
	"math"
)

// fillResult fills in the result from the measured stretches.
func (a *analysis) fillResult() {
	r := &a.result
	first, last := a.measured[0].segment, a.measured[len(a.measured)-1].segment
	if a.begin > 0 && a.begin < len(a.samples) {
		start := a.samples[0].StartSeconds
		ramp, _, _, n := meanOf(a.samples[:a.begin])
		r.Segments = append(r.Segments, Segment{StartSeconds: start, EndSeconds: a.samples[a.begin].StartSeconds,
			Mean: ramp, Shape: ShapeRampUp, Deviation: math.Sqrt(n.variance())})
	}
	for _, m := range a.measured {
		r.Segments = append(r.Segments, m.segment)
	}
	r.Burst, r.Baseline = first.Mean, last.Mean
	r.Sustained, r.Peak = first.Mean, first.Mean
	if first.Shape == ShapeAlternating {
		r.Sustained, r.Peak = *first.Low, *first.High
	}
	r.Peak5s = a.peak(5)
	r.Exhausted = len(a.times) > 0
	for i, at := range a.times {
		r.Drops = append(r.Drops, a.drop(i, at))
	}
	if r.Exhausted && r.Peak5s < r.Burst.Low {
		r.Peak5s = 0
	}
	if r.Exhausted {
		at := a.times[len(a.times)-1]
		r.SecondsToBaseline = &at
	}
	a.boundBucket()
	r.FastStart = a.fastStart()
	a.warn()
}

// drop returns the drop after the i-th stretch, with the credits spent before it.
func (a *analysis) drop(i int, at Estimate) Drop {
	before, after := a.measured[i], a.measured[i+1]
	d := Drop{Seconds: at, Before: before.segment.Mean, After: after.segment.Mean,
		Refill: after.segment.Mean.Value, RefillSource: RefillAssumed}
	refillHalf := after.half
	if a.options.Refill != nil {
		d.Refill, d.RefillSource, refillHalf = *a.options.Refill, a.options.RefillSource, 0
		if d.RefillSource == "" {
			d.RefillSource = RefillGiven
		}
	}
	l := levels{before: before.segment.Mean.Value, after: after.segment.Mean.Value}
	amount, seconds := spent(a.filled, at.Value, d.Refill, l)
	// The amount spent is counted, not estimated. Only the time of the drop, the refill, and the part of the drop's
	// sample that lies after the drop are uncertain.
	certain := math.Hypot(refillHalf*seconds, student(after.freedom)*after.segment.Deviation*a.typical)
	below, above := 0.0, 0.0
	for _, time := range a.within(at) {
		other, _ := spent(a.filled, time, a.refillAt(i, time, d), l)
		below, above = max(below, amount-other), max(above, other-amount)
	}
	d.Spent = Estimate{Value: amount, Low: max(amount-math.Hypot(certain, below), 0), High: amount + math.Hypot(certain, above)}
	return d
}

// within returns times in the given interval at which the drop may have occurred: both ends of the interval, and the
// edges of the samples between them. The amount of credits spent is largest or smallest at an edge. If there are many
// samples, only some of the edges are returned.
func (a *analysis) within(at Estimate) []float64 {
	const most = 40
	times := []float64{at.Low, at.High}
	inside := a.between(at.Low, at.High)
	for i := 1; i < len(inside); i += 1 + len(inside)/most {
		times = append(times, inside[i].StartSeconds)
	}
	return times
}

// refillAt returns the refill rate that would result if the drop had happened at the time `at`. It differs from
// d.Refill only if the refill is assumed to be the level after the drop. Moving the drop to `at` then adds samples to
// the mean that determines this level, or removes samples from it.
func (a *analysis) refillAt(i int, at float64, d Drop) float64 {
	after := a.measured[i+1].segment
	if d.RefillSource != RefillAssumed || at == after.StartSeconds {
		return d.Refill
	}
	between := func(start, end float64) (amount, seconds float64) {
		samples := a.between(start, end)
		return total(samples, 0, len(samples))
	}
	amount, seconds := between(after.StartSeconds, after.EndSeconds)
	part, length := between(min(at, after.StartSeconds), max(at, after.StartSeconds))
	if at > after.StartSeconds {
		part, length = -part, -length
	}
	if seconds+length <= 0 {
		return d.Refill
	}
	return d.Refill + (amount+part)/(seconds+length) - amount/seconds
}

// boundBucket sets the lower bound on the bucket size for a series without a drop.
func (a *analysis) boundBucket() {
	if a.result.Exhausted || a.options.Refill == nil {
		return
	}
	if most := spentMost(a.filled, *a.options.Refill); most > 0 {
		a.result.BucketAtLeast = &most
	}
}

func (a *analysis) warn() {
	add := func(kind WarningKind, format string, arguments ...any) {
		a.result.Warnings = append(a.result.Warnings, Warning{Kind: kind, Message: fmt.Sprintf(format, arguments...)})
	}
	if len(a.samples) < leastSamples {
		add(WarnTooShort, "too few samples to find a drop: got %d, need at least %d", len(a.samples), leastSamples)
	}
	if !a.result.Exhausted && a.result.BucketAtLeast == nil {
		add(WarnNoDropSeen, "the rate never dropped permanently, possibly because it did not exceed the refill: the bucket size is unknown")
	}
	if start := a.result.FastStart; start != nil {
		add(WarnFastStart, "the first %.4g s averaged %.4g and the rest %.4g: a spike, or a burst that is too short or too irregular to be measured",
			start.Seconds, start.Rate, start.Rest)
	}
	if a.turned {
		add(WarnTurned, "the rate changed when the load switched between writes and reads, not because a burst ended: "+
			"use one phase per operation")
	}
	if a.missing > 0 {
		add(WarnGaps, "samples are missing for %.4g s; the credits spent are computed as if the rate had continued", a.missing)
	}
	for _, m := range a.measured {
		if m.freedom < 5 {
			add(WarnFewIndependent, "from %.4g to %.4g s, there are too few independent samples for a reliable confidence interval of the mean",
				m.segment.StartSeconds, m.segment.EndSeconds)
		}
	}
}

// peak returns the highest mean rate over consecutive samples that together last at least the given number of seconds.
// If there are no such samples, it returns the mean of the burst.
func (a *analysis) peak(seconds float64) float64 {
	highest, amount, length, first := 0.0, 0.0, 0.0, 0
	for i, s := range a.samples {
		if i > 0 && s.StartSeconds-a.samples[i-1].EndSeconds > 0.01*a.typical {
			amount, length, first = 0, 0, i
		}
		amount += s.Rate * s.seconds()
		length += s.seconds()
		for first < i && length-a.samples[first].seconds() >= seconds*0.999 {
			amount -= a.samples[first].Rate * a.samples[first].seconds()
			length -= a.samples[first].seconds()
			first++
		}
		if length >= seconds*0.999 {
			highest = max(highest, amount/length)
		}
	}
	if highest == 0 {
		return a.result.Burst.Value
	}
	return highest
}
