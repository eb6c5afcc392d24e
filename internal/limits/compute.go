package limits

import (
	"cmp"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Dimension is the unit that a limit counts: bytes or operations.
type Dimension string

// Possible values of Dimension.
const (
	Bytes      Dimension = "Bytes"
	Operations Dimension = "Operations"
)

// units returns the units in which a rate and an amount of credits are displayed.
func (d Dimension) units() (rate, amount string) {
	if d == Operations {
		return "IOPS", "IO"
	}
	return "MB/s", "GB"
}

// Limit is one documented limit of a target. If the limit exists once per disk, node or connection, its figures are the
// sum over all of them. Rates are in bytes or operations per second, credits in bytes or operations.
type Limit struct {
	// Name describes what is limited, such as "server disk throughput".
	Name string
	// Row is the key of the catalog's row; empty for a limit that the specification sets.
	Row       string
	Layer     Layer
	Dimension Dimension
	// Operation is the operation that the limit applies to; empty for all operations.
	Operation Operation
	// Baseline and Burst are rates; Burst is 0 if there is none.
	Baseline, Burst float64
	// Bucket and Refill describe the credits of the burst. They are 0 if there is no burst, if the vendor does not
	// publish them, or if the burst is billed instead of paid with credits (Billed).
	Bucket, Refill float64
	Billed         bool
	// OperationUnitBytes is the largest size of an operation that counts as a single operation; a larger operation
	// counts as several. 0 means that every operation counts once, whatever its size.
	OperationUnitBytes float64
	// Units is the number of volumes, disks, nodes or flows over which the figures are summed; at least 1.
	Units int
	// Arithmetic shows how the baseline, the burst and the bucket were computed: "14.4 TiB x 200 MB/s/TiB = 2,880
	// MB/s".
	Arithmetic, BurstArithmetic, BucketArithmetic string
	// StoredBytes is true if the limit applies to the bytes that are stored after compression. The compression ratio is
	// unknown.
	StoredBytes bool
	// CachedReadsPass is true if the limit does not apply to reads that a cache serves.
	CachedReadsPass bool
	// CacheOnly is true if the limit applies only to reads that the cache of the machine's host serves.
	CacheOnly  bool
	Sources    []Source
	Overridden bool
	// Given is true if the specification sets the limit. Its layer is then unknown.
	Given bool
	Note  string
	// parts is the number of parts of the target, such as volumes or types of machines, over which the limit is summed.
	parts int
}

// Cache describes the memory in which a storage server caches data.
type Cache struct {
	Bytes      float64
	Row        string
	Arithmetic string
}

// Computed holds the documented limits of a target.
type Computed struct {
	// Limits are in order from the machine to the volume.
	Limits []Limit
	// Cache describes the memory in which the storage server caches data; its Bytes are 0 if the size is not known.
	Cache Cache
	// Missing lists the unknown values that limits depend on, and what to specify.
	Missing []Missing
	// Notes lists caveats that the figures do not show.
	Notes []string
	// CatalogVersion is the version of the catalog that was used.
	CatalogVersion string
}

// Compute returns every limit that applies to a target. declared holds the limits that the specification sets, or nil
// if it sets none. They take precedence over discovered limits. An error indicates a mistake in the specification, and
// names the field, the value and the remedy. Unknown limits are not errors; Missing lists them.
func (c *Catalog) Compute(d Description, declared *v1alpha1.Limits) (Computed, error) {
	made := Computed{CatalogVersion: c.version}
	reached := traffic("")
	flows, cached, parts, volumes := 0, false, 0, 0
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
		if !oneServer(volume, found.rows) {
			volumes += volume.count()
		}
	}
	made.dropPartial(0, parts, "volumes")
	made.declare(declared, volumes)
	made.machines(c, d, machineUse{traffic: reached, flowsPerNode: flows, cached: cached})
	slices.SortStableFunc(made.Limits, func(a, b Limit) int { return depth(a.Layer) - depth(b.Layer) })
	return made, nil
}

func depth(layer Layer) int {
	return slices.Index([]Layer{LayerInstance, LayerFlow, LayerNetwork, LayerDisk, LayerVolume}, layer)
}

// find determines the catalog rows of a volume from the preset in the specification or, if there is none, from the
// volume's driver. If the specification sets the limits itself, find returns no rows.
func (c *Catalog) find(v Volume, declared *v1alpha1.Limits) (resolved, error) {
	switch {
	case declared != nil && declared.Preset != "":
		return c.preset(declared.Preset, v)
	case declared != nil && (declared.Throughput != nil || declared.IOPS != nil):
		return resolved{traffic: c.trafficOf(v, nil), flowsPerNode: flowsOf(v)}, nil
	}
	return c.resolve(v), nil
}

