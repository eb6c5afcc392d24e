package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// Space is what files take: of one client, or of all.
type Space struct {
	Files uint64
	// ApparentBytes are up to where the files reach, DataBytes those without holes, AllocatedBytes what the file
	// system says that they take.
	ApparentBytes, DataBytes, AllocatedBytes uint64
}

// Add adds other files, as far as figures go.
func (s *Space) Add(other Space) {
	plus := func(a, b uint64) uint64 {
		if a > math.MaxUint64-b {
			return math.MaxUint64
		}
		return a + b
	}
	s.Files = plus(s.Files, other.Files)
	s.ApparentBytes = plus(s.ApparentBytes, other.ApparentBytes)
	s.DataBytes = plus(s.DataBytes, other.DataBytes)
	s.AllocatedBytes = plus(s.AllocatedBytes, other.AllocatedBytes)
}

// maxSpace is far more than any store holds.
const maxSpace = 1 << 60

// Possible is false for figures that no files can have.
func (s Space) Possible() bool {
	return s.Files <= maxSpace && s.ApparentBytes <= maxSpace && s.AllocatedBytes <= maxSpace && s.DataBytes <= s.ApparentBytes
}

// Usage is the space of one client's files, or of those of all clients that share a directory.
type Usage struct {
	Space
	Types []TypeUsage
	// HolesKnown: the file system is known to tell holes from data. Settled: what is allocated had come to rest.
	HolesKnown, Settled bool
	FileSystem          string
	// Compression is the API's word for what the allocated bytes show of it.
	Compression string
}

// TypeUsage is the space of the files with one extension.
type TypeUsage struct {
	Extension string
	Space
}

// The API's words for what allocated bytes show of compression.
const (
	compressionShown   = "Shown"
	compressionHidden  = "Hidden"
	compressionNone    = "None"
	compressionUnknown = "Unknown"
)

const (
	// plainlyCompressed is the ratio, in thousandths, from which it is worth a warning that the tool's own data
	// is what compresses.
	plainlyCompressed = 1200
	// somethingSaved is the ratio from which a file system of which nothing is known is taken to show what
	// compression saves: rounding to blocks never makes files take less than is in them.
	somethingSaved = 1020
	// maxUsageTypes of the API.
	maxUsageTypes = 16
)

// usage adds what the files of all clients take.
func (b *builder) usage() {
	total := b.sumUsage()
	if total == nil || total.Files == 0 {
		return
	}
	pattern := b.pattern()
	made := &v1alpha1.UsageResult{
		Files: signed(total.Files), ApparentBytes: signed(total.ApparentBytes), DataBytes: signed(total.DataBytes),
		AllocatedBytes: signed(total.AllocatedBytes), Settled: total.Settled,
		FileSystem: total.FileSystem, Compression: total.Compression,
		Tool: pattern.tool, ToolVersion: v1alpha1.Truncate(pattern.version, 128), DataPattern: v1alpha1.Truncate(pattern.name, 128),
	}
	if pattern.ratioMilli > 0 {
		made.PatternRatioMilli = &pattern.ratioMilli
	}
	known := b.ratioKnown(total)
	if known {
		made.CompressionRatioMilli = ratioMilli(total.Space)
	}
	if len(total.Types) > 1 {
		for _, of := range total.Types {
			told := v1alpha1.TypeUsage{Extension: of.Extension, Files: signed(of.Files), ApparentBytes: signed(of.ApparentBytes),
				DataBytes: signed(of.DataBytes), AllocatedBytes: signed(of.AllocatedBytes)}
			if known {
				told.CompressionRatioMilli = ratioMilli(of.Space)
			}
			made.Types = append(made.Types, told)
		}
	}
	b.result.Usage = made
	b.judgeUsage(made, pattern)
}

// sumUsage adds up the clients; nil where one is missing, because a part is not the whole.
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
	// In a job that spans the clients, one may answer for the directory of all.
	if total == nil || missing > 0 && !b.spans {
		return nil
	}
	total.Types = tellTypes(types)
	switch total.Compression {
	case compressionShown, compressionHidden, compressionNone, compressionUnknown:
	default:
		total.Compression = compressionUnknown // of a newer agent
	}
	return total
}

