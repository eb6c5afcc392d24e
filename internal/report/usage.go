package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// spaces writes how much space the files occupy after each phase that wrote data. Phases with equal results share an
// entry.
func (p *page) spaces(d Document) {
	type said struct {
		text  string
		where []string
		usage *v1alpha1.UsageResult
	}
	var all []said
	for phase, target := range v1alpha1.TargetResults(d.Phases) {
		if target.Usage == nil {
			continue
		}
		text := usageText(target.Usage)
		at := slices.IndexFunc(all, func(s said) bool { return s.text == text && reflect.DeepEqual(s.usage.Types, target.Usage.Types) })
		if at < 0 {
			at = len(all)
			all = append(all, said{text: text, usage: target.Usage})
		}
		all[at].where = append(all[at].where, where(d, phase, target))
	}
	for _, one := range all {
		p.line(strings.Join(one.where, ", ") + ": " + one.text)
		p.usageTypes(one.usage)
	}
}

func usageText(u *v1alpha1.UsageResult) string {
	text := measure.FormatCount(int(u.Files), "file") + " with " + bytesText(u.DataBytes) + " of data"
	if u.ApparentBytes > u.DataBytes {
		text += " (" + bytesText(u.ApparentBytes) + " with their holes)"
	}
	text += " take " + bytesText(u.AllocatedBytes) + " on " + cmp.Or(u.FileSystem, "the storage") + ", " + compressionText(u)
	if u.DataPattern == "" {
		return text
	}
	text += "; written by " + strings.TrimSpace(string(u.Tool)+" "+strings.TrimPrefix(strings.TrimPrefix(u.ToolVersion, "fio-"), "IOR-")) +
		", data " + u.DataPattern
	if u.PatternRatioMilli != nil && u.Compression != "None" {
		text += ", compressed by lz4 to " + measure.FormatRatio(*u.PatternRatioMilli)
	}
	return text
}

// compressionText returns the compression ratio, or the reason why there is none.
func compressionText(u *v1alpha1.UsageResult) string {
	switch {
	case u.CompressionRatioMilli != nil:
		return "a compression of " + measure.FormatRatio(*u.CompressionRatioMilli)
	case u.Compression == "None":
		return "which does not compress"
	case !u.Settled:
		return "possibly not settled yet"
	case u.Compression == "Hidden":
		return "which does not report compression"
	}
	return "which does not report whether this is compressed"
}

func (p *page) usageTypes(u *v1alpha1.UsageResult) {
	if len(u.Types) == 0 {
		return
	}
	lines := [][]string{{"TYPE", "FILES", "DATA", "TAKES", "COMPRESSION"}}
	for _, of := range u.Types {
		name := "." + printable(of.Extension)
		switch of.Extension {
		case "":
			name = "none"
		case "*":
			name = "others"
		}
		ratio := absent
		if of.CompressionRatioMilli != nil {
			ratio = measure.FormatRatio(*of.CompressionRatioMilli)
		}
		lines = append(lines, []string{name, fmt.Sprint(of.Files), bytesText(of.DataBytes), bytesText(of.AllocatedBytes), ratio})
	}
	p.nestedColumns(lines, 1)
}
