package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	testUID  = "3f6c1f0e-8d0a-4c57-9a5e-0c8a3a2f7b11"
	testHash = "a1b2c3d4"
)

func testOwner() Owner {
	return Owner{BenchmarkUID: testUID, Benchmark: "quick", RunUID: "run-uid-1", Run: "quick-1", CreatedBy: "v0.0.1"}
}

func client(index int) Location {
	return Location{BenchmarkUID: testUID, DatasetHash: testHash, Client: index}
}

func mustCreate(t *testing.T, path string, index int) *Dataset {
	t.Helper()
	d, err := Create(mustProve(t, path), client(index), testOwner())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestLocation(t *testing.T) {
	if got, want := client(12).Path(), ".storagebench/"+testUID+"/a1b2c3d4/client-12"; got != want {
		t.Errorf("path %q, want %q", got, want)
	}
	bad := []Location{
		{BenchmarkUID: "", DatasetHash: "a"}, {BenchmarkUID: "a", DatasetHash: ""},
		{BenchmarkUID: "..", DatasetHash: "a"}, {BenchmarkUID: "a", DatasetHash: "."},
		{BenchmarkUID: "a/b", DatasetHash: "a"}, {BenchmarkUID: "a", DatasetHash: "a:b"},
		{BenchmarkUID: "a.b", DatasetHash: "a"}, {BenchmarkUID: "a\n", DatasetHash: "a"},
		{BenchmarkUID: "-a", DatasetHash: "a"}, {BenchmarkUID: "a", DatasetHash: "a", Client: -1},
		{BenchmarkUID: strings.Repeat("a", 64), DatasetHash: "a"},
	}
	for _, location := range bad {
		if _, err := Create(Mount{Path: t.TempDir()}, location, Owner{BenchmarkUID: location.BenchmarkUID}); err == nil {
			t.Errorf("%+v was accepted", location)
		}
		if _, err := Open(Mount{Path: t.TempDir()}, location); err == nil {
			t.Errorf("%+v was accepted", location)
		}
	}
}

func TestCreateOpenRemove(t *testing.T) {
	path := t.TempDir()
	mustWrite(t, filepath.Join(path, "theirs"), "keep")
	mount := mustProve(t, path)
	if _, err := Open(mount, client(0)); !errors.Is(err, ErrMissing) {
		t.Errorf("open before create: %v", err)
	}
	first, second := mustCreate(t, path, 0), mustCreate(t, path, 1)
	if want := filepath.Join(path, client(0).Path()); first.Path() != want {
		t.Errorf("path %s, want %s", first.Path(), want)
	}
	for _, level := range []string{testUID, testUID + "/" + testHash} {
		text, err := os.ReadFile(filepath.Join(path, ".storagebench", level, "owner.json"))
		var owner Owner
		if err != nil || json.Unmarshal(text, &owner) != nil {
			t.Fatalf("ownership file of %s: %v: %s", level, err, text)
		}
		want := testOwner()
		want.SchemaVersion = 1
		if owner != want {
			t.Errorf("owner %+v, want %+v", owner, want)
		}
	}
	mustWrite(t, filepath.Join(first.Path(), "job.0.0"), "data")
	again := mustCreate(t, path, 0)
	if !exists(filepath.Join(again.Path(), "job.0.0")) {
		t.Error("creating again lost a file")
	}
	if opened, err := Open(mount, client(0)); err != nil || opened.Close() != nil {
		t.Errorf("open: %v", err)
	}

	if err := first.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(first.Path()) || !exists(second.Path()) {
		t.Error("removing client 0 must remove client 0 only")
	}
	if err := first.Remove(t.Context()); err != nil {
		t.Errorf("remove again: %v", err)
	}
	if err := second.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("the last client must remove the parents")
	}
	if !exists(filepath.Join(path, "theirs")) {
		t.Error("a file of the user is gone")
	}
}

