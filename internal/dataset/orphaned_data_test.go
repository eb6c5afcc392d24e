package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const installation = "installation-1"

// leave creates a client's directory with a file and releases it, like an agent that has exited.
func leave(t *testing.T, mount Mount, location Location, change func(*Owner)) string {
	t.Helper()
	owner := Owner{BenchmarkUID: location.BenchmarkUID, Benchmark: "b", Run: "b-1", RunUID: "run-1", Installation: installation}
	if change != nil {
		change(&owner)
	}
	d, hold, err := Take(t.Context(), mount, location, owner, testHolder("gone"), func(Holder) {})
	must(t, err)
	mustWrite(t, filepath.Join(d.Path(), "data"), "x")
	must(t, errors.Join(d.SetLaidOut(LaidOut{"data": {Bytes: 1, Content: "abc"}}), d.Close()))
	hold.Release()
	return d.Path()
}

// TestRemoveLeft checks that the data of a deleted benchmark is removed, unless it is held, was kept on purpose or was
// created by another installation. Data of other benchmarks is never removed.
func TestRemoveLeft(t *testing.T) {
	gone := Location{BenchmarkUID: "gone", DatasetHash: "aaaa"}
	for name, test := range map[string]struct {
		arrange func(*testing.T, Mount)
		behind  OrphanFilter
		removed int
		stays   string
		// left lists the remaining data files, relative to the directory of the deleted benchmark.
		left []string
	}{
		"all of it": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				leave(t, mount, gone, nil)
				leave(t, mount, Location{BenchmarkUID: "gone", DatasetHash: "bbbb", Client: 3}, nil)
			},
			removed: 2,
		},
		"another installation": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				leave(t, mount, gone, func(o *Owner) { o.Installation = "installation-2" })
			},
			stays: "its ownership file names another installation or none", left: []string{"aaaa/client-0/data"},
		},
		"one that says nothing": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				leave(t, mount, gone, func(o *Owner) { o.Installation = "" })
			},
			behind: OrphanFilter{Installation: "-"}, stays: "its ownership file names another installation or none", left: []string{"aaaa/client-0/data"},
		},
		"kept on purpose": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				leave(t, mount, gone, func(o *Owner) { o.Keep = true })
				leave(t, mount, Location{BenchmarkUID: "gone", DatasetHash: "bbbb"}, nil)
			},
			removed: 1, stays: "dataPolicy: Retain", left: []string{"aaaa/client-0/data"},
		},
		"kept, and its own benchmark keeps nothing any more": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				leave(t, mount, gone, func(o *Owner) { o.Keep = true; o.Installation = "" })
			},
			behind: OrphanFilter{Own: true, Kept: true}, removed: 1,
		},
		"its own, but for what the run has": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				leave(t, mount, gone, nil)
				leave(t, mount, Location{BenchmarkUID: "gone", DatasetHash: "aaaa", Client: 4}, nil)
				leave(t, mount, Location{BenchmarkUID: "gone", DatasetHash: "bbbb"}, nil)
			},
			behind:  OrphanFilter{Own: true, Spare: func(hash string, client int) bool { return hash == "aaaa" && client < 4 }},
			removed: 2, left: []string{"aaaa/client-0/data"},
		},
		"in use": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				leave(t, mount, gone, nil)
				_, hold, err := TakeOver(t.Context(), mount, gone, testHolder("living"))
				must(t, err)
				t.Cleanup(hold.Release)
			},
			stays: "pod-living", left: []string{"aaaa/client-0/data"},
		},
		"no owner": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				must(t, os.Remove(filepath.Join(filepath.Dir(leave(t, mount, gone, nil)), ownerFile)))
			},
			left: []string{"aaaa/client-0/data"},
		},
		"a client was killed right before it removed the dataset's directory": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				must(t, os.RemoveAll(leave(t, mount, gone, nil)))
				hash := filepath.Join(mount.Path, baseName, "gone", "aaaa")
				must(t, errors.Join(os.RemoveAll(hash), os.Mkdir(hash, directoryMode)))
			},
		},
		"a client was killed right before it removed the benchmark's directory": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				must(t, os.Mkdir(filepath.Join(mount.Path, baseName, "gone"), directoryMode))
			},
		},
		"a client was killed while it marked the data as kept": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				mustWrite(t, filepath.Join(filepath.Dir(leave(t, mount, gone, nil)), scratchName("gone")), "{")
			},
			removed: 1,
		},
		"a person's file among it": {
			arrange: func(t *testing.T, mount Mount) {
				t.Helper()
				mustWrite(t, filepath.Join(filepath.Dir(leave(t, mount, gone, nil)), "notes.txt"), "mine")
			},
			removed: 1, left: []string{"aaaa/notes.txt"},
		},
		"nothing": {arrange: func(*testing.T, Mount) {}},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			mount := mustProve(t, path)
			other := leave(t, mount, Location{BenchmarkUID: "alive", DatasetHash: "aaaa"}, nil)
			test.arrange(t, mount)
			behind := test.behind
			behind.BenchmarkUID, behind.Holder = "gone", testHolder("remover")
			if behind.Installation == "" {
				behind.Installation = installation
			}
			behind.Installation = strings.TrimPrefix(behind.Installation, "-")
			for range 2 { // the second call changes nothing
				result, err := RemoveOrphans(t.Context(), mount, behind)
				if name == "no owner" && errors.Is(err, ErrForeign) {
					err = nil
				}
				if err != nil || result.Removed != test.removed || !strings.Contains(strings.Join(result.Stays, "\n"), test.stays) ||
					(len(result.Stays) > 0) != (test.stays != "") {
					t.Errorf("got %+v, %v; want %d removed, %q", result, err, test.removed, test.stays)
				}
				test.removed = 0
			}
			var left []string
			_ = filepath.WalkDir(filepath.Join(path, baseName, "gone"), func(at string, entry os.DirEntry, err error) error {
				if err == nil && !entry.IsDir() && !strings.HasSuffix(at, ".json") {
					relative, _ := filepath.Rel(filepath.Join(path, baseName, "gone"), at)
					left = append(left, relative)
				}
				return nil
			})
			if !slices.Equal(left, test.left) {
				t.Errorf("left: %q, want %q", left, test.left)
			}
			if len(test.left) == 0 && exists(filepath.Join(path, baseName, "gone")) {
				t.Error("its directory is left")
			}
			if !exists(filepath.Join(other, "data")) {
				t.Error("another benchmark's data is gone")
			}
		})
	}
}

