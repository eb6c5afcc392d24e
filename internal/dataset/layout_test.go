package dataset

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLaidOut(t *testing.T) {
	path := t.TempDir()
	first, second := mustCreate(t, path, 0), mustCreate(t, path, 1)
	read := func(d *Dataset, want LaidOut) {
		t.Helper()
		got, err := d.LaidOut()
		must(t, err)
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	read(first, LaidOut{})
	whole := LaidOut{"data.0.0": {Bytes: 5, Content: "abc"}, "data.1.0": {Bytes: 7, Content: "def"}}
	must(t, first.SetLaidOut(whole))
	read(first, whole)
	read(second, LaidOut{})
	// A client that was killed while it wrote a record leaves this file, which is ignored.
	withParent := filepath.Dir(first.Path())
	mustWrite(t, filepath.Join(withParent, "layout-0.json.new"), "{")
	must(t, second.SetLaidOut(whole))
	delete(whole, "data.0.0")
	must(t, first.SetLaidOut(whole))
	again, err := Open(mustProve(t, path), client(0))
	must(t, err)
	defer func() { _ = again.Close() }()
	read(again, whole)
	if entries, err := os.ReadDir(first.Path()); err != nil || len(entries) > 0 {
		t.Errorf("among the data: %v, %v", entries, err)
	}
	must(t, first.SetLaidOut(LaidOut{}))
	if exists(filepath.Join(withParent, "layout-0.json")) {
		t.Error("an empty record was written")
	}
	must(t, first.SetLaidOut(LaidOut{}))
	read(first, LaidOut{})

	// The record is removed together with the data and does not keep a directory from being removed.
	must(t, first.SetLaidOut(whole))
	mustWrite(t, filepath.Join(withParent, "layout-0.json.new"), "{")
	must(t, first.Remove(t.Context()))
	if exists(filepath.Join(withParent, "layout-0.json")) || exists(filepath.Join(withParent, "layout-0.json.new")) {
		t.Error("the record outlives its files")
	}
	must(t, os.RemoveAll(second.Path()))
	must(t, first.Remove(t.Context()))
	if exists(filepath.Join(path, baseName)) {
		t.Error("the record of a client without files keeps the directory")
	}
	if err := second.SetLaidOut(whole); err == nil {
		t.Error("the record of a missing directory was written")
	}
}

// TestLaidOutOfAnothersMaking checks that an invalid record is ignored and can be replaced, and that links are never
// followed.
func TestLaidOutOfAnothersMaking(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "cut short": `{"schemaVersion":1,"files":{"a":`, "of another version": `{"schemaVersion":9,"files":{"a":{"bytes":1}}}`,
		"none": `{}`, "large": `{"schemaVersion":1,"files":{"a":{"bytes":1}}}` + strings.Repeat(" ", layoutMaxBytes),
	} {
		t.Run(name, func(t *testing.T) {
			d := mustCreate(t, t.TempDir(), 0)
			mustWrite(t, filepath.Join(filepath.Dir(d.Path()), "layout-0.json"), text)
			if got, err := d.LaidOut(); err != nil || len(got) > 0 {
				t.Errorf("got %v, %v", got, err)
			}
			must(t, d.SetLaidOut(LaidOut{"b": {Bytes: 1}}))
			if got, err := d.LaidOut(); err != nil || len(got) != 1 {
				t.Errorf("after it was written: %v, %v", got, err)
			}
		})
	}
	d, outside := mustCreate(t, t.TempDir(), 0), filepath.Join(t.TempDir(), "outside")
	mustWrite(t, outside, "precious")
	must(t, os.Symlink(outside, filepath.Join(filepath.Dir(d.Path()), "layout-0.json")))
	must(t, os.Symlink(outside, filepath.Join(filepath.Dir(d.Path()), "layout-0.json.new")))
	if got, err := d.LaidOut(); err == nil {
		t.Errorf("a link was followed: %v", got)
	}
	must(t, d.SetLaidOut(LaidOut{"b": {Bytes: 1}}))
	if text, err := os.ReadFile(outside); err != nil || string(text) != "precious" {
		t.Errorf("a link was written through: %q, %v", text, err)
	}
}

// TestLaidOutOfManyFiles checks that a record can hold as many files as the API allows per client. A larger record is
// refused and does not replace the existing one.
func TestLaidOutOfManyFiles(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	many := LaidOut{}
	for i := range 100_000 {
		many[fmt.Sprintf("data.%d.%d", 1000+i%10, 1000+i/10)] = LaidOutFile{Bytes: 1 << 50, Content: "0123456789ab-trimmed-like-100"}
	}
	must(t, d.SetLaidOut(many))
	if got, err := d.LaidOut(); err != nil || !maps.Equal(got, many) {
		t.Fatalf("%d files of %d, %v", len(got), len(many), err)
	}
	if err := d.SetLaidOut(LaidOut{"a": {Content: strings.Repeat("x", layoutMaxBytes)}}); err == nil || !strings.Contains(err.Error(), "filesPerJob") {
		t.Errorf("a record that cannot be read was written: %v", err)
	}
	if got, err := d.LaidOut(); err != nil || len(got) != len(many) {
		t.Errorf("afterwards: %d files, %v", len(got), err)
	}
}

func TestSweepRemovesLayoutRecords(t *testing.T) {
	path := t.TempDir()
	d := mustCreate(t, path, 3)
	mustWrite(t, filepath.Join(d.Path(), "data.0.0"), "x")
	must(t, d.SetLaidOut(LaidOut{"data.0.0": {Bytes: 1}}))
	must(t, Sweep(t.Context(), mustProve(t, path), testUID, testOwner().RunUID))
	if exists(filepath.Join(path, baseName)) {
		t.Error("something is left")
	}
}

func TestIs(t *testing.T) {
	path := t.TempDir()
	d := mustCreate(t, path, 0)
	own, err := os.Stat(d.Path())
	must(t, err)
	other, err := os.Stat(path)
	must(t, err)
	if !d.Is(own) || d.Is(other) {
		t.Error("two directories are confused")
	}
}
