package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

func TestRemoveFollowsNoLink(t *testing.T) {
	path, outside := t.TempDir(), t.TempDir()
	mustWrite(t, filepath.Join(outside, "precious"), "outside")
	mustWrite(t, filepath.Join(path, "theirs/precious"), "beside")
	d := mustCreate(t, path, 0)
	other := mustCreate(t, path, 1)
	mustWrite(t, filepath.Join(other.Path(), "precious"), "other client")

	inside := d.Path()
	must(t, os.Symlink(outside, filepath.Join(inside, "to-outside")))
	must(t, os.Symlink(filepath.Join(outside, "precious"), filepath.Join(inside, "to-file")))
	must(t, os.Symlink("../client-1", filepath.Join(inside, "to-client-1")))
	must(t, os.Symlink("../../../../theirs", filepath.Join(inside, "to-theirs")))
	must(t, os.Symlink(".", filepath.Join(inside, "to-self")))
	must(t, os.Link(filepath.Join(path, "theirs/precious"), filepath.Join(inside, "hard")))
	must(t, unix.Mkfifo(filepath.Join(inside, "pipe"), 0o644))
	mustWrite(t, filepath.Join(inside, "deep/er/still/file"), "x")
	must(t, os.Symlink(outside, filepath.Join(inside, "deep/er/link")))
	mustWrite(t, filepath.Join(inside, "locked/file"), "x")
	must(t, os.Chmod(filepath.Join(inside, "locked"), 0o500))
	mustWrite(t, filepath.Join(inside, "new\nline \"and\" more"), "x")

	must(t, d.Remove(t.Context()))
	if exists(inside) {
		t.Error("the directory is still there")
	}
	for _, file := range []string{
		filepath.Join(outside, "precious"), filepath.Join(path, "theirs/precious"), filepath.Join(other.Path(), "precious"),
	} {
		if text, err := os.ReadFile(file); err != nil || len(text) == 0 {
			t.Errorf("%s is gone: %v", file, err)
		}
	}
}

// TestRemoveDirectoryWithoutName checks that an empty path is refused and does not mean the working directory.
func TestRemoveDirectoryWithoutName(t *testing.T) {
	t.Chdir(t.TempDir())
	mustWrite(t, "file", "x")
	if err := RemoveDirectory(""); err == nil || !exists("file") {
		t.Errorf("got %v", err)
	}
}

// TestRemoveTreeAgain checks that a directory that gets new files while it is removed is emptied again, at whatever
// moment that happens.
func TestRemoveTreeAgain(t *testing.T) {
	for filled := range 4 {
		d := mustCreate(t, t.TempDir(), 0)
		folder := filepath.Join(d.Path(), "folder")
		must(t, os.Mkdir(folder, 0o700))
		mustWrite(t, filepath.Join(d.Path(), "file"), "x")
		checks := 0
		may := func() error {
			if checks == filled && exists(folder) {
				mustWrite(t, filepath.Join(folder, "late"), "x")
			}
			checks++
			return nil
		}
		if err := removeTree(may, d.client); err != nil || exists(folder) {
			t.Errorf("filled at check %d of %d: %v", filled, checks, err)
		}
	}
}

func TestRemoveManyFiles(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	for i := range 3*listBatch + 7 {
		must(t, os.WriteFile(filepath.Join(d.Path(), fmt.Sprint(i)), nil, 0o600))
	}
	must(t, d.Remove(t.Context()))
	if exists(d.Path()) {
		t.Error("the directory is still there")
	}
}

func TestRemoveRefusesExchangedDirectories(t *testing.T) {
	levels := map[string]string{
		"client": client(0).Path(),
		"hash":   ".storagebench/" + testUID + "/" + testHash,
		"uid":    ".storagebench/" + testUID,
		"base":   ".storagebench",
	}
	for name, level := range levels {
		for _, kind := range []string{"link", "directory"} {
			t.Run(name+" by a "+kind, func(t *testing.T) {
				path, outside := t.TempDir(), t.TempDir()
				d := mustCreate(t, path, 0)
				// The impostor has the same contents below the exchanged level, including ownership files.
				swapped := filepath.Join(path, level)
				must(t, os.CopyFS(outside, os.DirFS(swapped)))
				rest, err := filepath.Rel(level, client(0).Path())
				must(t, err)
				mustWrite(t, filepath.Join(outside, rest, "victim"), "x")
				victim := filepath.Join(outside, rest, "victim")
				must(t, os.Rename(swapped, swapped+".real"))
				if kind == "link" {
					must(t, os.Symlink(outside, swapped))
				} else {
					must(t, os.Rename(outside, swapped))
					victim = filepath.Join(swapped, rest, "victim")
				}
				err = d.Remove(t.Context())
				if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrSymlink) {
					t.Errorf("got %v, want a refusal", err)
				}
				if !exists(victim) {
					t.Error("a file of another directory was removed")
				}
			})
		}
	}
}

