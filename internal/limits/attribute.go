package limits

import (
	"cmp"
	"math"
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// Thresholds for deciding what may have held a rate back; see docs/design/0007-limits.md.
const (
	// A limit may have held a rate back if the rate differs from the limit by at most the share `reach` of the limit.
	reach = 0.10
	// idle is the utilization below which a limit cannot be the reason that operations wait.
	idle = 0.80
	// Two suspects tie if the relative distances between the rate and their limits differ by less than `apart`.
	apart = 0.02
	// A client's CPU may hold the rate back if its use is at least busyCPU, or if the client's cgroup was throttled in
	// more than the share `throttled` of its CPU quota periods.
	busyCPU   = 0.90
	throttled = 0.05
	// nearFloor and queued are multiples of the latency of a single operation. Operations do not queue if their latency is
	// at most nearFloor times as high, and they queue if it is at least `queued` times as high.
	nearFloor = 1.25
	queued    = 1.50
	// gained is the factor by which more outstanding operations must raise the rate to show that the target had
	// capacity left.
	gained = 1.10
)

// Suspect is one possible explanation of a rate.
type Suspect struct {
	Cause Cause
	// Limit is the suspected limit, or nil if the cause is not a documented limit. Burst is true if the rate is
	// compared with the burst of the limit, and false if it is compared with the baseline.
	Limit *Limit
	Burst bool
	// Share is the share of the limit that was reached: 0.98 is 98 %.
	Share float64
	// Tied is true if the suspect is about as likely as the first suspect. For the first suspect itself, Tied is true if
	// another suspect with a different cause ties with it.
	Tied bool
	// Evidence lists the evidence for and against the suspect, one sentence each.
	Evidence []string
	// rank orders suspects by evidence: 0 if the rate is near the limit and other evidence supports the suspect, 1 if the
	// rate is only near the limit, 2 if other evidence contradicts the suspect, 3 or more if the suspect is unlikely.
	rank int
	// drained is true if the limit is known to be at its baseline.
	drained bool
}

// distance returns the difference between the rate and the rate that the suspect allows, as a share of the
// allowed rate.
func (s Suspect) distance() float64 { return math.Abs(1 - s.Share) }

// order returns the distance by which suspects are sorted. A limit whose credits are known to be gone is certainly at
// its baseline, so it ranks before a limit whose state is unknown.
func (s Suspect) order() float64 {
	if s.drained {
		return s.distance() - 1.5*apart
	}
	return s.distance()
}

// Attribution compares a rate with the documented limits and ranks the causes that may have held the rate back.
type Attribution struct {
	// Suspects lists the suspects, most likely first. It is never empty: without any other suspect, it contains only
	// CauseUnknown.
	Suspects []Suspect
	// Ambiguous is true if suspects with different causes tie for first place.
	Ambiguous bool
	// PercentOfBaseline is the rate as a percentage of what the limits allow for this load without burst credits, and
	// PercentOfBurst as a percentage of what they allow with credits. They are 0 if the limits are unknown.
	PercentOfBaseline, PercentOfBurst float64
	// Documented holds the effective limits.
	Documented Effective
}

// Attribute ranks the causes that may have held a measured rate back.
func (c Computed) Attribute(m Measured) Attribution {
	made := Attribution{Documented: c.At(m.Load)}
	m.Load.CachedShare = 0
	made.PercentOfBaseline = 100 * m.share(made.Documented.Baseline)
	made.PercentOfBurst = 100 * m.share(made.Documented.Burst)
	if made.Documented.Baseline.Limit == nil {
		// The block size is unknown, so the rate can be compared only with limits in bytes.
		made.PercentOfBaseline, made.PercentOfBurst = 100*m.share(made.Documented.BytesBaseline), 100*m.share(made.Documented.BytesBurst)
	}
	j := judge{computed: c, measured: m}
	j.storage()
	j.suspectLoad()
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

// judge collects the suspects for one measured rate, and ranks them.
type judge struct {
	computed Computed
	measured Measured
	suspects []Suspect
	// used is the highest utilization of any limit, including the clients' CPU and the rate limit of the load. nearest is
	// the suspect whose limit is nearest to the rate.
	used    float64
	nearest *Suspect
}

// ranked sorts the suspects by evidence, and then by how near the rate is to their limits. If there are no suspects, it
// returns CauseUnknown and the reasons why no cause is named.
func (j *judge) ranked() []Suspect {
	if len(j.suspects) == 0 {
		return []Suspect{j.unknownCause()}
	}
	slices.SortStableFunc(j.suspects, func(a, b Suspect) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.order(), b.order()))
	})
	return j.suspects
}

// unknownCause returns CauseUnknown as the only suspect, with the reasons why no cause is named.
func (j *judge) unknownCause() Suspect {
	made := Suspect{Cause: CauseUnknown, rank: 3}
	switch {
	case len(j.computed.Limits) == 0:
		made.Evidence = append(made.Evidence, "no limits of this target are known")
	case j.nearest != nil:
		made.Evidence = append(made.Evidence, "no documented limit is within 10 % of the rate; the closest is "+j.nearest.Limit.Name+", of which "+measure.FormatShare(j.nearest.Share)+" was reached")
	default:
		made.Evidence = append(made.Evidence, "no documented limit is close to the rate")
	}
	for _, missing := range j.computed.Missing {
		made.Evidence = append(made.Evidence, "unknown: "+missing.Field+": "+missing.What)
	}
	if j.atSingleLatency() && j.measured.DeeperGain == 0 {
		made.Evidence = append(made.Evidence, "the latency is close to that of a single operation, so a deeper queue may raise the rate: measure with a ramp of QueueDepth or Jobs")
	}
	if share, known := j.measured.outstandingShare(); known && j.measured.FloorSeconds == 0 && share >= measure.MinLittleShare {
		made.Evidence = append(made.Evidence, "cannot determine whether operations queue in the storage, because the latency of a single operation was not measured: add a step with one outstanding operation")
	}
	return made
}

// atSingleLatency reports whether the latency is near the latency of a single operation, which means that operations do
// not queue.
func (j *judge) atSingleLatency() bool {
	m := j.measured
	return m.FloorSeconds > 0 && m.LatencySeconds > 0 && m.LatencySeconds <= nearFloor*m.FloorSeconds
}

// operationsQueue reports whether the latency is well above the latency of a single operation, which means that
// operations queue.
func (j *judge) operationsQueue() bool {
	m := j.measured
	return m.FloorSeconds > 0 && m.LatencySeconds >= queued*m.FloorSeconds
}

// belowQueueDepth reports whether clearly fewer operations were outstanding than the load is configured to keep
// outstanding.
func (j *judge) belowQueueDepth() bool {
	share, known := j.measured.outstandingShare()
	return known && share < measure.MinLittleShare
}
