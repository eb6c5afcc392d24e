package limits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/internal/spelling"
)

// UnknownPresetError is returned for a preset that the catalog does not contain.
type UnknownPresetError struct {
	// Preset is the value of documented.preset.
	Preset string
	// Remedy explains how to correct the preset, and names similar presets.
	Remedy string
}

func (e *UnknownPresetError) Error() string {
	return fmt.Sprintf("%s: %.128q %s", presetField, e.Preset, e.Remedy)
}

// maxAlike is the maximum number of similar names that an error message suggests.
const maxAlike = 4

// similarPresets lists the presets with the most similar names.
func (c *Catalog) similarPresets(name string) string {
	// Cut the name to 128 bytes, the maximum length of a preset's name, because comparing a longer text would be slow.
	name = name[:min(len(name), 128)]
	all := c.Presets()
	far := map[string]int{}
	for _, known := range all {
		far[known] = spelling.Distance(name, known)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	if far[all[0]] > len(name)/2 {
		return strings.TrimPrefix(c.nearest(name), "; ")
	}
	return "similar names are " + strings.Join(all[:min(len(all), maxAlike)], ", ")
}
