package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// inPod holds the expectations that a pod has of the mount of its claim.
var inPod = Expectation{MustBeMountPoint: true, NotRootFilesystem: true}

func TestCheckFolder(t *testing.T) {
	for folder, good := range map[string]bool{
		"": true, "bench": true, "bench/a": true, ".hidden/..a": true,
		"/bench": false, "..": false, "a/../b": false, "a/./b": false, ".": false, "a//b": false, "a/": false, "../a": false,
	} {
		if err := CheckFolder(folder); (err == nil) != good {
			t.Errorf("%q: %v", folder, err)
		}
		if _, err := (Place{Path: t.TempDir(), Folder: folder}).Make(); (err == nil) != good {
			t.Errorf("made %q: %v", folder, err)
		}
	}
}

// TestPlace checks that the folder of a target is created once and kept, and that all data is below it.
func TestPlace(t *testing.T) {
	volume := t.TempDir()
	place := Place{Path: volume, Folder: "bench/a"}
	seen, err := place.Look()
	must(t, err)
	if exists(filepath.Join(volume, "bench")) || seen.TotalBytes == 0 || seen.FilesystemType == "" {
		t.Errorf("a look made the folder, or saw nothing: %+v", seen)
	}
	if _, err := place.Find(); !errors.Is(err, ErrMissing) {
		t.Errorf("found %v", err)
	}
	for range 2 {
		made, err := place.Make()
		must(t, err)
		if made.Path != filepath.Join(volume, "bench/a") || made.IsMountPoint || made.MountPoint != seen.MountPoint {
			t.Errorf("got %+v", made)
		}
		data, err := Create(made, client(0), testOwner())
		must(t, err)
		if want := filepath.Join(volume, "bench/a", client(0).Path()); data.Path() != want {
			t.Errorf("data at %s, want %s", data.Path(), want)
		}
		must(t, errors.Join(data.Remove(t.Context()), data.Close()))
	}
	if entries, err := os.ReadDir(filepath.Join(volume, "bench/a")); err != nil || len(entries) != 0 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if _, err := place.Find(); err != nil {
		t.Error(err)
	}
}

