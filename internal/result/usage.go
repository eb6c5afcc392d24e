package result

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// Space is the number and the size of the files of one client or of all clients.
type Space struct {
	Files uint64
	// ApparentBytes is the total length of the files, DataBytes is their length without holes, and AllocatedBytes is
	// the space that the file system reports as allocated.
	ApparentBytes, DataBytes, AllocatedBytes uint64
}

// Add adds the sizes of other files. Sums saturate at the maximum of uint64.
func (s *Space) Add(other Space) {
	s.Files = measure.Sum(s.Files, other.Files)
	s.ApparentBytes = measure.Sum(s.ApparentBytes, other.ApparentBytes)
	s.DataBytes = measure.Sum(s.DataBytes, other.DataBytes)
	s.AllocatedBytes = measure.Sum(s.AllocatedBytes, other.AllocatedBytes)
}

// maxSpace is a number of bytes, or of files, that exceeds the capacity of any store.
const maxSpace = 1 << 60

// Possible reports whether real files can have these sizes.
func (s Space) Possible() bool {
	return s.Files <= maxSpace && s.ApparentBytes <= maxSpace && s.AllocatedBytes <= maxSpace && s.DataBytes <= s.ApparentBytes
}

// Usage is the space that the files of one client, or of all clients that share a directory, occupy.
type Usage struct {
	Space
	Types []TypeUsage
	// HolesKnown is true if the file system is known to distinguish holes from data. Settled is true if the allocated
	// bytes had stopped changing.
	HolesKnown, Settled bool
	FileSystem          string
	// Compression states whether the allocated bytes show the effect of compression. It is one of the constants below,
	// such as compressionShown.
	Compression string
}

// TypeUsage is the space that the files with one extension occupy.
type TypeUsage struct {
	Extension string
	Space
}

// Possible values of Usage.Compression, as in the API.
const (
	compressionShown   = "Shown"
	compressionHidden  = "Hidden"
	compressionNone    = "None"
	compressionUnknown = "Unknown"
)

const (
	// plainlyCompressed is the highest compression ratio of the tool's own data, in thousandths, without a warning.
	plainlyCompressed = 1200
	// somethingSaved is the smallest compression ratio, in thousandths, at which an unknown file system is assumed to
	// report compressed sizes. Rounding to blocks cannot cause such a ratio, because it never makes files smaller than
	// their data.
	somethingSaved = 1020
	// maxUsageTypes is the API's limit on the list of file types.
	maxUsageTypes = 16
)

// usage adds the space that all clients' files occupy to the result.
func (b *builder) usage() {
	total := b.sumUsage()
	if total == nil || total.Files == 0 {
		return
	}
	pattern := &b.findings.Pattern
	made := &v1alpha1.UsageResult{
		Files: measure.Clamp(total.Files), ApparentBytes: measure.Clamp(total.ApparentBytes), DataBytes: measure.Clamp(total.DataBytes),
		AllocatedBytes: measure.Clamp(total.AllocatedBytes), Settled: total.Settled,
		FileSystem: total.FileSystem, Compression: total.Compression,
		Tool: b.load.Kind, ToolVersion: v1alpha1.Truncate(pattern.Version, 128), DataPattern: v1alpha1.Truncate(pattern.Name, 128),
	}
	if pattern.RatioMilli > 0 {
		made.PatternRatioMilli = &pattern.RatioMilli
	}
	known := b.ratioKnown(total)
	if known {
		made.CompressionRatioMilli = ratioMilli(total.Space)
	}
	if len(total.Types) > 1 {
		for _, of := range total.Types {
			told := v1alpha1.TypeUsage{Extension: of.Extension, Files: measure.Clamp(of.Files), ApparentBytes: measure.Clamp(of.ApparentBytes),
				DataBytes: measure.Clamp(of.DataBytes), AllocatedBytes: measure.Clamp(of.AllocatedBytes)}
			if known {
				told.CompressionRatioMilli = ratioMilli(of.Space)
			}
			made.Types = append(made.Types, told)
		}
	}
	b.result.Usage = made
	b.judgeUsage(made)
}

// sumUsage returns the total usage of the clients, or nil if a client's usage is missing, because a partial sum would
// be misleading.
func (b *builder) sumUsage() *Usage {
	var total *Usage
	types := map[string]Space{}
	missing := 0
	for i := range b.clients {
		client := &b.clients[i]
		told := client.Usage
		if told == nil {
			if slices.ContainsFunc(client.Notices, func(n Notice) bool { return n.Warning == string(v1alpha1.WarningUsageUnknown) }) {
				return nil
			}
			missing++
			continue
		}
		if total == nil {
			first := *told
			first.Space = Space{}
			total = &first
		}
		total.Add(told.Space)
		total.HolesKnown = total.HolesKnown && told.HolesKnown
		total.Settled = total.Settled && told.Settled
		if total.FileSystem != told.FileSystem {
			total.FileSystem = "several"
		}
		if total.Compression != told.Compression {
			total.Compression = compressionUnknown
		}
		for _, of := range told.Types {
			sum := types[of.Extension]
			sum.Add(of.Space)
			types[of.Extension] = sum
		}
	}
	// In an MPI job, one client may report the disk usage of the directory that all clients share, so the reports of the
	// other clients may be missing.
	if total == nil || missing > 0 && !b.load.SpansClients {
		return nil
	}
	total.Types = tellTypes(types)
	switch total.Compression {
	case compressionShown, compressionHidden, compressionNone, compressionUnknown:
	default:
		total.Compression = compressionUnknown // A newer agent may report a value that this version does not know.
	}
	return total
}

