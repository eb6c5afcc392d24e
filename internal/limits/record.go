package limits

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Maximum sizes that the API sets for the fields of a record.
const (
	maxRecorded   = 16 // the maximum length of the lists of volumes, machines, missing values and notes
	maxLimits     = 48
	maxParameters = 64
	maxOptions    = 32
	maxName       = 128
	maxSentence   = 512
)

// Values of a recorded limit's field `passes`. They correspond to the fields CachedReadsPass, CacheOnly and StoredBytes
// of Limit.
const (
	passCachedReads = "CachedReads"
	passCacheOnly   = "CacheOnly"
	passStoredBytes = "StoredBytes"
)

// Record returns the description of a target and its documented limits in the form that a run records. Equal input
// gives equal output. Fields are truncated to the maximum sizes that the API sets. The record lists the volumes in the
// order of the description; the caller adds their names, claims and handles, which do not affect any limit.
func Record(target string, d Description, computed Computed) v1alpha1.StorageDescription {
	made := v1alpha1.StorageDescription{Target: target, CatalogVersion: v1alpha1.Truncate(computed.CatalogVersion, 64)}
	for _, volume := range d.Volumes[:min(len(d.Volumes), maxRecorded)] {
		made.Volumes = append(made.Volumes, recordVolume(volume))
	}
	for _, machines := range d.Clients[:min(len(d.Clients), maxRecorded)] {
		made.Machines = append(made.Machines, v1alpha1.MachineDescription{
			InstanceType: v1alpha1.Truncate(machines.Type, 63), Nodes: int32(min(machines.Nodes, math.MaxInt32))}) //nolint:gosec // Bounded.
	}
	notes := slices.Clone(computed.Notes)
	for index := range computed.Limits {
		limit := &computed.Limits[index]
		if index < maxLimits {
			made.Limits = append(made.Limits, recordLimit(limit))
		}
		if note := limit.Name + ": " + limit.Note; limit.Note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if computed.Cache.Bytes > 0 {
		made.ServerMemoryBytes = new(rounded(computed.Cache.Bytes))
	}
	for _, one := range computed.Missing[:min(len(computed.Missing), maxRecorded)] {
		made.Missing = append(made.Missing, v1alpha1.MissingFact{Field: v1alpha1.Truncate(one.Field, maxName), Message: v1alpha1.Truncate(one.What, maxSentence)})
	}
	for _, note := range notes[:min(len(notes), maxRecorded)] {
		made.Notes = append(made.Notes, v1alpha1.Truncate(note, maxSentence))
	}
	return made
}

func recordVolume(v Volume) v1alpha1.VolumeDescription {
	made := v1alpha1.VolumeDescription{Driver: v1alpha1.Truncate(v.Driver, 253), SizeBytes: v.CapacityBytes, MountOptions: descriptiveOptions(v.MountOptions)}
	if count := v.count(); count > 1 {
		made.Count = int32(min(count, math.MaxInt32))
	}
	merged := map[string]string{}
	for _, from := range []map[string]string{v.Parameters, v.Attributes, v.Modified} {
		for key, value := range from {
			if describesStorage(key) {
				merged[v1alpha1.Truncate(key, maxName)] = v1alpha1.Truncate(value, 256)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		if len(made.Parameters) == maxParameters {
			break
		}
		if made.Parameters == nil {
			made.Parameters = map[string]string{}
		}
		made.Parameters[key] = merged[key]
	}
	return made
}

// describesStorage reports whether a parameter may describe the storage. Parameters for Secrets, passwords and the
// creator of the volume do not.
func describesStorage(parameter string) bool {
	low := strings.ToLower(parameter)
	return !strings.Contains(low, "secret") && !strings.Contains(low, "password") && !strings.HasPrefix(low, "csi.storage.k8s.io/") &&
		!strings.HasPrefix(low, "storage.kubernetes.io/")
}

// ownParameters are the parameters, in lower case, that CSI drivers set to a different value for each volume that they
// create: generated names and addresses, and the requested size.
var ownParameters = []string{"diskname", "dnsname", "mountname", "requestedsizegib", "sharename", "subdir", "volumepath"}

// DescribesKind reports whether a parameter or an attribute of a volume may describe the kind of its storage.
// Parameters that describe the kind are equal for all volumes that a driver creates from one StorageClass; parameters
// that identify a volume differ.
func DescribesKind(parameter string) bool {
	return describesStorage(parameter) && !slices.Contains(ownParameters, strings.ToLower(parameter))
}

// optionsThatMatter are the mount options that affect performance. Others are not recorded, because some contain user
// names.
var optionsThatMatter = []string{"actimeo", "acdirmax", "acdirmin", "acregmax", "acregmin", "async", "bsize", "cache", "compress", "data", "dax",
	"direct_io", "discard", "esize", "flock", "fsc", "handlecache", "hard", "lazytime", "local_lock", "localflock", "lookupcache", "max_channels",
	"multichannel", "noac", "noatime", "nobarrier", "nobrl", "nocto", "noflock", "nolease", "nostrictsync", "nconnect", "proto", "rasize", "ro", "rsize",
	"rw", "seal", "sign", "soft", "sync", "tls", "vers", "wsize", "writeback", "xprtsec"}

func descriptiveOptions(given []string) []string {
	found := map[string]bool{}
	for _, options := range given {
		for option := range strings.SplitSeq(options, ",") {
			option = strings.TrimSpace(option)
			if name, _, _ := strings.Cut(option, "="); slices.Contains(optionsThatMatter, name) {
				found[v1alpha1.Truncate(option, maxName)] = true
			}
		}
	}
	all := slices.Sorted(maps.Keys(found))
	return all[:min(len(all), maxOptions)]
}

func recordLimit(l *Limit) v1alpha1.DocumentedLimit {
	made := v1alpha1.DocumentedLimit{
		Name: v1alpha1.Truncate(l.Name, maxName), Layer: string(l.Layer), Dimension: string(l.Dimension), Operation: v1alpha1.Operation(l.Operation),
		Baseline: rounded(l.Baseline), Burst: known(l.Burst), Bucket: known(l.Bucket), Refill: known(l.Refill), Billed: l.Billed,
		OperationUnitBytes: known(l.OperationUnitBytes),
		Arithmetic:         v1alpha1.Truncate(l.Arithmetic, maxSentence), BurstArithmetic: v1alpha1.Truncate(l.BurstArithmetic, maxSentence),
		BucketArithmetic: v1alpha1.Truncate(l.BucketArithmetic, maxSentence),
		Row:              v1alpha1.Truncate(l.Row, maxName), Overridden: l.Overridden,
	}
	if l.Units > 1 {
		made.Units = int32(min(l.Units, math.MaxInt32))
	}
	for _, pass := range []struct {
		does bool
		name string
	}{{l.CacheOnly, passCacheOnly}, {l.CachedReadsPass, passCachedReads}, {l.StoredBytes, passStoredBytes}} {
		if pass.does {
			made.Passes = append(made.Passes, pass.name)
		}
	}
	var sources []string
	for _, source := range l.Sources {
		sources = append(sources, fmt.Sprintf("%s (%s), as of %s", source.Title, source.URL, source.AsOf))
	}
	made.Source = v1alpha1.Truncate(strings.Join(sources, "; "), maxSentence)
	return made
}

// rounded rounds an amount to a whole number. It rounds a positive amount to at least 1.
func rounded(amount float64) int64 {
	if amount <= 0 {
		return 0
	}
	return max(1, int64(math.Round(min(amount, math.MaxInt64/2))))
}

func known(amount float64) *int64 {
	if amount <= 0 {
		return nil
	}
	return new(rounded(amount))
}

// FromRecord restores the limits that a run recorded, so that results are compared with the limits known at that time.
// It omits what a record does not contain, such as the day on which a source was read.
func FromRecord(recorded v1alpha1.StorageDescription) Computed {
	made := Computed{CatalogVersion: recorded.CatalogVersion, Notes: slices.Clone(recorded.Notes)}
	for index := range recorded.Limits {
		made.Limits = append(made.Limits, fromLimit(&recorded.Limits[index]))
	}
	if memory := recorded.ServerMemoryBytes; memory != nil {
		made.Cache = Cache{Bytes: float64(max(0, *memory))}
	}
	for _, one := range recorded.Missing {
		made.Missing = append(made.Missing, Missing{Field: one.Field, What: one.Message})
	}
	return made
}

func fromLimit(l *v1alpha1.DocumentedLimit) Limit {
	made := Limit{
		Name: l.Name, Layer: Layer(l.Layer), Dimension: Dimension(l.Dimension), Operation: Operation(l.Operation),
		Baseline: float64(max(0, l.Baseline)), Burst: figureOf(l.Burst), Bucket: figureOf(l.Bucket), Refill: figureOf(l.Refill), Billed: l.Billed,
		OperationUnitBytes: figureOf(l.OperationUnitBytes), Units: max(1, int(l.Units)),
		Arithmetic: l.Arithmetic, BurstArithmetic: l.BurstArithmetic, BucketArithmetic: l.BucketArithmetic,
		Row: l.Row, Overridden: l.Overridden, parts: 1,
		Given:           l.Row == "",
		CachedReadsPass: slices.Contains(l.Passes, passCachedReads), CacheOnly: slices.Contains(l.Passes, passCacheOnly),
		StoredBytes: slices.Contains(l.Passes, passStoredBytes),
	}
	if l.Source != "" {
		made.Sources = []Source{{Title: l.Source}}
	}
	return made
}

func figureOf(amount *int64) float64 {
	if amount == nil {
		return 0
	}
	return float64(max(0, *amount))
}

// Describe computes the documented limits of a target and returns them with its description as a record. An error
// indicates a mistake in the target's limits, and names the field, the value and the remedy.
func (c *Catalog) Describe(target *v1alpha1.Target, d Description) (v1alpha1.StorageDescription, error) {
	computed, err := c.Compute(d, target.DocumentedLimits())
	if err != nil {
		return v1alpha1.StorageDescription{}, err
	}
	return Record(target.Name, d, computed), nil
}
