package result

import (
	"time"

	"github.com/storagebench/storagebench/internal/detect"
)

// If the credits that two drains spent differ by at most sameSpent (a relative difference), both drains are assumed to
// have started with a full bucket.
const sameSpent = 0.05

// redrain measures the refill rate of bytes, of operations or of both, depending on which credits may have run out.
//
// The bucket is empty at the end of the earlier drain and again at the drop of the redrain (the second drain). Let idle
// be the time from the end of the earlier drain to the first I/O of the redrain, and t the time from that I/O to the
// drop. From drain to drop, the bucket gains the refill each second and loses the I/O that the store lets through, so
//
//	0 = refill * (idle + t) - let through        refill = let through / (idle + t)
//
// This is true only if the bucket did not fill up in between: a full bucket gains nothing. The method requires neither
// the size of the bucket nor the burst to be known, and the refill may differ from the level after the drop.
func (d *drain) redrain() {
	if len(d.b.history.Earlier) == 0 {
		d.say("the refill was not measured: there was no load before the idle time")
		return
	}
	idle := d.firstIO().Sub(d.b.history.LastEnd())
	if idle <= 0 {
		d.say("the refill was not measured: the earlier load ended after this step had started")
		return
	}
	d.result.IdleNanoseconds = new(idle.Nanoseconds())
	switch {
	case !d.b.history.BucketEmpty:
		d.say("the refill was not measured: the bucket may not have been empty at the start of the idle time")
		return
	case !d.result.Exhausted:
		d.say("the refill was not measured: the credits did not run out again")
		return
	}
	for _, one := range []dimension{inBytes, inOperations} {
		other := [2]string{dimensionOperations, dimensionBytes}[one]
		if !d.ok[one] || d.found[one].SecondsToBaseline == nil || d.result.Dimension == other {
			continue
		}
		d.measureRefill(one, idle.Seconds())
	}
}

// measureRefill replaces the previously known refill rate with the measured one, and recomputes the spent credits.
func (d *drain) measureRefill(one dimension, idle float64) {
	// Only the warm-up counts as earlier I/O, because the bucket was empty before it.
	earlier := d.earlier(one)
	through, before := 0.0, 0.0
	for _, s := range earlier {
		through += s.Rate * (s.EndSeconds - s.StartSeconds)
		before = max(before, -s.StartSeconds)
	}
	refillAt := func(seconds float64) float64 {
		return (through + d.letThrough(one, seconds)) / (idle + before + seconds)
	}
	at := *d.found[one].SecondsToBaseline
	measured := detect.Estimate{Value: refillAt(at.Value)}
	// The amount that the store let through before the drop has the same error as the amount of credits spent.
	spent, seconds := d.lastDrop(one).Spent, idle+before+at.Value
	first, last := refillAt(at.Low), refillAt(at.High)
	measured.Low = min(first, last, measured.Value-(spent.Value-spent.Low)/seconds)
	measured.High = max(first, last, measured.Value+(spent.High-spent.Value)/seconds)
	d.sayFull(one, at.Value, measured.Value)
	d.refill[one] = knownRefill{value: measured, source: detect.RefillMeasured}
	d.analyzeWith(one, earlier)
}

// sayFull adds a sentence to the message if the bucket was, or may have been, full again before the drain. It compares
// the credits that this drain spent above the measured refill with the documented bucket size, or else with the credits
// that the first drain spent. If the bucket was full, the measured refill is too low, and the credits computed with it
// are at least the bucket's size.
func (d *drain) sayFull(one dimension, at, measured float64) {
	name := [2]string{"bytes", "operations"}[one]
	spentWith := func(refill float64) float64 { return d.letThrough(one, at) - refill*at }
	known := d.documented(one)
	if known.bucket > 0 && spentWith(measured) >= (1-sameSpent)*known.bucket {
		d.say("%s: according to its documented size, the bucket was full again, so the refill is a lower bound: use a shorter idle time to measure it", name)
		return
	}
	first := d.b.history.drainSpent(one)
	if first == nil || !(first.Amount > 0) {
		return
	}
	switch spent := spentWith(first.Refill); {
	case within(spent, first.Amount, sameSpent):
		d.say("%s: this drain spent as much as the first, so the bucket was full again and the refill is a lower bound; use a shorter idle time to measure it", name)
	case spent > first.Amount:
		d.say("%s: this drain spent more than the first, which began with a partly full bucket; if the bucket was full again, the refill is a lower bound", name)
	}
}

// firstIO returns the start of the step's first I/O, including the warm-up.
func (d *drain) firstIO() time.Time {
	first := d.s.start.UnixNano()
	for _, series := range d.b.contributing() {
		if series.Len() > 0 {
			first = min(first, series.At(0).StartNanoseconds)
		}
	}
	return time.Unix(0, first).UTC()
}

func (d *drain) lastDrop(one dimension) detect.Drop {
	drops := d.found[one].Drops
	return drops[len(drops)-1]
}

// letThrough returns the amount of I/O that was completed before `until`, an estimate of when the last drop in the
// series occurred.
func (d *drain) letThrough(one dimension, until float64) float64 {
	last := d.lastDrop(one)
	return detect.DoneBefore(d.s.of(one), until, last.Before.Value, last.After.Value)
}
