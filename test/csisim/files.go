package csisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// volume is the record of a volume. It is written before anything of the volume is created and removed last.
type volume struct {
	// ID is the handle. Name is the requested name, empty for a volume that was not created by this driver.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Parameters are all parameters of the request.
	Parameters map[string]string `json:"parameters,omitempty"`
	Mutable    map[string]string `json:"mutable,omitempty"`
	// Context holds the volume attributes.
	Context       map[string]string `json:"context,omitempty"`
	CapacityBytes int64             `json:"capacityBytes"`
	// SizeBytes is the size at which the volume is full; 0 means its capacity.
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	Inodes    int64 `json:"inodes,omitempty"`
	Block     bool  `json:"block,omitempty"`
	// Store is the name of the store that serves it.
	Store string `json:"store"`
	// Made is true once all parts of the volume have existed.
	Made bool `json:"made,omitempty"`
}

// key identifies a volume in the names of files, mounts and devices.
func key(id string) string { return digits(id, 16) }

func (v volume) key() string { return key(v.ID) }

// full returns the size at which the volume is full.
func (v volume) full() int64 {
	if v.SizeBytes > 0 {
		return v.SizeBytes
	}
	return v.CapacityBytes
}

// home is the directory of a driver.
type home string

func (h home) volumes() string           { return filepath.Join(string(h), "volumes") }
func (h home) recordOf(id string) string { return filepath.Join(h.volumes(), key(id)+".json") }
func (h home) stores() string            { return filepath.Join(string(h), "stores") }
func (h home) records() string           { return filepath.Join(string(h), "records") }

// backing returns the path of the memory file system with the volume's contents.
func (h home) backing(v volume) string {
	return filepath.Join(h.stores(), v.Store, backingFolder, v.key())
}

// served returns the path at which the store serves the volume.
func (h home) served(v volume) string {
	return filepath.Join(h.stores(), v.Store, mountFolder, v.key())
}

// errNoVolume is the error of load for a volume without a record.
var errNoVolume = errors.New("there is no such volume")

func (h home) load(id string) (volume, error) {
	var v volume
	text, err := os.ReadFile(h.recordOf(id))
	if errors.Is(err, fs.ErrNotExist) {
		return v, fmt.Errorf("%w: %q", errNoVolume, id)
	}
	if err != nil {
		return v, fmt.Errorf("reading the record of volume %q: %w", id, err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("reading the record of volume %q: %w", id, err)
	}
	return v, nil
}

// save replaces the record atomically.
func (h home) save(v volume) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the record of volume %q: %w", v.ID, err)
	}
	return writeFile(h.recordOf(v.ID), append(text, '\n'))
}

// all returns the volumes in the order of their keys.
func (h home) all() ([]volume, error) {
	entries, err := os.ReadDir(h.volumes())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the volumes: %w", err)
	}
	var all []volume
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") { // a record that is being written
			continue
		}
		text, err := os.ReadFile(filepath.Join(h.volumes(), entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("listing the volumes: %w", err)
		}
		var v volume
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, fmt.Errorf("reading the record %s: %w", entry.Name(), err)
		}
		all = append(all, v)
	}
	return all, nil
}

// others reports whether other volumes use the store of this one.
func (h home) others(v volume) (bool, error) {
	all, err := h.all()
	return slices.ContainsFunc(all, func(other volume) bool { return other.Store == v.Store && other.ID != v.ID }), err
}

func writeFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", name, err)
	}
	if err := os.WriteFile(name+".new", text, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("putting %s in place: %w", name, err)
	}
	return nil
}
