package model

import "math"

// nanosecond is a nanosecond in seconds. A remainder that lasts less than this is a rounding error.
const nanosecond = 1e-9

// bucket is the state of a Bucket. Between changes of demand, shares or configuration its credits are piecewise linear
// in time, so the time of each event can be computed directly.
type bucket struct {
	Bucket
	credits float64
	queue   []entry
	// taken is the share of the rate that tenants currently use, and spent the part of that share that costs credits.
	taken, spent float64
}

// entry is a request in a bucket, with the amount that has not passed yet.
type entry struct {
	request *request
	left    float64
}

// flow holds the rates of a bucket, per second, until something changes.
type flow struct {
	// own is the rate at which the head of the queue passes.
	own float64
	// drift is the rate at which the credits change.
	drift float64
}

func newBucket(config Bucket) *bucket {
	return &bucket{Bucket: config, credits: config.Start()}
}

func (b *bucket) add(r *request) {
	b.queue = append(b.queue, entry{request: r, left: b.amountOf(r.Request)})
}

// flow returns the current flow. At zero credits, the bucket bursts only if the credits grow even while it bursts.
// Otherwise it stays at the baseline and at zero credits, even if the credits would grow at the baseline.
func (b *bucket) flow() flow {
	use := b.spent
	if len(b.queue) > 0 {
		use += 1 - b.taken
	}
	if b.Bursts() {
		drift := b.Refill() - b.BurstPerSecond*use
		if b.credits > 0 || drift > 0 {
			if drift > 0 && b.credits >= b.Size {
				drift = 0
			}
			return flow{own: b.BurstPerSecond * (1 - b.taken), drift: drift}
		}
	}
	return flow{own: b.BaselinePerSecond * (1 - b.taken)}
}

// untilChange returns the time until the flow next changes without a new request: the head of the queue has passed, the
// credits run out, or the bucket is full. It is infinite if there is no such change.
func (b *bucket) untilChange(f flow) float64 {
	until := math.Inf(1)
	if len(b.queue) > 0 && f.own > 0 {
		until = b.queue[0].left / f.own
	}
	switch {
	case f.drift < 0:
		until = min(until, b.credits/-f.drift)
	case f.drift > 0:
		until = min(until, (b.Size-b.credits)/f.drift)
	}
	return until
}

// advance advances the bucket by seconds, which must not go beyond the next change. It returns the request that has
// passed by then, if any.
func (b *bucket) advance(seconds float64) *request {
	f := b.flow()
	b.credits += f.drift * seconds
	// A remainder of credits that lasts less than a nanosecond is a rounding error. Without this, reaching the change
	// could take an endless number of ever smaller steps.
	rest := math.Abs(f.drift) * nanosecond
	if f.drift < 0 && b.credits <= rest {
		b.credits = 0
	}
	if f.drift > 0 && b.credits >= b.Size-rest {
		b.credits = b.Size
	}
	if len(b.queue) == 0 {
		return nil
	}
	head := &b.queue[0]
	head.left -= f.own * seconds
	if f.own == 0 || head.left > f.own*nanosecond {
		return nil
	}
	through, rest := head.request, head.left
	b.queue[0] = entry{}
	b.queue = b.queue[1:]
	if len(b.queue) > 0 {
		b.queue[0].left += rest // otherwise the rounding errors of all requests would add up
	}
	return through
}
