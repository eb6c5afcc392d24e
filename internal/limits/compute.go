package limits

import (
	"fmt"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Dimension is what a limit counts.
type Dimension string

// The dimensions.
const (
	Bytes      Dimension = "Bytes"
	Operations Dimension = "Operations"
)

// Limit is one documented limit of a target: rates in bytes or operations a second, credits in bytes or
// operations, for all units of it together.
type Limit struct {
	// Name says what is limited, such as server disk throughput.
	Name string
	// Row of the catalog; empty for a limit of the specification.
	Row       string
	Layer     Layer
	Dimension Dimension
	// Operation that it holds for; empty is all.
	Operation Operation
	// Baseline and Burst; Burst is 0 where there is none.
	Baseline, Burst float64
	// Bucket and Refill of the burst; 0 where there is no burst, where the vendor does not publish them, and
	// where the burst costs money in place of credits (Billed).
	Bucket, Refill float64
	Billed         bool
	// OperationUnitBytes is the size up to which an operation counts as one; a larger one counts as several.
	// 0: every operation counts as one.
	OperationUnitBytes float64
	// Units that the figures are the sum of: flows, nodes, disks; at least 1.
	Units int
	// Arithmetic of the baseline, the burst and the bucket: "14.4 TiB x 200 MB/s/TiB = 2,880 MB/s".
	Arithmetic, BurstArithmetic, BucketArithmetic string
	// StoredBytes tells that it counts what is stored after a compression whose ratio is not known.
	StoredBytes bool
	// CachedReadsPass tells that reads which a cache answers do not reach it.
	CachedReadsPass bool
	// CacheOnly tells that only reads which the cache of the machine's host answers reach it.
	CacheOnly  bool
	Sources    []Source
	Overridden bool
	Note       string
	// parts of a target, as its volumes, that it is the sum of.
	parts int
}

// Cache is the memory of a storage server.
type Cache struct {
	Bytes      float64
	Row        string
	Arithmetic string
}

// Computed is what is documented of a target.
type Computed struct {
	// Limits from the machine to the volume.
	Limits []Limit
	// Cache is the memory of the storage server, 0 where it is not known.
	Cache Cache
	// Missing says which limits are not known, and what to write.
	Missing []Missing
	// Notes about what the figures do not say.
	Notes []string
	// CatalogVersion of what was computed with.
	CatalogVersion string
}

// Compute finds every limit that applies to a target. Declared are the limits of its specification, which
// count more than what is discovered; nil where there are none. An error is one of the specification, and
// names field, value and remedy; what merely is not known is in Missing.
func (c *Catalog) Compute(d Description, declared *v1alpha1.Limits) (Computed, error) {
	made := Computed{CatalogVersion: c.version}
	reached := traffic("")
	flows, cached, parts := 0, false, 0
	for index, volume := range d.Volumes {
		if declared != nil && declared.Capacity != nil {
			volume.CapacityBytes = declared.Capacity.Value()
		}
		found, err := c.find(volume, declared)
		if err != nil {
			return Computed{}, err
		}
		if index == 0 {
			reached, flows, cached = found.traffic, found.flowsPerNode, found.cached
		}
		if made.volume(c, d, volume, found) {
			parts++
		}
	}
	made.whole(parts)
	made.declare(declared)
	made.machines(c, d, machineUse{traffic: reached, flowsPerNode: flows, cached: cached})
	slices.SortStableFunc(made.Limits, func(a, b Limit) int { return depth(a.Layer) - depth(b.Layer) })
	return made, nil
}

func depth(layer Layer) int {
	return slices.Index([]Layer{LayerInstance, LayerFlow, LayerNetwork, LayerDisk, LayerVolume}, layer)
}

// find resolves a volume by the preset, else by its driver, else not at all where the limits are written.
func (c *Catalog) find(v Volume, declared *v1alpha1.Limits) (resolved, error) {
	switch {
	case declared != nil && declared.Preset != "":
		return c.preset(declared.Preset, v)
	case declared != nil && (declared.Throughput != nil || declared.IOPS != nil):
		return resolved{traffic: c.reached(v, nil), flowsPerNode: flowsOf(v)}, nil
	}
	return c.resolve(v), nil
}

// whole leaves out what is known of some of the volumes only: it bounds those, not the target.
func (made *Computed) whole(parts int) {
	made.Limits = slices.DeleteFunc(made.Limits, func(l Limit) bool {
		if l.parts < parts {
			made.note(l.Name + " is left out: it is not known, or not there, for all of the volumes")
		}
		return l.parts < parts
	})
}

// volume adds the limits of a volume's rows; those of volumes that are loaded together add up. It reports whether
// the volume counts by itself.
func (made *Computed) volume(c *Catalog, d Description, v Volume, found resolved) bool {
	made.lack(found.missing...)
	made.note(found.notes...)
	count := v.count()
	if oneServer[v.Driver] {
		if made.has(found.rows) {
			made.note("several volumes of one kind of file server are taken to be on one server")
			return false
		}
		count = 1
	}
	for _, key := range found.rows {
		of := c.rows[key]
		e := found.environment(v, of)
		if of.note != "" {
			made.note(of.note)
		}
		if of.cache != nil {
			if memory := of.cache.of(e); memory.missing == nil {
				made.Cache = Cache{Bytes: memory.amount, Row: key, Arithmetic: memory.text}
			}
		}
		for _, limit := range of.limits {
			computed, missing := limit.compute(e, units{count: count, region: d.Region})
			switch {
			case missing != nil:
				made.lack(*missing)
			case computed != nil:
				computed.from(of)
				made.adapt(computed, limit, found, d.CompressionRatio)
				made.add(*computed)
			}
		}
	}
	return true
}

// from notes the row that a limit is from.
func (l *Limit) from(of row) { l.Row, l.Sources, l.Overridden = of.key, of.sources, of.overridden }

// adapt a limit to caches and compression of the volume.
func (made *Computed) adapt(computed *Limit, limit limitRow, found resolved, ratio float64) {
	if limit.passed && found.traffic == blockTraffic {
		computed.CachedReadsPass = found.cached
	}
	if !limit.raised || !found.compressed {
		return
	}
	computed.compress(ratio)
	if computed.StoredBytes {
		made.lack(Missing{"the compression ratio", "the store compresses, and " + computed.Name + " counts what is stored: by the ratio of apparent to stored size more than that can pass"})
	}
}

// oneServer are the drivers whose volumes are folders of a server that was there before.
var oneServer = map[string]bool{"smb.csi.k8s.io": true, "fsx.openzfs.csi.aws.com": true, "efs.csi.aws.com": true}

// has reports whether limits of one of the rows are there.
func (made *Computed) has(rows []string) bool {
	return slices.ContainsFunc(made.Limits, func(l Limit) bool { return slices.Contains(rows, l.Row) })
}

// compress turns a limit of stored bytes into one of the bytes that a client sees.
func (l *Limit) compress(ratio float64) {
	if ratio <= 0 {
		l.StoredBytes = true
		return
	}
	scale := func(amount *float64, text *string) {
		if *amount > 0 {
			*amount *= ratio
			*text += fmt.Sprintf(", x %s (compression) = %s", number(ratio), in(*amount, "MB/s"))
		}
	}
	scale(&l.Baseline, &l.Arithmetic)
	scale(&l.Burst, &l.BurstArithmetic)
	l.Bucket *= ratio
	l.Refill *= ratio
}

// add puts a limit to the others; those of the same name of other volumes or machines are summed.
func (made *Computed) add(l Limit) {
	for index := range made.Limits {
		have := &made.Limits[index]
		if have.Name != l.Name || have.Layer != l.Layer || have.Operation != l.Operation || have.Dimension != l.Dimension {
			continue
		}
		have.parts++
		have.Arithmetic += "; " + l.Arithmetic
		have.BurstArithmetic = join(have.burstOr(), l.burstOr(), have.Burst+l.Burst > 0)
		if have.Burst+l.Burst > 0 { // what does not burst still lets its baseline through
			have.Burst, l.Burst = max(have.Burst, have.Baseline), max(l.Burst, l.Baseline)
		}
		if have.Burst > 0 && (have.Bucket == 0) != (l.Bucket == 0) {
			have.Bucket, l.Bucket = 0, 0 // a bucket of a part is not the bucket of the sum
		}
		have.Baseline, have.Burst = have.Baseline+l.Baseline, have.Burst+l.Burst
		have.Bucket, have.Refill, have.Units = have.Bucket+l.Bucket, have.Refill+l.Refill, have.Units+l.Units
		return
	}
	l.parts = 1
	made.Limits = append(made.Limits, l)
}

func (l Limit) burstOr() string {
	if l.BurstArithmetic != "" {
		return l.BurstArithmetic
	}
	return l.Arithmetic
}

func join(a, b string, wanted bool) string {
	if !wanted {
		return ""
	}
	return a + "; " + b
}

func (made *Computed) lack(missing ...Missing) {
	for _, one := range missing {
		if !slices.Contains(made.Missing, one) {
			made.Missing = append(made.Missing, one)
		}
	}
}

func (made *Computed) note(notes ...string) {
	for _, one := range notes {
		if !slices.Contains(made.Notes, one) {
			made.Notes = append(made.Notes, one)
		}
	}
}
