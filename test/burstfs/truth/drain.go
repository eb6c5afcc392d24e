package truth

import (
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// Drain describes a span of load and the bucket that ran out of credits in it. If none did, Bucket is empty, and only
// the means are set.
type Drain struct {
	Bucket string
	Counts model.Counts
	// Burst and Baseline are the rates per second before and after the end of the credits, over the whole seconds of load,
	// in bytes or operations, depending on what the bucket counts.
	Burst, Baseline float64
	// Seconds is the time from the start of the span to the end of the credits.
	Seconds float64
	// Spent is the decrease of the credits from their maximum since the time spentSince.
	Spent float64
	// MeanBytes and MeanOperations are the mean rates per second over all whole seconds of load.
	MeanBytes, MeanOperations float64
}

// Drain evaluates a span of load. Spent credits count from the earlier time spentSince, because a layout also costs
// credits.
func (r Record) Drain(config model.Config, spentSince, from, to time.Time) Drain {
	first, last := r.wholeSeconds(from, to)
	mean := r.rates(first, last)
	drain := Drain{MeanBytes: mean.bytes, MeanOperations: mean.operations}
	for i, bucket := range config.Buckets {
		end := r.exhausted(i, bucket, int(math.Floor(r.since(from))), last)
		if end < 0 || drain.Bucket != "" && r.since(from)+drain.Seconds < float64(end) {
			continue
		}
		burst, baseline := r.rates(first, end).of(bucket), r.rates(end+1, last).of(bucket)
		drain.Bucket, drain.Counts, drain.Burst, drain.Baseline = bucket.Name, bucket.Counts, burst, baseline
		drain.Seconds = float64(end) + r.part(i, end) - r.since(from)
		drain.Spent = max(r.fullest(i, bucket, spentSince, end), r.credits(i, bucket, from)) - r.Seconds[end].Credits[i]
	}
	return drain
}

// wholeSeconds returns the whole seconds of a span, as a half-open range.
func (r Record) wholeSeconds(from, to time.Time) (first, last int) {
	first = max(0, int(math.Ceil(r.since(from))))
	last = min(len(r.Seconds), int(math.Floor(r.since(to))))
	return first, max(first, last)
}

type rates struct{ bytes, operations float64 }

func (r rates) of(bucket model.Bucket) float64 {
	if bucket.Counts == model.CountsOperations {
		return r.operations
	}
	return r.bytes
}

// rates returns the mean rates of the seconds first to last-1, or NaN if there are none.
func (r Record) rates(first, last int) rates {
	var sum rates
	for _, s := range r.Seconds[min(first, last):last] {
		sum.bytes += float64(s.Bytes())
		sum.operations += float64(s.Operations())
	}
	n := float64(last - first)
	if n <= 0 {
		return rates{math.NaN(), math.NaN()}
	}
	return rates{sum.bytes / n, sum.operations / n}
}

// exhausted returns the second in which a bucket ran out of credits under load, or -1 if it did not. At the end of that
// second it has no credits, and for the rest of the span it has only the few that come back while a busy machine
// briefly sends no load.
func (r Record) exhausted(bucket int, config model.Bucket, first, last int) int {
	if !config.Bursts() {
		return -1
	}
	// none is half a thousandth of the bucket, because some credits come back if the demand ends within a second.
	none, few := config.Size/2000, config.Size/20
	end := -1
	for i := max(1, first); i < last; i++ {
		switch now, before := r.Seconds[i].Credits[bucket], r.Seconds[i-1].Credits[bucket]; {
		case now > few:
			end = -1
		case end < 0 && now <= none && before > none:
			end = i
		}
	}
	return end
}

// part estimates the fraction of a second after which the credits ended, from their decrease in the second before.
func (r Record) part(bucket, second int) float64 {
	if second < 2 {
		return 0.5
	}
	before, rest := r.Seconds[second-2].Credits[bucket], r.Seconds[second-1].Credits[bucket]
	if fall := before - rest; fall > rest {
		return rest / fall
	}
	return 0.5 // the load began in the second before, so its decrease is no basis for an estimate
}

// fullest returns the maximum of a bucket's credits from a time to a second. The record contains the credits only at
// the ends of seconds, so for a load that began in the very first second, the initial credits come from the
// configuration.
func (r Record) fullest(bucket int, config model.Bucket, since time.Time, second int) float64 {
	before := int(math.Floor(r.since(since))) - 1
	most := 0.0
	if before < 0 {
		most = config.Start()
	}
	for _, s := range r.Seconds[min(second, max(0, before)) : second+1] {
		most = max(most, s.Credits[bucket])
	}
	return most
}

// credits returns the credits of a bucket at a time before which the store was idle. It assumes that they kept growing
// as in the second before, and returns 0 if the store was busy.
func (r Record) credits(bucket int, config model.Bucket, at time.Time) float64 {
	ended := int(math.Floor(r.since(at))) // number of complete seconds
	if ended < 2 || ended > len(r.Seconds) || r.Seconds[ended-1].Busy > 0 {
		return 0
	}
	last := r.Seconds[ended-1].Credits[bucket]
	growth := max(0, last-r.Seconds[ended-2].Credits[bucket])
	return min(config.Size, last+growth*(r.since(at)-float64(ended)))
}

// Refill returns the growth per second of a bucket's credits in the whole seconds of a pause while the bucket was not
// full, or NaN if the pause has fewer than two such seconds.
func (r Record) Refill(config model.Config, bucket string, pause Pause) float64 {
	i := slices.IndexFunc(config.Buckets, func(b model.Bucket) bool { return b.Name == bucket })
	if i < 0 {
		return math.NaN()
	}
	first, last := r.wholeSeconds(pause.From, pause.To)
	full := config.Buckets[i].Size * 0.9999
	for last > first && r.Seconds[last-1].Credits[i] >= full {
		last--
	}
	if last-first < 2 {
		return math.NaN()
	}
	return (r.Seconds[last-1].Credits[i] - r.Seconds[first].Credits[i]) / float64(last-1-first)
}
