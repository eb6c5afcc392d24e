package limits

import (
	"fmt"
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// suspectLoad adds suspects that limit how fast the load is generated: the clients' CPU, the tool, and the rate limit
// of the load.
func (j *judge) suspectLoad() {
	m := j.measured
	if m.CPUShare >= busyCPU || m.ThrottledShare > throttled {
		made := Suspect{Cause: CauseClientCPU, rank: j.loadRank(m.CPUShare)}
		if m.CPUShare >= busyCPU {
			made.Share = min(m.CPUShare, 1)
			made.Evidence = append(made.Evidence, fmt.Sprintf("the busiest client used %s of its available CPU", measure.FormatShare(m.CPUShare)))
		}
		if m.ThrottledShare > throttled {
			made.rank, made.Share = 0, 1
			made.Evidence = append(made.Evidence, fmt.Sprintf("a client was throttled at its CPU limit in %s of the CPU quota periods", measure.FormatShare(m.ThrottledShare)))
		}
		j.suspects = append(j.suspects, j.addLittlesLaw(made))
		j.used = max(j.used, made.Share)
	}
	share := m.shareOf(m.Asked)
	j.used = max(j.used, share)
	if share >= 1-reach {
		made := Suspect{Cause: CauseTool, Share: share, rank: j.loadRank(share),
			Evidence: []string{"the workload reached " + measure.FormatShare(share) + " of its rate limit"}}
		j.suspects = append(j.suspects, j.addLittlesLaw(made))
	}
	if j.belowQueueDepth() && !j.has(CauseClientCPU) && !j.has(CauseTool) {
		made := Suspect{Cause: CauseTool, Share: 1}
		j.suspects = append(j.suspects, j.addLittlesLaw(made))
		j.used = 1
	}
}

// loadRank returns the rank of a suspect that limits the load itself: the clients' CPU or the rate limit. share is the
// share of the CPU or of the rate limit that was used.
func (j *judge) loadRank(share float64) int {
	return choose(j.belowQueueDepth() || share >= 1-reach/2, 0, 1)
}

// addLittlesLaw adds evidence for a suspect that limits the load itself if, by Little's law, clearly fewer operations
// were outstanding than configured.
func (j *judge) addLittlesLaw(s Suspect) Suspect {
	if share, known := j.measured.outstandingShare(); known && share < measure.MinLittleShare {
		s.Evidence = append(s.Evidence, fmt.Sprintf("only %s of the configured queue depth was outstanding: the load generator did not keep up", measure.FormatShare(share)))
	}
	return s
}

func (j *judge) has(cause Cause) bool {
	return slices.ContainsFunc(j.suspects, func(suspect Suspect) bool { return suspect.Cause == cause })
}

// serverCache adds the server's cache as a suspect if reads are faster than the disks allow, and if the server's memory
// can hold all data or, for random reads, a part of it. The cache's own speed is named as the limit only if nothing
// else explains the rate.
func (j *judge) serverCache() {
	m, share := j.measured, j.cacheableShare()
	if share == 0 || share < 1 && !m.Random {
		return
	}
	if !j.fasterThanDisks() {
		return
	}
	uncachedLimit := j.uncachedLimit()
	made := Suspect{Cause: CauseServerCache, Share: 1 - reach, rank: 2, Evidence: []string{
		fmt.Sprintf("%s exceeds %s (%s): data is served from the server's cache", measuredText(m.Rate, uncachedLimit.Limit.Dimension), uncachedLimit.Limit.Name, uncachedLimit.Arithmetic),
		fmt.Sprintf("%s of the data fits into the server's memory of %s", measure.FormatShare(share), measure.FormatBinaryBytes(uint64(j.computed.Cache.Bytes)))}}
	if len(j.suspects) == 0 && !j.atSingleLatency() && m.DeeperGain < gained {
		made.Share, made.rank = 1, choose(share < 1, 1, 0)
		made.Evidence = append(made.Evidence, "no other limit is close: the cache itself limits the rate")
	}
	j.suspects = append(j.suspects, made)
}

// uncachedLimit returns the lowest bound of the limits that do not apply to cached reads. The bound of a limit is its
// burst, or its baseline if its credits are known to be gone.
func (j *judge) uncachedLimit() Bound {
	var least Bound
	for index := range j.computed.Limits {
		limit := &j.computed.Limits[index]
		if !limit.CachedReadsPass || !limit.applies(j.measured.Load) {
			continue
		}
		bound := limit.bound(j.measured.Load, !j.measured.fill(limit).gone())
		if least.Limit == nil || bound.less(least, choice(bound)) {
			least = bound
		}
	}
	return least
}

func choice(b Bound) Dimension {
	if b.OperationsPerSecond > 0 {
		return Operations
	}
	return Bytes
}

// queueDepth adds the queue depth as a suspect only if operations do not queue and a deeper queue raised the rate.
// Little's law alone proves nothing, because it holds in every closed loop. The queue depth can rank first only if, in
// addition, the utilization of every limit is below `idle`. Otherwise it is listed after all other suspects, with the
// evidence against it.
func (j *judge) queueDepth() {
	m := j.measured
	if !j.atSingleLatency() || m.DeeperGain < gained || j.belowQueueDepth() || m.Outstanding <= 0 {
		return
	}
	possible := m.Outstanding / m.LatencySeconds
	made := Suspect{Cause: CauseQueueDepth, Share: m.OperationsPerSecond / possible, Evidence: []string{
		fmt.Sprintf("%s outstanding operations at %s each allow at most %s", number(m.Outstanding), seconds(m.LatencySeconds), measure.FormatOperationsPerSecond(possible)),
		fmt.Sprintf("a single operation takes %s, so operations do not queue", seconds(m.FloorSeconds)),
		fmt.Sprintf("the rate was %.2f times as high with more outstanding operations", m.DeeperGain),
	}}
	use := "the highest utilization of any documented limit is " + measure.FormatShare(j.used)
	if j.used >= idle {
		made.rank, use = 4, "evidence against it: the utilization of a limit is "+measure.FormatShare(j.used)+"; the queue depth can be the sole explanation only if every utilization is below 80 %"
		if len(j.suspects) == 0 {
			j.suspects = append(j.suspects, j.unknownCause())
		}
	}
	made.Evidence = append(made.Evidence, use)
	j.suspects = append(j.suspects, made)
}
