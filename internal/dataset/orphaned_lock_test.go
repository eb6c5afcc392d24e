package dataset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// The data of a local run is removed only if the run's lock file shows that the run has ended. Otherwise the result
// names the directory and the reason.
func TestRemoveOrphansOfLocalRuns(t *testing.T) {
	for name, test := range map[string]struct {
		arrange func(t *testing.T, lock *Lock)
		removed int
		reason  string
	}{
		"the run has ended": {
			arrange: func(t *testing.T, lock *Lock) { t.Helper(); must(t, lock.file.Close()) }, // as if the run was killed
			removed: 1,
		},
		"the run has not ended": {
			arrange: func(t *testing.T, lock *Lock) { t.Helper(); t.Cleanup(func() { must(t, lock.Release()) }) },
			reason:  "its run has not ended",
		},
		"no lock file": {
			arrange: func(t *testing.T, lock *Lock) { t.Helper(); must(t, os.Remove(lock.file.Name())) },
			reason:  "its lock file cannot be opened, so it is unknown whether its run has ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			mount := mustProve(t, path)
			owner := Owner{BenchmarkUID: "gone", Run: "gone-1", RunUID: "run-1", Installation: installation}
			lock, err := AcquireLock(mount, owner)
			must(t, err)
			data := filepath.Join(leave(t, mount, Location{BenchmarkUID: "gone", DatasetHash: "aaaa"}, nil), "data")
			test.arrange(t, lock)
			result, err := RemoveOrphans(t.Context(), mount,
				OrphanFilter{BenchmarkUID: "gone", Installation: installation, Holder: testHolder("remover"), Locked: true})
			must(t, err)
			var stays []string
			if test.reason != "" {
				stays = []string{filepath.Join(path, baseName, "gone") + ": " + test.reason}
			}
			if result.Removed != test.removed || !slices.Equal(result.Stays, stays) {
				t.Errorf("got %+v, want %d removed and %q", result, test.removed, stays)
			}
			if exists(data) != (test.removed == 0) {
				t.Errorf("the data exists: %t", exists(data))
			}
			if test.removed > 0 && exists(filepath.Join(path, baseName)) {
				t.Error("the lock file or a directory is left")
			}
		})
	}
}

// The removal of one client's data removes its holder record too, while another client's data and record stay.
func TestRemovedClientLeavesNoHolderRecord(t *testing.T) {
	mount := mustProve(t, t.TempDir())
	first, _ := mustTake(t, mount, "first")
	second, hold, err := Take(t.Context(), mount, client(1), testOwner(), testHolder("second"), func(Holder) {})
	must(t, err)
	must(t, first.Remove(t.Context()))
	entries, err := os.ReadDir(filepath.Dir(second.Path()))
	must(t, err)
	var left []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "holder-") || entry.IsDir() {
			left = append(left, entry.Name())
		}
	}
	if want := []string{"client-1", "holder-1.json"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	must(t, second.Remove(t.Context()))
	hold.Release()
}

// Without locks, nothing shows that the agent of a holder record is gone. Its directory is taken over by an agent that
// knows it is gone, but not as an unused directory. An agent's own directory, or one without a record, is unused.
func TestTakeUnusedWithoutLocks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may mount")
	}
	mount := mustProve(t, burstfs.Mount(t, model.Config{NoLocks: true}, "").Path())
	old, _ := mustTake(t, mount, "old")
	mustWrite(t, filepath.Join(old.Path(), "data"), "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // TakeUnused tries once
	if _, _, err := TakeUnused(ctx, mount, client(0), testHolder("new")); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "pod-old") {
		t.Errorf("another agent's directory as an unused one: %v", err)
	}
	result, err := RemoveOrphans(t.Context(), mount, OrphanFilter{BenchmarkUID: testUID, Own: true, Holder: testHolder("new")})
	if err != nil || result.Removed != 0 || len(result.Stays) != 1 || !strings.Contains(result.Stays[0], "does not support locks") {
		t.Errorf("the removal of orphaned data: %+v, %v", result, err)
	}
	if !exists(filepath.Join(old.Path(), "data")) {
		t.Fatal("the data of another agent is gone")
	}
	for _, take := range []func(context.Context, Mount, Location, Holder) (*Dataset, *Hold, error){TakeOver, TakeUnused} {
		taken, hold, err := take(ctx, mount, client(0), testHolder("new"))
		must(t, err)
		must(t, taken.ConfirmMark(hold))
		must(t, taken.Close())
		hold.Release()
	}
}
