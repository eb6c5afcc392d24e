package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProveMountRefusesBeforeAnyHarm(t *testing.T) {
	directory := t.TempDir()
	mustWrite(t, filepath.Join(directory, "file"), "x")
	if err := os.Symlink(directory, filepath.Join(directory, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(directory, "dangling")); err != nil {
		t.Fatal(err)
	}
	found := mustProve(t, directory)
	tests := map[string]struct {
		path   string
		expect Expectation
		want   error
	}{
		"missing":          {path: filepath.Join(directory, "a/b"), want: ErrMissing},
		"empty":            {path: "", want: ErrMissing},
		"file":             {path: filepath.Join(directory, "file"), want: ErrNotDirectory},
		"below a file":     {path: filepath.Join(directory, "file/x"), want: ErrNotDirectory},
		"symlink":          {path: filepath.Join(directory, "link"), want: ErrSymlink},
		"symlink, slashed": {path: filepath.Join(directory, "link") + "/", want: ErrSymlink},
		"dangling symlink": {path: filepath.Join(directory, "dangling"), want: ErrSymlink},
		"not a mount":      {path: directory, expect: Expectation{MustBeMountPoint: true}, want: ErrNotMountPoint},
		"root":             {path: "/", expect: Expectation{NotRootFilesystem: true}, want: ErrRootFilesystem},
		"other device":     {path: directory, expect: Expectation{Device: found.Device + 1, Inode: found.Inode}, want: ErrChanged},
		"other inode":      {path: directory, expect: Expectation{Device: found.Device, Inode: found.Inode + 1}, want: ErrChanged},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ProveMount(test.path, test.expect)
			var problem *Problem
			if !errors.Is(err, test.want) || !errors.As(err, &problem) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if problem.Remedy == "" {
				t.Errorf("%v names no remedy", err)
			}
		})
	}
	_, err := ProveMount(filepath.Join(directory, "a"), Expectation{})
	if want := directory + "/a does not exist; create it, or mount the volume there first"; err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if exists(filepath.Join(directory, "a")) {
		t.Error("looking created a directory")
	}
	if _, err := ProveMount(directory, Expectation{Device: found.Device, Inode: found.Inode}); err != nil {
		t.Errorf("the directory as it was planned for: %v", err)
	}
}

func TestProveMountPermission(t *testing.T) {
	withoutRoot(t, func() {
		directory := t.TempDir()
		must(t, os.Chmod(directory, 0o500))
		if _, err := ProveMount(directory, Expectation{}); !errors.Is(err, ErrPermission) {
			t.Errorf("got %v, want %v", err, ErrPermission)
		}
	})
}

// TestCreateWithoutPermission checks that a .storagebench directory without write permission is reported as a
// permission error.
func TestCreateWithoutPermission(t *testing.T) {
	withoutRoot(t, func() {
		path := t.TempDir()
		must(t, os.Mkdir(filepath.Join(path, ".storagebench"), 0o500))
		if _, err := Create(mustProve(t, path), client(0), testOwner()); !errors.Is(err, ErrPermission) {
			t.Errorf("got %v, want %v", err, ErrPermission)
		}
	})
}

func TestProveMountDescribes(t *testing.T) {
	withMounts(t, func() {
		outer := filepath.Join(t.TempDir(), "volume with space")
		mountTmpfs(t, outer, unix.MS_NOATIME, "size=8m")
		mount, err := ProveMount(outer, Expectation{MustBeMountPoint: true, NotRootFilesystem: true})
		if err != nil {
			t.Fatal(err)
		}
		if mount.FilesystemType != "tmpfs" || mount.Source != "storagebench-test" || mount.MountPoint != outer ||
			!mount.IsMountPoint || mount.IsRoot || mount.TotalBytes != 8<<20 || mount.AvailableBytes != 8<<20 {
			t.Errorf("got %+v", mount)
		}
		for _, option := range []string{"rw", "noatime", "size=8192k"} {
			if !slices.Contains(mount.Options, option) {
				t.Errorf("options %v lack %s", mount.Options, option)
			}
		}

		// A subdirectory is on the volume but is not a mount point.
		inner := filepath.Join(outer, "bench")
		if err := os.Mkdir(inner, 0o755); err != nil {
			t.Fatal(err)
		}
		if mount := mustProve(t, inner); mount.IsMountPoint || mount.MountPoint != outer {
			t.Errorf("a directory of the volume: got %+v", mount)
		}

		// Mount another volume over the first one. The result must describe the volume that a tool would write to.
		mountTmpfs(t, outer, 0, "size=4m")
		if mount := mustProve(t, outer); mount.TotalBytes != 4<<20 {
			t.Errorf("a covered mount: got %+v", mount)
		}
		var stat syscall.Stat_t
		if err := syscall.Stat(outer, &stat); err != nil || stat.Dev != mustProve(t, outer).Device {
			t.Errorf("device %d, stat says %d (%v)", mustProve(t, outer).Device, stat.Dev, err)
		}
	})
}

func TestProveMountReadOnly(t *testing.T) {
	withMounts(t, func() {
		readOnly := filepath.Join(t.TempDir(), "ro")
		mountTmpfs(t, readOnly, unix.MS_RDONLY, "")
		_, err := ProveMount(readOnly, Expectation{})
		if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "mount it read-write") {
			t.Errorf("a read-only file system: %v", err)
		}

		// This mount is read-only, but its file system is writable.
		bound := t.TempDir()
		if err := unix.Mount(bound, bound, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(bound, unix.MNT_DETACH) })
		if err := unix.Mount("", bound, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := ProveMount(bound, Expectation{}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("a read-only mount: %v", err)
		}
	})
}
