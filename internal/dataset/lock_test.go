package dataset

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLock(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	first, err := AcquireLock(mount, testOwner())
	must(t, err)

	second := testOwner()
	second.Run, second.RunUID = "quick-2", "run-uid-2"
	_, err = AcquireLock(mount, second)
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v, want %v", err, ErrLocked)
	}
	for _, part := range []string{`"quick-1"`, "run-uid-1", `"quick"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
	other := Owner{BenchmarkUID: "other", Run: "other-1"}
	elsewhere, err := AcquireLock(mount, other)
	must(t, err)
	must(t, elsewhere.Release())

	must(t, first.Release())
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("an unused lock leaves directories behind")
	}
	again, err := AcquireLock(mount, second)
	must(t, err)
	must(t, again.Release())
}

// TestLockSurvivesTheRemovalOfTheData checks that the removal of the data does not remove a lock that the runner still
// holds. Otherwise another run could get the lock, and the runner would then remove that run's data.
func TestLockSurvivesTheRemovalOfTheData(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	lock, err := AcquireLock(mount, testOwner())
	must(t, err)
	d := mustCreate(t, path, 0)
	must(t, d.Remove(t.Context()))
	must(t, Sweep(t.Context(), mount, testUID, testOwner().RunUID))
	if _, err := AcquireLock(mount, testOwner()); !errors.Is(err, ErrLocked) {
		t.Errorf("after the data is removed: %v, want %v", err, ErrLocked)
	}
	must(t, lock.Release())
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("something is left")
	}
}

// TestReleaseSparesTheNextLock checks that a run whose lock file was removed does not remove the lock of the next run.
// An agent that believes its conductor dead may remove the file.
func TestReleaseSparesTheNextLock(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	first, err := AcquireLock(mount, testOwner())
	must(t, err)
	must(t, mustCreate(t, path, 0).RemoveWithLock(t.Context()))
	if exists(filepath.Join(path, ".storagebench")) {
		t.Fatal("the last agent of a dead run leaves files")
	}
	next, err := AcquireLock(mount, testOwner())
	must(t, err)
	must(t, first.Release())
	if _, err := AcquireLock(mount, testOwner()); !errors.Is(err, ErrLocked) {
		t.Errorf("beside the next run: %v, want %v", err, ErrLocked)
	}
	must(t, next.Release())
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("something is left")
	}
}

// TestRemoveUnlocked checks that a directory is removed if its lock file is gone, as after a removal that NFS delayed,
// and kept if its lock is held.
func TestRemoveUnlocked(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	top, err := openTop(mount)
	must(t, err)
	defer top.close()
	lock, err := AcquireLock(mount, testOwner())
	must(t, err)
	must(t, removeUnlocked(top, testOwner().BenchmarkUID))
	held := filepath.Join(path, ".storagebench", testOwner().BenchmarkUID, lockFile)
	if !exists(held) {
		t.Error("the directory of a lock that is held was removed")
	}
	must(t, os.Remove(held))
	must(t, removeUnlocked(top, testOwner().BenchmarkUID))
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("an unused directory is kept")
	}
	must(t, lock.Release())
}

// TestLockIsInherited checks that a child process that inherited the lock holds it after the runner has died.
func TestLockIsInherited(t *testing.T) {
	mount := mustProve(t, t.TempDir())
	lock, err := AcquireLock(mount, testOwner())
	must(t, err)
	child := exec.CommandContext(t.Context(), "sh", "-c", "echo ready; read line")
	child.ExtraFiles = []*os.File{lock.File()}
	stdin, err := child.StdinPipe()
	must(t, err)
	stdout, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	must(t, lock.file.Close()) // as if the runner were killed
	if _, err := AcquireLock(mount, testOwner()); !errors.Is(err, ErrLocked) {
		t.Errorf("with a living child: %v", err)
	}
	must(t, stdin.Close())
	_ = child.Wait()
	again, err := AcquireLock(mount, testOwner())
	must(t, err)
	must(t, again.Release())
}
