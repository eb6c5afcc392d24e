package model

import "math"

// nanosecond in seconds: what is so little of a request that it is rounding, not a rest.
const nanosecond = 1e-9

// bucket is a Bucket at work. Between two changes of demand, shares or configuration its credits move
// along straight lines, so every moment of interest is computed, none is searched for.
type bucket struct {
	Bucket
	credits float64
	queue   []entry
	// taken is the share of the rate that others use now, spent the part of it that costs credits.
	taken, spent float64
}

// entry is a request in a bucket, with what is still to be let through of it.
type entry struct {
	request *request
	left    float64
}

// flow is how a bucket works until something changes, by the second.
type flow struct {
	// own is let through of the head of the queue.
	own float64
	// drift is what the credits change by.
	drift float64
}

func newBucket(config Bucket) *bucket {
	return &bucket{Bucket: config, credits: config.Start()}
}

func (b *bucket) add(r *request) {
	b.queue = append(b.queue, entry{request: r, left: b.amountOf(r.Request)})
}

// flow is the present one. At zero credits the bucket bursts only if even then they grow; it stays at zero,
// at the baseline, where they would grow at the baseline but not while bursting.
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

// untilChange is the time to the next moment at which the flow may change by itself: the head of the queue
// is through, the credits end or the bucket is full. It is infinite where there is none.
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

// advance moves on by seconds, at most to the next change, and gives the request that is through then.
func (b *bucket) advance(seconds float64) *request {
	f := b.flow()
	b.credits += f.drift * seconds
	// A rest of credits that would last less than a nanosecond is rounding; without this it would take an
	// endless number of ever smaller steps to the change.
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
		b.queue[0].left += rest // or a million requests would be off by a million roundings
	}
	return through
}
