package limits

import (
	"cmp"
	"math"
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// The judgement's figures, of the design's section 7 where it names them.
const (
	// reach is how far a rate may be from a limit that holds it back.
	reach = 0.10
	// idle is the use of every limit below which none of them can be what waits are for.
	idle = 0.80
	// apart is how much nearer one limit has to be than another to come first by itself.
	apart = 0.02
	// busyCPU and throttled are from where on a client's CPU holds it back.
	busyCPU   = 0.90
	throttled = 0.05
	// nearFloor is a latency that has no wait in it, over the floor; queued one that has.
	nearFloor = 1.25
	queued    = 1.50
	// gained is what more outstanding has to bring to show that there was room.
	gained = 1.10
)

// Suspect is one explanation of a rate.
type Suspect struct {
	Cause Cause
	// Limit in question; nil for causes that are no documented limit. Burst tells that its burst is meant.
	Limit *Limit
	Burst bool
	// Share is what was reached of it: 0.98 is 98 %.
	Share float64
	// Tied tells that it is as good an explanation as the first one.
	Tied bool
	// Evidence for and against it, a sentence each.
	Evidence []string
	// rank: 0 supported by more than nearness, 1 near, 2 near but contradicted, more: hardly.
	rank int
	// drained tells that the limit is known to be at its baseline.
	drained bool
}

// distance from what the suspect would allow.
func (s Suspect) distance() float64 { return math.Abs(1 - s.Share) }

// order is the distance by which suspects are sorted. A limit that is known to have no credits is at its baseline
// for certain, which makes it more likely than one that would have to be.
func (s Suspect) order() float64 {
	if s.drained {
		return s.distance() - 1.5*apart
	}
	return s.distance()
}

// Attribution says how a rate compares with what is documented, and what held it back.
type Attribution struct {
	// Suspects, the best first; never empty. The last resort is CauseUnknown.
	Suspects []Suspect
	// Ambiguous tells that causes differ between the first and one that is tied with it.
	Ambiguous bool
	// PercentOfBaseline and PercentOfBurst of the effective limits for this load; 0 where they are not known.
	PercentOfBaseline, PercentOfBurst float64
	// Documented are those limits.
	Documented Effective
}

// Attribute ranks what may have held a measured rate back.
func (c Computed) Attribute(m Measured) Attribution {
	made := Attribution{Documented: c.At(m.Load)}
	m.Load.CachedShare = 0
	made.PercentOfBaseline = 100 * m.share(made.Documented.Baseline)
	made.PercentOfBurst = 100 * m.share(made.Documented.Burst)
	if made.Documented.Baseline.Limit == nil { // of an unknown block size: bytes only
		made.PercentOfBaseline, made.PercentOfBurst = 100*m.share(made.Documented.BytesBaseline), 100*m.share(made.Documented.BytesBurst)
	}
	j := judge{computed: c, measured: m}
	j.storage()
	j.generator()
	j.serverCache()
	j.queueDepth()
	made.Suspects = j.ranked()
	for index := range made.Suspects[1:] {
		suspect := &made.Suspects[index+1]
		if suspect.rank == made.Suspects[0].rank && suspect.order()-made.Suspects[0].order() < apart {
			suspect.Tied = true
			if suspect.Cause != made.Suspects[0].Cause {
				made.Ambiguous, made.Suspects[0].Tied = true, true
			}
		}
	}
	return made
}

// judge collects the suspects.
type judge struct {
	computed Computed
	measured Measured
	suspects []Suspect
	// used is the greatest share of any limit that was reached, of which the nearest is kept.
	used    float64
	nearest *Suspect
}

// ranked sorts by evidence, then by nearness. Nothing in reach is an answer of its own.
func (j *judge) ranked() []Suspect {
	if len(j.suspects) == 0 {
		return []Suspect{j.nothing()}
	}
	slices.SortStableFunc(j.suspects, func(a, b Suspect) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.order(), b.order()))
	})
	return j.suspects
}

// nothing explains why no cause is named.
func (j *judge) nothing() Suspect {
	made := Suspect{Cause: CauseUnknown, rank: 3}
	switch {
	case len(j.computed.Limits) == 0:
		made.Evidence = append(made.Evidence, "no limit of this target is known")
	case j.nearest != nil:
		made.Evidence = append(made.Evidence, "no documented limit is within 10 % of the rate; the nearest is "+j.nearest.Limit.Name+", of which "+measure.FormatShare(j.nearest.Share)+" was reached")
	default:
		made.Evidence = append(made.Evidence, "no documented limit is near the rate")
	}
	for _, missing := range j.computed.Missing {
		made.Evidence = append(made.Evidence, "not known: "+missing.Field+": "+missing.What)
	}
	if j.atFloor() && j.measured.DeeperGain == 0 {
		made.Evidence = append(made.Evidence, "the latency is that of a single operation, so that a deeper queue may bring more: measure one, with a ramp of QueueDepth or Jobs")
	}
	if share, known := j.measured.little(); known && j.measured.FloorSeconds == 0 && share >= measure.MinLittleShare {
		made.Evidence = append(made.Evidence, "whether operations wait in the storage is not known, since the latency of a single one was not measured: add a step with one outstanding")
	}
	return made
}

// atFloor tells that operations do not wait for each other.
func (j *judge) atFloor() bool {
	m := j.measured
	return m.FloorSeconds > 0 && m.LatencySeconds > 0 && m.LatencySeconds <= nearFloor*m.FloorSeconds
}

// waits tells that they do.
func (j *judge) waits() bool {
	m := j.measured
	return m.FloorSeconds > 0 && m.LatencySeconds >= queued*m.FloorSeconds
}

// hungry tells that the storage was not kept as busy as was asked for.
func (j *judge) hungry() bool {
	share, known := j.measured.little()
	return known && share < measure.MinLittleShare
}