// dropPartial removes limits that are known for only some parts of the target, such as for one of its two volumes,
// because they do not limit the target as a whole. It considers only the limits from index `from` on.
func (made *Computed) dropPartial(from, parts int, of string) {
	made.Limits = append(made.Limits[:from], slices.DeleteFunc(made.Limits[from:], func(l Limit) bool {
		if l.parts < parts {
			made.note(l.Name + " is omitted, because it is unknown for some " + of)
		}
		return l.parts < parts
	})...)
}

// volume adds the limits in the catalog rows of a volume. The limits of volumes that are loaded together are summed.
// volume adds no limits and returns false if those of the volume's server were already added for another volume.
func (made *Computed) volume(c *Catalog, d Description, v Volume, found resolved) bool {
	made.addMissing(found.missing...)
	made.note(found.notes...)
	count := v.count()
	if oneServer(v, found.rows) {
		if made.has(found.rows) {
			made.note("several volumes of one kind of file server are assumed to be on one server")
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
				made.addMissing(*missing)
			case computed != nil:
				computed.from(of)
				made.adapt(computed, limit, found)
				made.add(*computed)
			}
		}
	}
	return true
}

// from sets the fields of the limit that identify its catalog row and the row's sources.
func (l *Limit) from(of row) { l.Row, l.Sources, l.Overridden = of.key, of.sources, of.overridden }

// adapt adjusts a limit to the caches and the compression of the volume.
func (made *Computed) adapt(computed *Limit, limit limitRow, found resolved) {
	if limit.passed && found.traffic == blockTraffic {
		computed.CachedReadsPass = found.cached
	}
	if !limit.raised || !found.compressed {
		return
	}
	computed.StoredBytes = true
	made.addMissing(Missing{"the compression ratio", "the store compresses data, and " + computed.Name +
		" limits the bytes after compression: the data rate can be higher by the compression ratio"})
}

// oneServer reports whether all volumes of this kind are directories or volumes on one existing server. The server's
// limits are then added only once. It checks the catalog rows as well as the driver, because the driver is unknown
// while a run is planned.
func oneServer(v Volume, rows []string) bool {
	of := func(prefix string) bool {
		return slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, prefix) })
	}
	switch {
	case v.Driver == "fsx.openzfs.csi.aws.com", of("aws-fsx-openzfs/"):
		kind, _ := jsonParameter(v, "ResourceType")
		// With ResourceType "filesystem", the driver creates a file system per claim. Otherwise it creates volumes on
		// one existing file system.
		return kind != "filesystem"
	case of("aws-fsx-windows/"), of("aws-efs/"):
		return true // no driver creates file systems of FSx for Windows or EFS, so all claims use an existing one
	}
	return slices.Contains([]string{"smb.csi.k8s.io", "nfs.csi.k8s.io", "nfs", "efs.csi.aws.com"}, v.Driver)
}

// has reports whether limits of any of the rows were already added.
func (made *Computed) has(rows []string) bool {
	return slices.ContainsFunc(made.Limits, func(l Limit) bool { return slices.Contains(rows, l.Row) })
}

// add adds a limit. Limits of several volumes or machines with the same name, layer, operation and dimension add up.
func (made *Computed) add(l Limit) {
	for index := range made.Limits {
		have := &made.Limits[index]
		if have.Name != l.Name || have.Layer != l.Layer || have.Operation != l.Operation || have.Dimension != l.Dimension {
			continue
		}
		have.parts++
		have.Arithmetic += "; " + l.Arithmetic
		have.BurstArithmetic = join(have.burstOr(), l.burstOr(), have.Burst+l.Burst > 0)
		// If only one of the two limits has a burst, the other contributes its baseline to the burst of the sum.
		if have.Burst+l.Burst > 0 {
			have.Burst, l.Burst = max(have.Burst, have.Baseline), max(l.Burst, l.Baseline)
		}
		if have.Burst > 0 && (have.Bucket == 0) != (l.Bucket == 0) {
			// Only one of the two limits has a known bucket, so the bucket of the sum is unknown.
			have.Bucket, l.Bucket, have.Refill, l.Refill = 0, 0, 0, 0
		}
		have.BucketArithmetic = join(have.BucketArithmetic, l.BucketArithmetic, have.Bucket+l.Bucket > 0)
		have.Baseline, have.Burst = have.Baseline+l.Baseline, have.Burst+l.Burst
		have.Bucket, have.Refill, have.Units = have.Bucket+l.Bucket, have.Refill+l.Refill, have.Units+l.Units
		return
	}
	l.parts = 1
	made.Limits = append(made.Limits, l)
}

func (l Limit) burstOr() string {
	return cmp.Or(l.BurstArithmetic, l.Arithmetic)
}

func join(a, b string, wanted bool) string {
	if !wanted {
		return ""
	}
	return a + "; " + b
}

func (made *Computed) addMissing(missing ...Missing) {
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
