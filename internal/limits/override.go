package limits

import (
	"fmt"
	"maps"
	"slices"
)

// Overridden is one change that an override makes.
type Overridden struct {
	// File is the key in the ConfigMap's data. Key is the key of the row, or the name of the preset.
	File, Key string
	// Replaced is true if the override replaced a row or preset of the built-in catalog, and false if it added one.
	Replaced bool
}

// Override returns a copy of c, extended by the rows and presets in the data of a ConfigMap. They replace rows and
// presets of c that have the same key. Each value of the data is a file in the catalog's format. Override checks these
// files as strictly as the built-in ones, and accepts either all or none of them; the error names the file, the key and
// the remedy. It also returns the changes, sorted by file and key.
func (c *Catalog) Override(data map[string]string) (*Catalog, []Overridden, error) {
	made := &Catalog{version: c.version, rows: maps.Clone(c.rows), presets: maps.Clone(c.presets)}
	var changes []Overridden
	from := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		read, err := parseFile(name, data[name])
		if err != nil {
			return nil, nil, fmt.Errorf("override the catalog of limits: %w", err)
		}
		note := func(key string, replaced bool) error {
			if other, twice := from[key]; twice {
				return fmt.Errorf("override the catalog of limits: %s: %q is also in %s; rename or remove one", name, key, other)
			}
			from[key] = name
			changes = append(changes, Overridden{File: name, Key: key, Replaced: replaced})
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(read.rows)) {
			_, replaced := c.rows[key]
			if err := note(key, replaced); err != nil {
				return nil, nil, err
			}
			row := read.rows[key]
			row.overridden = true
			made.rows[key] = row
		}
		for _, key := range slices.Sorted(maps.Keys(read.presets)) {
			_, replaced := c.presets[key]
			if err := note(key, replaced); err != nil {
				return nil, nil, err
			}
			made.presets[key] = read.presets[key]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(made.presets)) {
		if err := made.checkPreset(name, made.presets[name]); err != nil {
			return nil, nil, fmt.Errorf("override the catalog of limits: %s: %w", from[name], err)
		}
	}
	return made, changes, nil
}
