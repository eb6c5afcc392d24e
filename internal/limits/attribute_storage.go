package limits

import (
	"fmt"

	"github.com/storagebench/storagebench/internal/measure"
)

// causes of the layers.
var causes = map[Layer]Cause{LayerInstance: CauseInstance, LayerFlow: CauseFlow, LayerNetwork: CauseNetwork, LayerDisk: CauseDisk, LayerVolume: CauseDisk}

// storage looks at every documented limit.
func (j *judge) storage() {
	for index := range j.computed.Limits {
		limit := &j.computed.Limits[index]
		load := j.measured.Load
		if limit.CacheOnly && j.outrun() {
			load.CachedShare = 1
		}
		if limit.applies(load) {
			j.consider(limit)
		}
	}
}

// outrun tells that reads are faster than the disks are documented to be: a cache answers.
func (j *judge) outrun() bool {
	disks := j.disks()
	return j.measured.Load.Operation == Read && disks.Limit != nil && j.measured.share(disks) > 1+reach
}

// consider the baseline and the burst of a limit, as far as they can be in force; the nearer one counts.
func (j *judge) consider(limit *Limit) {
	fill := j.measured.fill(limit)
	cold := limit.CachedReadsPass && j.hits() >= 1 // it counts only if the cache does not answer
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
		// A limit of which the rate may still grow is not used up by its baseline.
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
		best.Evidence = append(best.Evidence, "against it: all data has room in the server's memory")
	} else {
		j.used = max(j.used, best.Share)
	}
	j.suspects = append(j.suspects, best)
	j.maybeCredits(best, fill)
}

// suspect compares the rate with a limit.
func (j *judge) suspect(limit *Limit, burst bool, fill *Fill) Suspect {
	bound := limit.bound(j.cached(limit), burst)
	made := Suspect{Cause: causes[limit.Layer], Limit: limit, Burst: bound.Burst, Share: j.measured.share(bound)}
	unit := ""
	switch limit.Layer {
	case LayerInstance:
		if share, known := weighted(j.measured.Nodes, limit.Units, bound); known {
			made.Share, unit = share, ", by the rates of the single nodes"
		}
	case LayerFlow:
		if share, known := weighted(j.measured.Flows, limit.Units, bound); known {
			made.Share, unit = share, ", by the rates of the single connections"
		}
	case LayerNetwork, LayerDisk, LayerVolume:
	}
	which := "limit"
	if limit.Burst > 0 {
		which = choose(bound.Burst, "burst", "baseline")
	}
	made.Evidence = append(made.Evidence, fmt.Sprintf("%s is %s of the %s of %s (%s)%s",
		measuredText(j.measured.Rate, limit.Dimension), measure.FormatShare(made.Share), which, limit.Name, bound.Arithmetic, unit))
	if limit.Burst > 0 && !bound.Burst && fill.gone() {
		made.Cause, made.drained = CauseCredits, true
		made.Evidence = append(made.Evidence, choose(fill.Emptied,
			"the rate was seen to fall to this baseline: the credits are gone",
			fmt.Sprintf("at most %.1f %% of the credits are left", fill.Most)))
	}
	j.weigh(&made)
	return made
}

// weigh adds what the load itself shows for or against a limit of the storage.
func (j *judge) weigh(s *Suspect) {
	m := j.measured
	s.rank = 1
	if j.waits() {
		s.rank = 0
		s.Evidence = append(s.Evidence, fmt.Sprintf("operations wait: %s on average, %s for a single one", seconds(m.LatencySeconds), seconds(m.FloorSeconds)))
	}
	switch {
	case m.DeeperGain >= gained:
		s.rank = 2
		s.Evidence = append(s.Evidence, fmt.Sprintf("against it: with more outstanding the rate was %.2f times as high", m.DeeperGain))
	case m.DeeperGain > 0:
		s.rank = 0
		s.Evidence = append(s.Evidence, "more outstanding brought no more")
	}
	if share, known := m.little(); known && share < measure.MinLittleShare {
		s.rank = 2
		s.Evidence = append(s.Evidence, fmt.Sprintf("against it: only %s of what was asked for at a time was outstanding", measure.FormatShare(share)))
	}
}

// maybeCredits names credits beside a baseline that was reached while nobody knows whether they are gone.
func (j *judge) maybeCredits(at Suspect, fill *Fill) {
	if at.Limit.Burst == 0 || at.Burst || at.Cause == CauseCredits || at.Limit.Billed {
		return
	}
	made := at
	made.Cause, made.rank = CauseCredits, at.rank+1
	why := "the credits of this limit are not followed"
	if fill != nil {
		why = fmt.Sprintf("between %.0f and %.0f %% of the credits may be left", fill.Least, fill.Most)
	}
	made.Evidence = append([]string{at.Evidence[0]}, why+"; without them this baseline holds, with them "+in(at.Limit.Burst, choose(at.Limit.Dimension == Bytes, "MB/s", "IOPS")))
	j.suspects = append(j.suspects, made)
}

// cached is the load with the part of the reads that the server's cache may answer, as far as it matters to a
// limit. Where all data fits, disks are compared as if the cache were cold.
func (j *judge) cached(limit *Limit) Load {
	load := j.measured.Load
	if limit.CacheOnly {
		load.CachedShare = 1
	}
	if limit.CachedReadsPass {
		if share := j.hits(); share < 1 && j.measured.Random {
			load.CachedShare = share
		}
	}
	return load
}

// hits is the part of the reads that the server's cache can answer at best.
func (j *judge) hits() float64 {
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