// TestPlaceRefuses checks that anything but a directory at the folder's path is reported, and is not replaced, followed
// or entered.
func TestPlaceRefuses(t *testing.T) {
	elsewhere := t.TempDir()
	volume := t.TempDir()
	mustWrite(t, filepath.Join(volume, "file"), "x")
	must(t, os.Symlink(elsewhere, filepath.Join(volume, "link")))
	must(t, os.Symlink("nowhere", filepath.Join(volume, "dangling")))
	must(t, unix.Mkfifo(filepath.Join(volume, "pipe"), 0o600))
	for folder, want := range map[string]error{
		"file": ErrNotDirectory, "file/a": ErrNotDirectory, "link": ErrSymlink, "link/a": ErrSymlink,
		"dangling": ErrSymlink, "pipe": ErrNotDirectory,
	} {
		for name, do := range map[string]func(Place) (Mount, error){"Look": Place.Look, "Find": Place.Find, "Make": Place.Make} {
			_, err := do(Place{Path: volume, Folder: folder})
			var problem *Problem
			if !errors.Is(err, want) || !errors.As(err, &problem) || problem.Remedy == "" {
				t.Errorf("%s %s: %v", name, folder, err)
			}
		}
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 0 {
		t.Errorf("a link was followed: %v, %v", entries, err)
	}
}

// TestPlaceProvesTheVolume checks that the volume is checked before anything is created on it.
func TestPlaceProvesTheVolume(t *testing.T) {
	volume := t.TempDir()
	if _, err := (Place{Path: volume, Folder: "bench", Expect: inPod}).Make(); !errors.Is(err, ErrNotMountPoint) || exists(filepath.Join(volume, "bench")) {
		t.Errorf("got %v", err)
	}
	if _, err := (Place{Path: filepath.Join(volume, "missing"), Folder: "bench"}).Make(); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
}

// TestPlaceTogether checks that clients can create the same folders at the same time.
func TestPlaceTogether(t *testing.T) {
	volume := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 50 {
				if _, err := (Place{Path: volume, Folder: fmt.Sprintf("a%d/b/c", i)}).Make(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestFolderMode checks that a new folder inherits its parent's group and is open to that group, whatever the umask.
func TestFolderMode(t *testing.T) {
	volume := t.TempDir()
	must(t, os.Chmod(volume, 0o770|fs.ModeSetgid))
	old := unix.Umask(0o077)
	_, err := Place{Path: volume, Folder: "a/b"}.Make()
	unix.Umask(old)
	must(t, err)
	info, err := os.Stat(filepath.Join(volume, "a/b"))
	must(t, err)
	if want := fs.ModeDir | fs.ModeSetgid | 0o770; info.Mode() != want {
		t.Errorf("mode %v, want %v", info.Mode(), want)
	}
}

// TestPlacePermission checks that a permission error names the user and groups of the process and the owner of the
// path, and that an accessible folder can be used even if the root of the volume is not writable.
func TestPlacePermission(t *testing.T) {
	withoutRoot(t, func() {
		volume := t.TempDir()
		must(t, os.Mkdir(filepath.Join(volume, "open"), 0o770))
		must(t, os.Mkdir(filepath.Join(volume, "closed"), 0o550))
		must(t, os.Chmod(volume, 0o550))
		t.Cleanup(func() { _ = os.Chmod(volume, 0o770) }) // so that it can be removed
		if _, err := (Place{Path: volume, Folder: "open"}).Make(); err != nil {
			t.Error(err)
		}
		who := fmt.Sprintf("this process runs as user %d, group", os.Geteuid())
		for folder, whose := range map[string]string{
			"":       volume + " permission denied (it has owner",
			"closed": volume + "/closed permission denied (it has owner",
			"new":    volume + " permission denied (it has owner",
		} {
			_, err := Place{Path: volume, Folder: folder}.Look()
			if !errors.Is(err, ErrPermission) || !strings.HasPrefix(err.Error(), whose) || !strings.Contains(err.Error(), who) ||
				!strings.Contains(err.Error(), "and mode 0550") {
				t.Errorf("%q: %v", folder, err)
			}
		}
		_, err := Place{Path: volume, Folder: "new"}.Make()
		if want := volume + "/new permission denied (" + volume + " has owner"; !errors.Is(err, ErrPermission) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// TestProveBoundFolder checks that a local-path or hostPath claim is accepted. It is a folder of the node's root disk
// that is bound into the container: in the container it is a mount point and not on the container's root file system.
func TestProveBoundFolder(t *testing.T) {
	withMounts(t, func() {
		node := filepath.Join(t.TempDir(), "claims/pvc-1")
		must(t, os.MkdirAll(node, 0o770))
		container := filepath.Join(t.TempDir(), "container")
		mountTmpfs(t, container, 0, "size=8m")
		inside := filepath.Join(container, "data/data")
		must(t, os.MkdirAll(inside, 0o755))
		must(t, unix.Mount(node, inside, "", unix.MS_BIND, ""))
		must(t, os.MkdirAll(filepath.Join(container, "proc"), 0o755))
		must(t, unix.Mount("/proc", filepath.Join(container, "proc"), "", unix.MS_BIND|unix.MS_REC, ""))
		t.Cleanup(func() {
			_ = unix.Unmount(inside, unix.MNT_DETACH)
			_ = unix.Unmount(filepath.Join(container, "proc"), unix.MNT_DETACH)
		})
		outside, err := os.Open("/")
		must(t, err)
		must(t, unix.Chroot(container))
		must(t, os.Chdir("/"))
		t.Cleanup(func() { // back to the real root for the other cleanups
			must(t, outside.Chdir())
			must(t, unix.Chroot("."))
			must(t, outside.Close())
		})
		mount, err := Place{Path: "/data/data", Expect: inPod, Folder: "bench/a"}.Make()
		must(t, err)
		if mount.Path != "/data/data/bench/a" || mount.MountPoint != "/data/data" || mount.IsRoot {
			t.Errorf("got %+v", mount)
		}
		if mount, err := ProveMount("/data/data", inPod); err != nil || !mount.IsMountPoint {
			t.Errorf("got %+v, %v", mount, err)
		}
		// Without the volume, the path is on the container's own disk.
		must(t, os.MkdirAll("/data/other", 0o755))
		if _, err := (Place{Path: "/data/other", Expect: inPod, Folder: "bench"}).Make(); !errors.Is(err, ErrNotMountPoint) {
			t.Errorf("got %v", err)
		}
		if _, err := ProveMount("/data/other", Expectation{NotRootFilesystem: true}); !errors.Is(err, ErrRootFilesystem) {
			t.Errorf("got %v", err)
		}
		// A mount below the volume is not the volume.
		must(t, os.MkdirAll("/data/data/bench/inner", 0o755))
		must(t, unix.Mount("/data/other", "/data/data/bench/inner", "", unix.MS_BIND, ""))
		if _, err := (Place{Path: "/data/data", Expect: inPod, Folder: "bench/inner"}).Make(); !errors.Is(err, ErrMountInside) {
			t.Errorf("got %v", err)
		}
		_ = unix.Unmount("/data/data/bench/inner", unix.MNT_DETACH)
	})
}
