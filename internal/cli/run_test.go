package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/storagebench/storagebench/internal/report"
)

// TestSavedBeforeShown checks that a result is saved even if it cannot be printed, for example because the disk is
// full.
func TestSavedBeforeShown(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "r.json")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	err = present(Streams{Out: full, Err: &bytes.Buffer{}}, runOptions{output: "json", save: []string{name}}, readDocument(t, "result-a.json"))
	if err == nil || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("it could not be shown, and the error is %v", err)
	}
	if saved, err := os.Open(name); err != nil {
		t.Error(err)
	} else if document, err := report.Read(saved); err != nil || document.Run == "" {
		t.Errorf("the saved run %q: %v", document.Run, err)
	}
}

// TestEveryFileIsSaved checks that all files that cannot be written are reported, and that the other files are still
// written and the result is printed.
func TestEveryFileIsSaved(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	document := readDocument(t, "result-a.json")
	document.Series = nil // so that a CSV file cannot be written
	table, missing, last := filepath.Join(directory, "a.csv"), filepath.Join(directory, "no/b.md"), filepath.Join(directory, "c.json")
	var out, messages bytes.Buffer
	err := present(Streams{Out: &out, Err: &messages}, runOptions{output: "json", save: []string{table, missing, last}}, document)
	if !errors.Is(err, report.ErrNoSeries) || !strings.Contains(err.Error(), "requires permission to list ConfigMaps") ||
		!errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "--save "+table) || !strings.Contains(err.Error(), "--save "+missing) {
		t.Errorf("the error does not name what cannot be saved: %v", err)
	}
	if text, err := os.ReadFile(last); err != nil || string(text) != out.String() || out.Len() == 0 {
		t.Errorf("saved %d bytes and shown %d, %v", len(text), out.Len(), err)
	}
	if got := messages.String(); got != "wrote "+last+"\n" {
		t.Errorf("it says %q", got)
	}
}

// TestSaveReplacesAFile checks that the old file is never partly overwritten, and that its mode is kept. In a folder
// without write permission, the existing file is overwritten in place.
func TestSaveReplacesAFile(t *testing.T) {
	t.Parallel()
	folder, document := t.TempDir(), readDocument(t, "result-a.json")
	old, other := filepath.Join(folder, "old.json"), filepath.Join(folder, "other")
	for _, err := range []error{
		os.WriteFile(old, []byte("before"), 0o600), os.Link(old, other), saveAs(old, document),
		os.Chmod(folder, 0o500), saveAs(old, document), os.Chmod(folder, 0o700), // root may write to any folder
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "before" {
		t.Errorf("the old file was written to: %d bytes, %v", len(text), err)
	}
	if info, err := os.Stat(old); err != nil || info.Mode() != 0o600 || info.Size() < 1000 {
		t.Errorf("the saved file: %v, %v", info, err)
	}
}

// TestSaveKeepsTheOwner checks that a file that root replaces keeps its owner.
func TestSaveKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	const user, group = 65534, 65533
	name := filepath.Join(t.TempDir(), "r.json")
	document := readDocument(t, "result-a.json")
	if err := errors.Join(os.WriteFile(name, nil, 0o640), os.Chown(name, user, group), saveAs(name, document)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known || stat.Uid != user || stat.Gid != group || info.Mode() != 0o640 || info.Size() < 1000 {
		t.Errorf("the saved file has mode %s and %d bytes, and %+v", info.Mode(), info.Size(), stat)
	}
}

func readDocument(t *testing.T, name string) report.Document {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	document, err := report.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return document
}
