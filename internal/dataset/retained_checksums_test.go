package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// readOnlyCopy mounts a directory read-only at a second path and returns the mount.
func readOnlyCopy(t *testing.T, directory string) Mount {
	t.Helper()
	copied := t.TempDir()
	must(t, unix.Mount(directory, copied, "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(copied, 0)) })
	must(t, unix.Mount("", copied, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	if _, err := ProveMount(copied, Expectation{}); !errors.Is(err, ErrReadOnly) {
		t.Fatalf("it can be written to: %v", err)
	}
	mount, err := ProveMount(copied, Expectation{MustBeMountPoint: true, ReadOnly: true})
	must(t, err)
	return mount
}

// TestOpenKept checks that OpenKept finds laid-out data through a read-only mount: the benchmark's own, or that of
// another benchmark with the same dataset hash. It refuses data without an ownership file and data that an agent holds
// for writing.
func TestOpenKept(t *testing.T) {
	withMounts(t, func() {
		path := t.TempDir()
		mount := mustProve(t, path)
		readable := readOnlyCopy(t, path)
		other := Location{BenchmarkUID: "another-benchmark", DatasetHash: testHash, Client: 0}
		if _, err := OpenKept(readable, other); !errors.Is(err, ErrMissing) {
			t.Errorf("nothing is there: %v", err)
		}
		must(t, os.MkdirAll(filepath.Join(path, baseName, "aaa", testHash, "client-0"), 0o750)) // without an ownership file
		if _, err := OpenKept(readable, other); !errors.Is(err, ErrMissing) {
			t.Errorf("it has no owner: %v", err)
		}
		written, hold := mustTake(t, mount, "writer")
		mustWrite(t, filepath.Join(written.Path(), "data"), "kept")
		must(t, written.SetLaidOut(LaidOut{"data": {Bytes: 4, Content: "abc"}}))
		if _, err := OpenKept(readable, other); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "pod-writer") {
			t.Errorf("it is held: %v", err)
		}
		hold.Release()
		for range 2 { // readers do not exclude each other
			kept, err := OpenKept(readable, other)
			must(t, err)
			t.Cleanup(func() { _ = kept.Close(); kept.Hold.Release() })
			known, err := kept.LaidOut()
			must(t, err)
			if kept.Owner.BenchmarkUID != testUID || known["data"].Content != "abc" || !kept.ReadOnly() {
				t.Errorf("got %+v, %v", kept.Owner, known)
			}
			if err := kept.SetLaidOut(LaidOut{}); !errors.Is(err, unix.EROFS) {
				t.Errorf("it was written: %v", err)
			}
		}
		own := other
		own.BenchmarkUID = testUID
		kept, err := OpenKept(readable, own)
		must(t, err)
		if !strings.Contains(kept.Path(), testUID) {
			t.Errorf("found %s", kept.Path())
		}
		kept.Hold.Release()
		must(t, kept.Close())
		if _, err := OpenFolder(mount); err == nil {
			t.Error("a folder that can be written to is worked in")
		}
	})
}

// TestOpenKeptPassesOverUnusableData checks that data that is held or not laid out does not hide usable data of another
// benchmark.
func TestOpenKeptPassesOverUnusableData(t *testing.T) {
	withMounts(t, func() {
		path := t.TempDir()
		mount := mustProve(t, path)
		readable := readOnlyCopy(t, path)
		written, hold := mustTake(t, mount, "writer")
		must(t, written.SetLaidOut(LaidOut{"data": {Bytes: 4, Content: "abc"}}))
		hold.Release()
		first := Location{BenchmarkUID: "0-first", DatasetHash: testHash, Client: 0}
		owner := Owner{BenchmarkUID: first.BenchmarkUID}
		busy, held, err := Take(t.Context(), mount, first, owner, testHolder("busy"), func(Holder) {})
		must(t, err)
		opens := func(what string) {
			t.Helper()
			kept, err := OpenKept(readable, Location{BenchmarkUID: "reader", DatasetHash: testHash, Client: 0})
			if err != nil || kept.Owner.BenchmarkUID != testUID {
				t.Errorf("%s: got %+v, %v", what, kept, err)
				return
			}
			kept.Hold.Release()
			must(t, kept.Close())
		}
		must(t, busy.SetLaidOut(LaidOut{"data": {Bytes: 4, Content: "abc"}}))
		opens("held")
		must(t, busy.SetLaidOut(nil))
		must(t, busy.Close())
		held.Release()
		opens("not laid out")
	})
}
