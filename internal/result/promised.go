package result

import (
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

const (
	// tooFast is the factor by which a rate must exceed the highest documented burst to be suspicious. Such a rate
	// probably includes the effect of a cache or of compression, or the documented limit is wrong.
	tooFast = 1.25
	// cacheMemories is a multiple of the server's memory. The server's cache can serve only a small share of the reads
	// from a dataset of at least this size.
	cacheMemories = 2
)

// judgePromise compares the result with the documented limits of the storage.
func (b *builder) judgePromise() {
	if b.result.Clients > 0 && !b.described.NoStorage {
		b.judgeVolumes()
	}
	demand, known := b.demand()
	if len(b.usable) == 0 || !known || demand.Metadata {
		return
	}
	p := PointOfTarget(b.step.Phase, b.step.Kind, demand, &b.result)
	p.Documented = b.history.Documented
	b.judgeServerCache(p)
	b.judgeFast(p)
	b.judgeBilled(p)
	b.judgeBurstOnly(p)
}

// judgeVolumes warns about properties of the volumes that affect the figures.
func (b *builder) judgeVolumes() {
	described := b.history.Described
	if described == nil || !b.measured {
		return
	}
	var cached, fresh []string
	for _, volume := range described.Volumes {
		if mode, on := limits.HostCache(volume); on {
			cached = append(cached, volume.Name+" (cachingMode "+mode+")")
		}
		if volume.MadeForRun {
			fresh = append(fresh, volume.Name)
		}
	}
	if len(cached) > 0 {
		b.warnings.add(v1alpha1.WarningHostCacheOn, nil, "the machine's host caches %s, so reads, and with ReadWrite also writes, may complete without reaching the disk: "+
			"set cachingMode None in the StorageClass to measure the disk", strings.Join(cached, ", "))
	}
	if len(fresh) > 0 && b.storageBursts() {
		b.warnings.add(v1alpha1.WarningFreshVolume, nil, "created for this run: %s. A new disk has full credits, unlike a disk in use", strings.Join(fresh, ", "))
	}
}

// storageBursts reports whether limits of the storage itself, and not only of the machines, have credits.
func (b *builder) storageBursts() bool {
	return slices.ContainsFunc(b.history.Documented.Limits, func(limit limits.Limit) bool {
		return limit.Burst > 0 && !limit.Billed && limit.Layer.OfStorage()
	})
}

// judgeServerCache warns if the storage server may serve reads from its memory.
func (b *builder) judgeServerCache(p *Point) {
	memory := b.history.Documented.Cache.Bytes
	if !b.measured || !b.described.Reads || memory <= 0 || p.Demand.DatasetBytes <= 0 || b.cacheExpected() || p.Demand.DatasetBytes >= cacheMemories*memory {
		return
	}
	b.warnings.add(v1alpha1.WarningServerCacheSuspected, nil, "the data of all clients (%s) is less than twice the memory of the storage server (%s), which may serve "+
		"reads from memory: raise %s, or set expect: ServerCache", measure.FormatBytes(uint64(p.Demand.DatasetBytes)), measure.FormatBytes(uint64(memory)), b.load.SizeField)
}

func (b *builder) cacheExpected() bool { return b.history.Expect == v1alpha1.ExpectServerCache }

// judgeFast warns if a rate is higher than the documented limits allow even with full credits.
func (b *builder) judgeFast(p *Point) {
	load := p.Demand.Load
	if b.cacheExpected() && load.Operation == limits.Read {
		load.CachedShare = 1
	}
	at := p.Documented.At(load)
	most := at.Burst
	if most.Limit == nil {
		most = at.BytesBurst
	}
	reached := 0.0
	switch {
	case most.Limit == nil:
	case most.OperationsPerSecond > 0:
		reached = p.OperationsPerSecond / most.OperationsPerSecond
	case most.BytesPerSecond > 0:
		reached = p.BytesPerSecond / most.BytesPerSecond
	}
	if reached <= tooFast {
		return
	}
	b.warnings.add(v1alpha1.WarningFasterThanDocumented, nil, "%s is %s of the highest documented rate for this load, %s of %s (%s): the cause may be a cache, compression or a wrong limit",
		measure.FormatBytesPerSecond(p.BytesPerSecond), measure.FormatShare(reached), measure.FormatBytesPerSecond(most.BytesPerSecond), most.Limit.Name, most.Arithmetic)
}

// judgeBilled warns about bursts that cost money.
func (b *builder) judgeBilled(p *Point) {
	for index := range p.Documented.Limits {
		limit := &p.Documented.Limits[index]
		rate := p.BytesPerSecond
		if limit.Dimension == limits.Operations {
			rate = p.OperationsPerSecond
		}
		if limit.Billed && rate > limit.Baseline*(1+sameLevel) {
			b.warnings.add(v1alpha1.WarningBurstBilled, nil, "the rate exceeds the baseline of %s (%s) through on-demand bursting, which is billed and does not end", limit.Name, limit.Arithmetic)
			return
		}
	}
}

// judgeBurstOnly warns if a phase measures only the burst and no phase of the run measures the end of the burst.
func (b *builder) judgeBurstOnly(p *Point) {
	if b.step.Kind != v1alpha1.PhaseSteady || b.step.Purpose != plan.Measure || b.step.WorkBound() || b.history.SeesEnd || b.history.BucketEmpty || b.cacheExpected() {
		return
	}
	main, ok := p.Documented.Main(p.Demand.Load)
	if !ok || p.Demand.Load.BlockBytes <= 0 {
		return
	}
	if main.Limit.CachedReadsPass && p.Demand.Load.Operation == limits.Read && p.Demand.DatasetBytes < cacheMemories*p.Documented.Cache.Bytes {
		return // the server may serve the reads from memory; judgeServerCache warns about that
	}
	rate, dimension := p.BytesPerSecond, inBytes
	if main.Limit.Dimension == limits.Operations {
		rate, dimension = p.OperationsPerSecond*p.Demand.Load.BlockBytes/max(main.Limit.CreditBytes(p.Demand.Load), 1), inOperations
	}
	at := main.Bucket
	at.Burst = rate
	fill := main.Size
	if known, followed := b.history.Fills[main.Limit.Name]; followed {
		fill *= known.Most / 100
	}
	seconds := float64(b.result.WindowNanoseconds) / 1e9
	if lasts := at.DrainSeconds(fill); at.Drains() && rate > main.Baseline*(1+sameLevel) && lasts > seconds {
		b.warnings.add(v1alpha1.WarningRunTooShort, nil, "the documented bucket of %s lasts %s at this rate, but the phase took only %s: it measured only the burst; "+
			"add a burstDrain phase to measure the rate after the burst", amountText(dimension, main.Size), duration(lasts), duration(seconds))
	}
}