// TestRemoveClosedDirectories checks that directories of a tool are removed whatever their modes, also by a user other
// than root.
func TestRemoveClosedDirectories(t *testing.T) {
	withoutRoot(t, func() {
		path := t.TempDir()
		d := mustCreate(t, path, 0)
		for _, mode := range []os.FileMode{0, 0o200, 0o500} {
			folder := filepath.Join(d.Path(), fmt.Sprintf("%o", mode))
			mustWrite(t, filepath.Join(folder, "file"), "x")
			must(t, os.Chmod(folder, mode))
		}
		must(t, d.Remove(t.Context()))
		if exists(filepath.Join(path, baseName)) {
			t.Error("something is left")
		}
	})
}

func TestRemoveCrossesNoMount(t *testing.T) {
	withMounts(t, func() {
		path := t.TempDir()
		d := mustCreate(t, path, 0)
		mustWrite(t, filepath.Join(d.Path(), "ours"), "x")
		// One mount is another file system; the other is a bind mount of this one, which has the same device number.
		tmpfs, bound, theirs := filepath.Join(d.Path(), "tmpfs"), filepath.Join(d.Path(), "bound"), filepath.Join(path, "theirs")
		mountTmpfs(t, tmpfs, 0, "mode=0500")
		mustWrite(t, filepath.Join(tmpfs, "precious"), "x")
		mustWrite(t, filepath.Join(theirs, "precious"), "x")
		must(t, os.Mkdir(bound, 0o755))
		must(t, unix.Mount(theirs, bound, "", unix.MS_BIND, ""))
		must(t, os.Chmod(theirs, 0o500))

		if err := d.Remove(t.Context()); !errors.Is(err, ErrMountInside) {
			t.Errorf("got %v, want %v", err, ErrMountInside)
		}
		if !exists(filepath.Join(tmpfs, "precious")) || !exists(filepath.Join(theirs, "precious")) {
			t.Error("a file of a mounted file system was removed")
		}
		for _, root := range []string{tmpfs, theirs} {
			info, err := os.Stat(root)
			if must(t, err); info.Mode().Perm() != 0o500 {
				t.Errorf("the mode of a mounted directory is now %v", info.Mode())
			}
		}
		if exists(filepath.Join(d.Path(), "ours")) {
			t.Error("what is ours was left")
		}
		must(t, unix.Unmount(bound, 0))
		must(t, unix.Unmount(tmpfs, 0))
		must(t, d.Remove(t.Context()))
		if exists(filepath.Join(path, ".storagebench")) {
			t.Error("data is left after the mounts were removed")
		}
	})
}

func TestSweep(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	must(t, Sweep(t.Context(), mount, testUID, testOwner().RunUID)) // nothing to remove
	missing := Mount{Path: filepath.Join(path, "missing")}
	if err := Sweep(t.Context(), missing, testUID, testOwner().RunUID); !errors.Is(err, ErrMissing) {
		t.Errorf("a missing target: %v", err)
	}
	for index := range 3 {
		mustWrite(t, filepath.Join(mustCreate(t, path, index).Path(), "f"), "x")
	}
	otherLayout := Location{BenchmarkUID: testUID, DatasetHash: "ffff", Client: 0}
	d, err := Create(mount, otherLayout, testOwner())
	must(t, err)
	must(t, d.Close())
	stranger := Location{BenchmarkUID: "other-benchmark", DatasetHash: testHash}
	kept, err := Create(mount, stranger, Owner{BenchmarkUID: "other-benchmark"})
	must(t, err)
	mustWrite(t, filepath.Join(kept.Path(), "f"), "x")
	// A client that is killed while it creates its parents leaves these files.
	mustWrite(t, filepath.Join(path, ".storagebench/.tmp-"+testUID+"-abc/owner.json"), "{")
	mustWrite(t, filepath.Join(path, ".storagebench", testUID, ".tmp-"+testUID+"-abd/owner.json"), "{")

	must(t, Sweep(t.Context(), mount, testUID, testOwner().RunUID))
	must(t, Sweep(t.Context(), mount, testUID, testOwner().RunUID))
	entries, err := os.ReadDir(filepath.Join(path, ".storagebench"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "other-benchmark" {
		t.Errorf("left: %v, %v", entries, err)
	}
	if !exists(filepath.Join(kept.Path(), "f")) {
		t.Error("another benchmark's data is gone")
	}
	must(t, kept.Remove(t.Context()))
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("the base is left")
	}
}

func TestSweepLeavesUnknownFiles(t *testing.T) {
	path := t.TempDir()
	d := mustCreate(t, path, 0)
	unknown := []string{
		filepath.Join(path, ".storagebench", testUID, "notes.txt"),
		filepath.Join(path, ".storagebench", testUID, testHash, "client-x", "f"),
		filepath.Join(path, ".storagebench", testUID, testHash, "client-01", "f"),
	}
	for _, file := range unknown {
		mustWrite(t, file, "x")
	}
	must(t, Sweep(t.Context(), mustProve(t, path), testUID, testOwner().RunUID))
	if exists(d.Path()) {
		t.Error("the client's data is left")
	}
	for _, file := range unknown {
		if !exists(file) {
			t.Errorf("%s is gone", file)
		}
	}
	if !exists(filepath.Join(path, ".storagebench", testUID, "owner.json")) {
		t.Error("the ownership file is gone although the directory stays")
	}
}

// TestSweepOfAnotherDirectory checks that a sweep removes nothing if the target's directory was replaced, and that it
// returns ErrChanged.
func TestSweepOfAnotherDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "target")
	must(t, os.Mkdir(path, 0o755))
	mount := mustProve(t, path)
	must(t, mustCreate(t, path, 0).Close())
	must(t, os.Rename(path, path+".old"))
	must(t, os.Mkdir(path, 0o755))
	for _, when := range []string{"empty", "with data of the same benchmark"} {
		if err := Sweep(t.Context(), mount, testUID, testOwner().RunUID); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: got %v, want %v", when, err, ErrChanged)
		}
		mustCreate(t, path, 0)
	}
	for _, at := range []string{path, path + ".old"} {
		if !exists(filepath.Join(at, client(0).Path())) {
			t.Errorf("the data in %s is gone", at)
		}
	}
}