func TestCreateRefusesForeign(t *testing.T) {
	base := ".storagebench/" + testUID
	tests := map[string]struct {
		prepare func(t *testing.T, path string)
		want    error
	}{
		"no ownership file": {func(t *testing.T, path string) {
			t.Helper()
			mustWrite(t, filepath.Join(path, base, "x"), "")
		}, ErrForeign},
		"other benchmark": {func(t *testing.T, path string) {
			t.Helper()
			mustWrite(t, filepath.Join(path, base, "owner.json"), `{"schemaVersion":1,"benchmarkUID":"other"}`)
		}, ErrForeign},
		"newer schema": {func(t *testing.T, path string) {
			t.Helper()
			mustWrite(t, filepath.Join(path, base, "owner.json"), `{"schemaVersion":2,"benchmarkUID":"`+testUID+`"}`)
		}, ErrForeign},
		"no JSON": {func(t *testing.T, path string) {
			t.Helper()
			mustWrite(t, filepath.Join(path, base, "owner.json"), `{"schemaVersion":1,`)
		}, ErrForeign},
		"ownership file is a link": {func(t *testing.T, path string) {
			t.Helper()
			mustWrite(t, filepath.Join(path, "owner.json"), `{"schemaVersion":1,"benchmarkUID":"`+testUID+`"}`)
			must(t, os.MkdirAll(filepath.Join(path, base), 0o755))
			must(t, os.Symlink("../../owner.json", filepath.Join(path, base, "owner.json")))
		}, ErrForeign},
		"ownership file is a pipe": {func(t *testing.T, path string) {
			t.Helper()
			must(t, os.MkdirAll(filepath.Join(path, base), 0o755))
			must(t, unix.Mkfifo(filepath.Join(path, base, "owner.json"), 0o644))
		}, ErrForeign},
		"base is a link inside": {func(t *testing.T, path string) {
			t.Helper()
			must(t, os.MkdirAll(filepath.Join(path, "elsewhere"), 0o755))
			must(t, os.Symlink("elsewhere", filepath.Join(path, ".storagebench")))
		}, ErrSymlink},
		"base is a link outside": {func(t *testing.T, path string) {
			t.Helper()
			must(t, os.Symlink(t.TempDir(), filepath.Join(path, ".storagebench")))
		}, ErrSymlink},
		"base is a file": {func(t *testing.T, path string) {
			t.Helper()
			mustWrite(t, filepath.Join(path, ".storagebench"), "")
		}, ErrNotDirectory},
		"client is a link": {func(t *testing.T, path string) {
			t.Helper()
			mustCreate(t, path, 1)
			must(t, os.Symlink("client-1", filepath.Join(path, client(0).Path())))
		}, ErrSymlink},
		"hash is foreign": {func(t *testing.T, path string) {
			t.Helper()
			mustCreate(t, path, 1)
			must(t, os.Remove(filepath.Join(path, base, testHash, "owner.json")))
		}, ErrForeign},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			test.prepare(t, path)
			_, err := Create(mustProve(t, path), client(0), testOwner())
			var problem *Problem
			if !errors.Is(err, test.want) || !errors.As(err, &problem) || problem.Remedy == "" {
				t.Errorf("create: got %v, want %v with a remedy", err, test.want)
			}
			if err := Sweep(t.Context(), mustProve(t, path), testUID, testOwner().RunUID); !errors.Is(err, test.want) && name != "client is a link" {
				t.Errorf("sweep: got %v, want %v", err, test.want)
			}
		})
	}
}

// TestEmptyDirectoriesHealThemselves checks that Create and Sweep accept an empty parent directory without an ownership
// file. A client that is killed while it removes its parent directories leaves one.
func TestEmptyDirectoriesHealThemselves(t *testing.T) {
	path := t.TempDir()
	uid := filepath.Join(path, ".storagebench", testUID)
	must(t, os.MkdirAll(uid, 0o755))
	d := mustCreate(t, path, 0)
	if !exists(filepath.Join(uid, "owner.json")) {
		t.Error("no ownership file")
	}
	must(t, d.Remove(t.Context()))

	must(t, os.MkdirAll(uid, 0o755))
	must(t, Sweep(t.Context(), mustProve(t, path), testUID, testOwner().RunUID))
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("a sweep leaves the empty directories")
	}
}

func TestCreateRefusesAnotherDirectoryThanTheProvenOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "target")
	must(t, os.Mkdir(path, 0o755))
	mount := mustProve(t, path)
	must(t, os.Rename(path, path+".old"))
	must(t, os.Mkdir(path, 0o755))
	if _, err := Create(mount, client(0), testOwner()); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v, want %v", err, ErrChanged)
	}
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("something was created")
	}
}

// TestConcurrentClients checks that clients can create and remove their directories at the same time under common
// parents. No client may see another's incomplete directory as foreign, and no creation may fail because another client
// removes the last empty parent.
func TestConcurrentClients(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	var wait sync.WaitGroup
	for index := range 8 {
		wait.Go(func() {
			for range 60 {
				d, err := Create(mount, client(index), testOwner())
				if err != nil {
					t.Errorf("client %d: create: %v", index, err)
					return
				}
				if err := os.WriteFile(filepath.Join(d.Path(), "f"), []byte("x"), 0o600); err != nil {
					t.Errorf("client %d: write: %v", index, err)
				}
				if err := d.Remove(t.Context()); err != nil {
					t.Errorf("client %d: remove: %v", index, err)
				}
				_ = d.Close()
			}
		})
	}
	wait.Wait()
	// The last two clients may have left the parents for each other, so sweep as the runner does at the end.
	if err := Sweep(t.Context(), mount, testUID, testOwner().RunUID); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(path, ".storagebench")) {
		var left []string
		_ = filepath.WalkDir(path, func(p string, _ os.DirEntry, _ error) error { left = append(left, p); return nil })
		t.Errorf("left behind: %v", left)
	}
}

func TestSpace(t *testing.T) {
	withMounts(t, func() {
		path := filepath.Join(t.TempDir(), "small")
		mountTmpfs(t, path, 0, "size=1m")
		d := mustCreate(t, path, 0)
		free, err := d.FreeBytes()
		if err != nil || free == 0 || free > 1<<20 {
			t.Fatalf("free %d, %v", free, err)
		}
		if err := d.CheckSpace(free); err != nil {
			t.Errorf("all that is free: %v", err)
		}
		err = d.CheckSpace(free + 1)
		var space *SpaceError
		if !errors.Is(err, ErrNoSpace) || !errors.As(err, &space) || space.NeedBytes != free+1 || space.FreeBytes != free {
			t.Errorf("one byte more: %v", err)
		}
		for _, part := range []string{d.Path(), fmt.Sprint(free), fmt.Sprint(free + 1)} {
			if !strings.Contains(fmt.Sprint(err), part) {
				t.Errorf("%q does not name %s", err, part)
			}
		}
		must(t, os.WriteFile(filepath.Join(d.Path(), "f"), make([]byte, 512<<10), 0o600))
		if after, err := d.FreeBytes(); err != nil || free-after != 512<<10 {
			t.Errorf("after 512 KiB: %d, %v", after, err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