// TestOrphansBesideARemoval checks that a client can look for orphaned data while another client removes its own: a
// half-removed directory is not reported as foreign.
func TestOrphansBesideARemoval(t *testing.T) {
	mount := mustProve(t, t.TempDir())
	for range 100 {
		d, hold := mustTake(t, mount, "one")
		removed := make(chan error)
		go func() { removed <- d.Remove(t.Context()) }()
		for range 10 {
			result, err := RemoveOrphans(t.Context(), mount, OrphanFilter{BenchmarkUID: testUID, Own: true, Holder: testHolder("two"),
				Spare: func(string, int) bool { return true }})
			if err != nil || len(result.Stays) > 0 {
				t.Fatalf("got %+v, %v", result, err)
			}
		}
		must(t, errors.Join(<-removed, d.Close()))
		hold.Release()
		if entries, err := os.ReadDir(mount.Path); err != nil || len(entries) > 0 {
			t.Fatalf("left: %v, %v", entries, err)
		}
	}
}

// TestOwners checks that Owners lists the benchmarks of the same installation except the caller's own.
func TestOwners(t *testing.T) {
	mount := mustProve(t, t.TempDir())
	if found, err := Owners(mount, installation, "me"); err != nil || len(found) > 0 {
		t.Errorf("of nothing: %v, %v", found, err)
	}
	for _, uid := range []string{"me", "b", "a"} {
		leave(t, mount, Location{BenchmarkUID: uid, DatasetHash: "aaaa"}, nil)
	}
	leave(t, mount, Location{BenchmarkUID: "foreign", DatasetHash: "aaaa"}, func(o *Owner) { o.Installation = "installation-2" })
	leave(t, mount, Location{BenchmarkUID: "unknown", DatasetHash: "aaaa"}, func(o *Owner) { o.Installation = "" })
	must(t, os.MkdirAll(filepath.Join(mount.Path, baseName, "nobody"), 0o750))
	if found, err := Owners(mount, installation, "me"); err != nil || !slices.Equal(found, []string{"a", "b"}) {
		t.Errorf("got %v, %v", found, err)
	}
	if found, err := Owners(mount, "", "me"); err != nil || len(found) > 0 {
		t.Errorf("without an installation: %v, %v", found, err)
	}
}

// TestKeep checks that Keep is recorded in the ownership file.
func TestKeep(t *testing.T) {
	mount := mustProve(t, t.TempDir())
	d, _ := mustTake(t, mount, "one")
	for range 2 {
		must(t, d.Keep())
		owner, err := ownerOfHash(d)
		if err != nil || !owner.Keep || owner.BenchmarkUID != testUID || owner.Run != testOwner().Run {
			t.Errorf("got %+v, %v", owner, err)
		}
	}
	must(t, d.Remove(t.Context()))
}

// TestKeepByAllClients checks that all clients of a volume can mark their common data as kept at the same time.
func TestKeepByAllClients(t *testing.T) {
	for range 20 {
		path := t.TempDir()
		var clients []*Dataset
		for index := range 8 {
			clients = append(clients, mustCreate(t, path, index))
		}
		var all sync.WaitGroup
		for _, d := range clients {
			all.Go(func() {
				if err := d.Keep(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if owner, err := ownerOfHash(clients[0]); err != nil || !owner.Keep {
			t.Errorf("got %+v, %v", owner, err)
		}
		if left, err := filepath.Glob(filepath.Join(path, baseName, testUID, testHash, "*.*")); err != nil || len(left) != 1 {
			t.Errorf("beside the clients: %v, %v", left, err)
		}
	}
}

func ownerOfHash(d *Dataset) (owner Owner, err error) {
	err = d.withParent(func(hash *directory) error {
		owner, err = readOwner(hash)
		return err
	})
	return owner, err
}