// otherTypes stands for all types that are too many to be told.
const otherTypes = "*"

func tellTypes(types map[string]Space) []TypeUsage {
	var all []TypeUsage
	rest, folded := types[otherTypes], false
	for extension, space := range types {
		if extension != otherTypes {
			all = append(all, TypeUsage{Extension: extension, Space: space})
		}
	}
	slices.SortFunc(all, func(a, b TypeUsage) int {
		return cmp.Or(cmp.Compare(b.AllocatedBytes, a.AllocatedBytes), cmp.Compare(b.ApparentBytes, a.ApparentBytes), cmp.Compare(a.Extension, b.Extension))
	})
	_, folded = types[otherTypes]
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

// ratioKnown reports whether what the files take tells how far they were compressed.
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

// noHoles is true where all that the files hold was written one after the other: holes cannot be told from what
// compression saves on every file system.
func (b *builder) noHoles() bool {
	if b.step.Purpose == plan.Prepare {
		return true
	}
	engine := b.step.Workloads[b.result.Target]
	if engine == nil || engine.IOR == nil {
		return false
	}
	ior := engine.IOR
	return (ior.FilePerProcess == nil || *ior.FilePerProcess) && (ior.Random == nil || !*ior.Random)
}

// judgeUsage warns where the tool's own data is what compresses: other data does not make those figures.
func (b *builder) judgeUsage(made *v1alpha1.UsageResult, pattern pattern) {
	measured := made.CompressionRatioMilli
	switch {
	case pattern.asked:
	case measured != nil && *measured > plainlyCompressed && (pattern.ratioMilli > plainlyCompressed || pattern.repeats != ""):
		b.warnings.add(v1alpha1.WarningPatternCompresses, nil, "%s of data take %s on the storage, a compression of %s, and %s: "+
			"the figures are of such data, and hold for no other; %s",
			measure.FormatBytes(unsigned(made.DataBytes)), measure.FormatBytes(unsigned(made.AllocatedBytes)), ratioText(*measured), pattern.why(), pattern.remedy())
	case measured == nil && made.Compression != compressionNone && pattern.ratioMilli > plainlyCompressed:
		b.warnings.add(v1alpha1.WarningCompressionNotShown, nil, "%s; whether %s compresses it cannot be seen (%s): if it does, the figures are of such "+
			"data, and hold for no other; %s", pattern.why(), cmp.Or(made.FileSystem, "the storage"), whyNotSeen(made), pattern.remedy())
	}
}

// whyNotSeen is why there is no ratio.
func whyNotSeen(made *v1alpha1.UsageResult) string {
	switch {
	case !made.Settled:
		return "what the files take may have been changing still"
	case made.Compression == compressionHidden:
		return "it does not count what it saves"
	case made.Compression == compressionUnknown && !savesSomething(Space{DataBytes: unsigned(made.DataBytes), AllocatedBytes: unsigned(made.AllocatedBytes)}):
		return "the files take as much as is in them, which such a file system may say of compressed ones too"
	}
	return "holes cannot be told from what is saved"
}

// ratioMilli is nil where there is nothing to divide.
func ratioMilli(s Space) *int64 {
	if s.AllocatedBytes == 0 || s.DataBytes == 0 {
		return nil
	}
	ratio := int64(math.Round(float64(s.DataBytes) / float64(s.AllocatedBytes) * 1000))
	return &ratio
}

func ratioText(milli int64) string {
	if milli >= 100_000 {
		return fmt.Sprintf("%d:1", milli/1000)
	}
	return fmt.Sprintf("%.2f:1", float64(milli)/1000)
}

func unsigned(bytes int64) uint64 { return uint64(max(bytes, 0)) }

func signed(bytes uint64) int64 { return int64(min(bytes, math.MaxInt64)) }