// TestSweepSparesAHolder checks that a sweep spares data that an agent of another run holds. A lock that is free proves
// that the agent has exited. Without locks, only a sweep by the agent's own run removes its data.
func TestSweepSparesAHolder(t *testing.T) {
	for name, noLocks := range map[string]bool{"locks": false, "no locks": true} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			if noLocks {
				if os.Getuid() != 0 {
					t.Skip("only root may mount")
				}
				path = burstfs.Mount(t, model.Config{NoLocks: true}, "").Path()
			}
			mount := mustProve(t, path)
			held, hold := mustTake(t, mount, "other")
			file := filepath.Join(held.Path(), "data")
			mustWrite(t, file, "x")
			must(t, held.SetLaidOut(LaidOut{"data": {Bytes: 1}}))
			spared := func(when string) {
				t.Helper()
				own := mustCreate(t, path, 1)
				// A client that was killed right before it removed this directory leaves it. It must not hide the holder.
				must(t, os.MkdirAll(filepath.Join(path, baseName, testUID, "ffff"), 0o700))
				err := Sweep(t.Context(), mount, testUID, "run-uid-2")
				if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "pod-other") {
					t.Errorf("%s: %v", when, err)
				}
				if known, err := held.LaidOut(); err != nil || len(known) != 1 || !exists(file) {
					t.Errorf("%s: its record is %v, %v, its file exists: %t", when, known, err, exists(file))
				}
				if exists(own.Path()) {
					t.Errorf("%s: another client's data is left", when)
				}
			}
			spared("while it lives")
			hold.Release()
			run := "run-uid-2"
			if noLocks {
				spared("after it has exited")
				run = testHolder("other").RunUID
			}
			must(t, Sweep(t.Context(), mount, testUID, run))
			if exists(filepath.Join(path, baseName)) {
				t.Error("something is left")
			}
		})
	}
}

func TestRemoveStopsWithItsContext(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	mustWrite(t, filepath.Join(d.Path(), "f"), "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Remove(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A client that is killed while it writes its first ownership file leaves a scratch file in a scratch directory. The
// sweep removes both, but no file that a person has put there.
func TestSweepRemovesLitter(t *testing.T) {
	for name, file := range map[string]string{"a scratch file": scratchName(testUID), "a person's file": "notes.txt"} {
		path := t.TempDir()
		mount := mustProve(t, path)
		must(t, mustCreate(t, path, 0).Close())
		litter := filepath.Join(path, baseName, testUID, scratchName(testUID), file)
		mustWrite(t, litter, "{")
		must(t, Sweep(t.Context(), mount, testUID, testHolder("x").RunUID))
		if kept := name == "a person's file"; exists(litter) != kept || exists(filepath.Join(path, baseName)) != kept {
			t.Errorf("%s: it exists: %t, the base directory exists: %t", name, exists(litter), exists(filepath.Join(path, baseName)))
		}
	}
}
