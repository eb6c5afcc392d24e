package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Tree is the root file system of an image. Everything in it belongs to root. No file is setuid or setgid, because
// these bits would have no effect in a container without privileges. The zero value is an empty tree.
type Tree struct {
	entries map[string]entry
}

type entry struct {
	mode   fs.FileMode
	data   []byte
	target string
}

// Directory adds a directory. Tar adds missing parent directories.
func (t *Tree) Directory(name string, mode fs.FileMode) error {
	return t.add(name, entry{mode: mode | fs.ModeDir})
}

// File adds a regular file.
func (t *Tree) File(name string, mode fs.FileMode, data []byte) error {
	return t.add(name, entry{mode: mode, data: data})
}

// Link adds a symbolic link.
func (t *Tree) Link(name, target string) error {
	return t.add(name, entry{mode: fs.ModeSymlink | 0o777, target: target})
}

// Has reports whether a path exists in the tree.
func (t *Tree) Has(name string) bool {
	_, found := t.entries[name]
	return found
}

func (t *Tree) add(name string, e entry) error {
	if name == "." || !fs.ValidPath(name) {
		return fmt.Errorf("%q is not a valid path in an image: use a relative path without \".\" or \"..\" elements", name)
	}
	if e.mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return fmt.Errorf("%s is setuid or setgid (%v): an image must not contain such a file", name, e.mode)
	}
	if t.Has(name) {
		return fmt.Errorf("%s is already in the image", name)
	}
	for above := path.Dir(name); above != "."; above = path.Dir(above) {
		if found, ok := t.entries[above]; ok && !found.mode.IsDir() {
			return fmt.Errorf("%s cannot be added: %s is not a directory", name, above)
		}
	}
	if t.entries == nil {
		t.entries = map[string]entry{}
	}
	t.entries[name] = e
	return nil
}

// Tar returns the tree as a tar archive in which every entry has the same time.
func (t *Tree) Tar(at time.Time) ([]byte, error) {
	all := maps.Clone(t.entries)
	for name := range t.entries {
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if _, found := all[above]; !found {
				all[above] = entry{mode: fs.ModeDir | 0o755}
			}
		}
	}
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	for _, name := range slices.SortedFunc(maps.Keys(all), parentsFirst) {
		if err := write(archive, name, all[name], at); err != nil {
			return nil, fmt.Errorf("write %s into a layer: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write a layer: %w", err)
	}
	return text.Bytes(), nil
}

// parentsFirst compares paths element by element, so that a directory sorts right before its content.
func parentsFirst(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

func write(archive *tar.Writer, name string, e entry, at time.Time) error {
	header := &tar.Header{
		Name:    name,
		Mode:    int64(e.mode.Perm()),
		ModTime: at,
		Size:    int64(len(e.data)),
		Format:  tar.FormatPAX,
	}
	if e.mode&fs.ModeSticky != 0 {
		header.Mode |= 0o1000
	}
	switch e.mode.Type() {
	case fs.ModeDir:
		header.Typeflag = tar.TypeDir
		header.Name += "/"
	case fs.ModeSymlink:
		header.Typeflag = tar.TypeSymlink
		header.Linkname = e.target
	default:
		header.Typeflag = tar.TypeReg
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(e.data)
	return err
}