// otherTypes stands for all file types that are not listed.
const otherTypes = "*"

func tellTypes(types map[string]Space) []TypeUsage {
	var all []TypeUsage
	rest, folded := types[otherTypes]
	for extension, space := range types {
		if extension != otherTypes {
			all = append(all, TypeUsage{Extension: extension, Space: space})
		}
	}
	slices.SortFunc(all, func(a, b TypeUsage) int {
		return cmp.Or(cmp.Compare(b.AllocatedBytes, a.AllocatedBytes), cmp.Compare(b.ApparentBytes, a.ApparentBytes), cmp.Compare(a.Extension, b.Extension))
	})
	if len(all) > maxUsageTypes || folded && len(all) > maxUsageTypes-1 {
		for _, of := range all[maxUsageTypes-1:] {
			rest.Add(of.Space)
		}
		all, folded = all[:maxUsageTypes-1], true
	}
	if folded {
		all = append(all, TypeUsage{Extension: otherTypes, Space: rest})
	}
	return all
}

// ratioKnown reports whether the compression ratio of the files follows from the allocated bytes.
func (b *builder) ratioKnown(total *Usage) bool {
	if !total.Settled || !total.HolesKnown && !b.noHoles() {
		return false
	}
	return total.Compression == compressionShown || total.Compression == compressionUnknown && savesSomething(total.Space)
}

func savesSomething(s Space) bool {
	ratio := ratioMilli(s)
	return ratio != nil && *ratio >= somethingSaved
}

// noHoles reports whether the files have no holes, because all their data was written sequentially. On some file
// systems, holes cannot be distinguished from space saved by compression.
func (b *builder) noHoles() bool {
	return b.step.Purpose == plan.Prepare || b.described.NoHoles
}

// judgeUsage warns if the tool's own data compresses, or if it may compress and the client cannot see whether it does.
// The figures of compressed data apply only to data that compresses equally well.
func (b *builder) judgeUsage(made *v1alpha1.UsageResult) {
	measured, pattern := made.CompressionRatioMilli, &b.findings.Pattern
	switch {
	case pattern.Asked:
	case measured != nil && *measured > plainlyCompressed && (pattern.RatioMilli > plainlyCompressed || pattern.Repeats != ""):
		b.warnings.add(v1alpha1.WarningPatternCompresses, nil, "%s of data take %s on the storage, a compression of %s, and %s: "+
			"the figures apply only to such data; %s",
			measure.FormatBytes(unsigned(made.DataBytes)), measure.FormatBytes(unsigned(made.AllocatedBytes)), measure.FormatRatio(*measured), b.whyCompressed(), pattern.Remedy)
	case measured == nil && made.Compression != compressionNone && pattern.RatioMilli > plainlyCompressed:
		b.warnings.add(v1alpha1.WarningCompressionNotShown, nil, "%s; the client cannot see whether %s compresses it (%s): if so, the figures apply "+
			"only to such data; %s", b.whyCompressed(), cmp.Or(made.FileSystem, "the storage"), whyNotSeen(made), pattern.Remedy)
	}
}

// whyCompressed returns a clause that explains why the data compresses.
func (b *builder) whyCompressed() string {
	p := &b.findings.Pattern
	if p.RatioMilli == 0 {
		return p.Repeats
	}
	of := strings.TrimSpace(string(b.load.Kind) + " " + strings.TrimPrefix(strings.TrimPrefix(p.Version, "fio-"), "IOR-"))
	return "the data that " + of + " writes (" + p.Name + ") is compressed about " + measure.FormatRatio(p.RatioMilli) + " by lz4"
}

// whyNotSeen returns the reason why there is no compression ratio.
func whyNotSeen(made *v1alpha1.UsageResult) string {
	switch {
	case !made.Settled:
		return "the disk usage may still have been changing"
	case made.Compression == compressionHidden:
		return "the file system does not report how much space compression saves"
	case made.Compression == compressionUnknown && !savesSomething(Space{DataBytes: unsigned(made.DataBytes), AllocatedBytes: unsigned(made.AllocatedBytes)}):
		return "the disk usage equals the size of the data, which this file system may also report for compressed files"
	}
	return "holes cannot be distinguished from compression"
}

// ratioMilli returns the ratio of data to allocated bytes in thousandths, or nil if either is 0.
func ratioMilli(s Space) *int64 {
	if s.AllocatedBytes == 0 || s.DataBytes == 0 {
		return nil
	}
	return new(int64(math.Round(float64(s.DataBytes) / float64(s.AllocatedBytes) * 1000)))
}

func unsigned(bytes int64) uint64 { return uint64(max(bytes, 0)) }
