package limits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// UnknownPresetError is a preset that the catalog does not have.
type UnknownPresetError struct {
	// Preset is what was written in limits.preset.
	Preset string
	// Remedy says which names are alike, and what else can be done.
	Remedy string
}

func (e *UnknownPresetError) Error() string {
	return fmt.Sprintf("%s: %.128q %s", presetField, e.Preset, e.Remedy)
}

// maxAlike names are told.
const maxAlike = 4

// alike names the presets whose names are the nearest.
func (c *Catalog) alike(name string) string {
	// A longer text is no name, and takes long to compare.
	name = name[:min(len(name), 128)]
	all := c.Presets()
	far := map[string]int{}
	for _, known := range all {
		far[known] = distance(name, known)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	if far[all[0]] > len(name)/2 {
		return strings.TrimPrefix(c.nearest(name), "; ")
	}
	return "the nearest names are " + strings.Join(all[:min(len(all), maxAlike)], ", ")
}

// distance is Levenshtein's: how many letters have to be added, removed or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := before
			if a[i] != b[j] {
				changed++
			}
			before = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
