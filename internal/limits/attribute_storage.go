package limits

import (
	"fmt"

	"github.com/storagebench/storagebench/internal/measure"
)

// causes maps each layer to the cause that is suspected if a limit of this layer may have held the rate back.
var causes = map[Layer]Cause{LayerInstance: CauseInstance, LayerFlow: CauseFlow, LayerNetwork: CauseNetwork, LayerDisk: CauseDisk, LayerVolume: CauseDisk}

// storage considers every documented limit that applies to the load as a suspect.
func (j *judge) storage() {
	for index := range j.computed.Limits {
		limit := &j.computed.Limits[index]
		load := j.measured.Load
		if limit.CacheOnly && j.fasterThanDisks() {
			load.CachedShare = 1
		}
		if limit.applies(load) {
			j.consider(limit)
		}
	}
}

// fasterThanDisks reports whether reads are faster than the documented limits of the disks allow, which means that a
// cache serves them.
func (j *judge) fasterThanDisks() bool {
	uncachedLimit := j.uncachedLimit()
	return j.measured.Load.Operation == Read && uncachedLimit.Limit != nil && j.measured.share(uncachedLimit) > 1+reach
}

// consider adds a limit as a suspect if the rate is near it. It considers the baseline and the burst if they may have
// applied, and uses the value that is nearer to the rate.
func (j *judge) consider(limit *Limit) {
	fill := j.measured.fill(limit)
	// cold is true if reads from the cache do not count toward the limit and the cache can hold all data. The limit can
	// then have held the rate back only while the cache was cold.
	cold := limit.CachedReadsPass && j.cacheableShare() >= 1
	best, found := Suspect{}, false
	for _, burst := range []bool{false, true} {
		switch {
		case burst && (limit.Burst == 0 || fill.gone()):
			continue
		case !burst && limit.Burst > 0 && (limit.Billed || fill.left()):
			continue
		}
		suspect := j.suspect(limit, burst, fill)
		if cold && suspect.Share > 1+reach {
			continue
		}
		if !found || suspect.distance() < best.distance() {
			best, found = suspect, true
		}
		// A limit that can still burst is not fully used when the rate reaches its baseline.
		if ceiling := limit.Burst == 0 || burst || fill.gone(); ceiling && !cold {
			j.used = max(j.used, suspect.Share)
		}
	}
	if !found {
		return
	}
	if j.nearest == nil || best.distance() < j.nearest.distance() {
		j.nearest = &best
	}
	if best.distance() > reach {
		return
	}
	if cold {
		best.rank++
		best.Evidence = append(best.Evidence, "evidence against it: all data fits into the server's memory")
	} else {
		j.used = max(j.used, best.Share)
	}
	j.suspects = append(j.suspects, best)
	j.suspectSpentCredits(best, fill)
}

// suspect returns the suspect for the burst or the baseline of a limit. It contains the share of the limit that was
// reached, and the evidence.
func (j *judge) suspect(limit *Limit, burst bool, fill *Fill) Suspect {
	bound := limit.bound(j.cached(limit), burst)
	made := Suspect{Cause: causes[limit.Layer], Limit: limit, Burst: bound.Burst, Share: j.measured.share(bound)}
	if limit.Given {
		made.Cause = CauseLimit
	}
	which := "limit"
	if limit.Burst > 0 {
		which = choose(bound.Burst, "burst", "baseline")
	}
	made.Evidence = append(made.Evidence, fmt.Sprintf("%s is %s of the %s of %s (%s)",
		measuredText(j.measured.Rate, limit.Dimension), measure.FormatShare(made.Share), which, limit.Name, bound.Arithmetic))
	if limit.Burst > 0 && !bound.Burst && fill.gone() {
		made.Cause, made.drained = CauseCredits, true
		made.Evidence = append(made.Evidence, choose(fill.Emptied,
			"the rate dropped to this baseline: the credits are spent",
			fmt.Sprintf("at most %.1f %% of the credits remain", fill.Most)))
	}
	j.addLoadEvidence(&made)
	return made
}

// addLoadEvidence adds evidence for or against a limit of the storage: queueing operations, the effect of a deeper
// queue, and the number of outstanding operations.
func (j *judge) addLoadEvidence(s *Suspect) {
	m := j.measured
	s.rank = 1
	if j.operationsQueue() {
		s.rank = 0
		s.Evidence = append(s.Evidence, fmt.Sprintf("operations are queueing: the mean latency is %s, but %s with one operation outstanding", seconds(m.LatencySeconds), seconds(m.FloorSeconds)))
	}
	switch {
	case m.DeeperGain >= gained:
		s.rank = 2
		s.Evidence = append(s.Evidence, fmt.Sprintf("evidence against it: the rate was %.2f times as high with more outstanding operations", m.DeeperGain))
	case m.DeeperGain > 0:
		s.rank = 0
		s.Evidence = append(s.Evidence, "more outstanding operations did not raise the rate")
	}
	if share, known := m.outstandingShare(); known && share < measure.MinLittleShare {
		s.rank = 2
		s.Evidence = append(s.Evidence, fmt.Sprintf("evidence against it: only %s of the configured queue depth was outstanding", measure.FormatShare(share)))
	}
}

// suspectSpentCredits adds spent credits as a suspect if the rate is at a baseline and it is not known whether the
// credits are gone.
func (j *judge) suspectSpentCredits(at Suspect, fill *Fill) {
	if at.Limit.Burst == 0 || at.Burst || at.Cause == CauseCredits || at.Limit.Billed {
		return
	}
	made := at
	made.Cause, made.rank = CauseCredits, at.rank+1
	why := "the credits of this limit are not tracked"
	if fill != nil {
		why = fmt.Sprintf("between %.0f and %.0f %% of the credits may remain", fill.Least, fill.Most)
	}
	made.Evidence = append([]string{at.Evidence[0]}, why+"; without credits, the limit is this baseline; with credits, it is "+in(at.Limit.Burst, choose(at.Limit.Dimension == Bytes, "MB/s", "IOPS")))
	j.suspects = append(j.suspects, made)
}

// cached returns the measured load, with CachedShare set to the share of reads that a cache is assumed to serve when
// the load is compared with a limit. For a limit that applies only to cached reads, the share is 1. For a limit that
// does not apply to cached reads, it is the share of random reads that the server's cache may serve. But the share is 0
// if all data fits into the server's memory, because the limit can then matter only while the cache is cold.
func (j *judge) cached(limit *Limit) Load {
	load := j.measured.Load
	if limit.CacheOnly {
		load.CachedShare = 1
	}
	if limit.CachedReadsPass {
		if share := j.cacheableShare(); share < 1 && j.measured.Random {
			load.CachedShare = share
		}
	}
	return load
}

// cacheableShare returns the largest share of reads, 0 to 1, that the server's cache can serve.
func (j *judge) cacheableShare() float64 {
	m := j.measured
	if m.Load.Operation != Read || m.WorkingSetBytes <= 0 || j.computed.Cache.Bytes <= 0 {
		return 0
	}
	return min(1, j.computed.Cache.Bytes/m.WorkingSetBytes)
}

func measuredText(r Rate, of Dimension) string {
	if of == Operations && r.OperationsPerSecond > 0 || r.BytesPerSecond == 0 {
		return measure.FormatOperationsPerSecond(r.OperationsPerSecond)
	}
	return measure.FormatMegabytesPerSecond(r.BytesPerSecond)
}

func seconds(latency float64) string { return measure.FormatLatency(uint64(max(0, latency*1e9))) }
