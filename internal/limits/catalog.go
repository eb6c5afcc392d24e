package limits

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed catalog/*.yaml
var embedded embed.FS

// maxFileBytes is the largest size of an override file; a ConfigMap cannot be larger.
const maxFileBytes = 1 << 20

// Catalog holds the documented limits of storage systems and machines. It is immutable; [Catalog.Override] returns a
// new one.
type Catalog struct {
	version string
	rows    map[string]row
	presets map[string][]string
}

// Version returns the version of the built-in catalog, a date.
func (c *Catalog) Version() string { return c.version }

// Keys returns the keys of all rows, sorted.
func (c *Catalog) Keys() []string { return slices.Sorted(maps.Keys(c.rows)) }

// Presets returns the names that documented.preset accepts, sorted: names of presets and keys of rows.
func (c *Catalog) Presets() []string {
	names := slices.Collect(maps.Keys(c.presets))
	return slices.Sorted(slices.Values(append(names, c.Keys()...)))
}

// file is one YAML document of the catalog.
type file struct {
	Catalog string            `yaml:"catalog"`
	Sources map[string]Source `yaml:"sources"`
	Rows    []yaml.Node       `yaml:"rows"`
	Presets []preset          `yaml:"presets"`
}

// preset is a named list of the catalog rows that together describe a storage system.
type preset struct {
	Name string   `yaml:"name"`
	Rows []string `yaml:"rows"`
}

// Builtin returns the built-in catalog, which is parsed once. An error indicates a bug in this build.
func Builtin() (*Catalog, error) { return readOnce() }

var readOnce = sync.OnceValues(readBuiltin)

func readBuiltin() (*Catalog, error) {
	entries, err := embedded.ReadDir("catalog")
	if err != nil {
		return nil, fmt.Errorf("list the built-in catalog: %w", err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		text, err := embedded.ReadFile("catalog/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the built-in catalog: %w", err)
		}
		files[entry.Name()] = string(text)
	}
	return load(files)
}

// load parses the files of a catalog. A key must be unique across all files.
func load(files map[string]string) (*Catalog, error) {
	made := &Catalog{rows: map[string]row{}, presets: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		read, err := parseFile(name, files[name])
		if err != nil {
			return nil, err
		}
		if made.version == "" {
			made.version = read.version
		}
		if read.version != made.version {
			return nil, fmt.Errorf("%s: catalog: %q differs from %q in the preceding files; set the same version in all files", name, read.version, made.version)
		}
		for key, row := range read.rows {
			if _, twice := made.rows[key]; twice {
				return nil, fmt.Errorf("%s: row %q is also in another file; rename or remove one", name, key)
			}
			made.rows[key] = row
		}
		for key, rows := range read.presets {
			if _, twice := made.presets[key]; twice {
				return nil, fmt.Errorf("%s: preset %q is also in another file; rename or remove one", name, key)
			}
			made.presets[key] = rows
		}
	}
	for name, rows := range made.presets {
		if err := made.checkPreset(name, rows); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (c *Catalog) checkPreset(name string, rows []string) error {
	if _, taken := c.rows[name]; taken {
		return fmt.Errorf("preset %q: a row has the same key; rename one", name)
	}
	for _, key := range rows {
		if _, known := c.rows[key]; !known {
			return fmt.Errorf("preset %q: unknown row %q%s", name, key, c.nearest(key))
		}
	}
	return nil
}

// parsed holds the content of one catalog file.
type parsed struct {
	version string
	rows    map[string]row
	presets map[string][]string
}

var (
	keyForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)
	dateForm = regexp.MustCompile(`^\d{4}-\d{2}(-\d{2})?$`)
)

// parseFile parses one file. Every error contains the file's name.
func parseFile(name, text string) (parsed, error) {
	made := parsed{rows: map[string]row{}, presets: map[string][]string{}}
	fail := func(err error) (parsed, error) { return parsed{}, fmt.Errorf("%s: %w", name, err) }
	if len(text) > maxFileBytes {
		return fail(fmt.Errorf("the file has %d bytes, but the limit is %d", len(text), maxFileBytes))
	}
	var read file
	if err := strictBytes([]byte(text), &read); err != nil {
		return fail(err)
	}
	if made.version = read.Catalog; made.version == "" {
		return fail(errors.New("catalog: missing; set it to the version of the data, such as \"2026-11-21\""))
	}
	if err := checkSources(read.Sources); err != nil {
		return fail(err)
	}
	for index := range read.Rows {
		row, err := parseRow(&read.Rows[index], read.Sources)
		if err == nil && !keyForm.MatchString(row.key) {
			err = errors.New("key: must have the form store/kind, with letters, digits, dots, dashes and underscores only; rename it")
		}
		if _, twice := made.rows[row.key]; err == nil && twice {
			err = errors.New("duplicate key; rename or remove one")
		}
		if err != nil {
			return fail(fmt.Errorf("row %.100q, line %d: %w", row.key, read.Rows[index].Line, err))
		}
		made.rows[row.key] = row
	}
	for _, preset := range read.Presets {
		_, twice := made.presets[preset.Name]
		switch {
		case !keyForm.MatchString(preset.Name):
			return fail(fmt.Errorf("preset %.100q: the name must have the form store/kind; rename it", preset.Name))
		case twice:
			return fail(fmt.Errorf("preset %q: duplicate name; rename or remove one", preset.Name))
		case len(preset.Rows) == 0:
			return fail(fmt.Errorf("preset %q: rows: missing; name at least one", preset.Name))
		}
		made.presets[preset.Name] = preset.Rows
	}
	if err := checkUse(read.Sources, made.rows); err != nil {
		return fail(err)
	}
	return made, nil
}

// checkSources returns an error if any of the sources lacks its title, its date, an https address, or the date on which
// its figures were read.
func checkSources(sources map[string]Source) error {
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		source := sources[name]
		switch {
		case source.Title == "" || source.AsOf == "":
			return fmt.Errorf("source %q: title and asOf are required; set them to the title of the publication and its date", name)
		case !strings.HasPrefix(source.URL, "https://"):
			return fmt.Errorf("source %q: url: %.100q is not an https address; set it to the address where the figures were read", name, source.URL)
		case !dateForm.MatchString(source.Read):
			return fmt.Errorf("source %q: read: %.40q is not a date; use the form 2026-11-21", name, source.Read)
		}
	}
	return nil
}

// checkUse returns an error if any of the sources is not used by a row.
func checkUse(sources map[string]Source, rows map[string]row) error {
	used := map[Source]bool{}
	for _, row := range rows {
		for _, source := range row.sources {
			used[source] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if !used[sources[name]] {
			return fmt.Errorf("source %q: unused; remove it", name)
		}
	}
	return nil
}

// nearest suggests up to 24 names for an unknown key: the rows and presets of the same store or, if the store is also
// unknown, the known stores.
func (c *Catalog) nearest(key string) string {
	prefix, _, _ := strings.Cut(key, "/")
	var like []string
	for _, name := range c.Presets() {
		if strings.HasPrefix(name, prefix+"/") {
			like = append(like, name)
		}
	}
	if len(like) == 0 {
		for _, name := range c.Presets() {
			store, _, _ := strings.Cut(name, "/")
			if !slices.Contains(like, store+"/...") {
				like = append(like, store+"/...")
			}
		}
	}
	if len(like) > 24 {
		like = append(like[:24], "...")
	}
	return "; known names are " + strings.Join(like, ", ")
}
