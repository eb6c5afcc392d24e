package filegen

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// TestNoRoom checks that no file is created if there is not enough space for all files. The error contains both
// numbers.
func TestNoRoom(t *testing.T) {
	directory := t.TempDir()
	if err := unix.Mount("none", directory, "tmpfs", 0, "size=1m,nr_inodes=50"); err != nil {
		t.Skipf("only root may mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
	t.Chdir(directory)
	for want, options := range map[string]Options{
		"too few free inodes: 102 files are needed":           {Directory: "a", Count: 100, TotalBytes: 1000, Extensions: []string{"dat"}, Parallel: 1},
		"2000000 bytes are needed, but only 1048576 are free": {Directory: "a", Count: 2, TotalBytes: 2_000_000, Extensions: []string{"dat"}, Parallel: 1},
	} {
		if _, err := Make(t.Context(), options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
			t.Errorf("there is %v, %v", entries, err)
		}
	}
	small := Options{Directory: "a", Count: 40, TotalBytes: 400_000, Extensions: []string{"dat"}, Parallel: 1}
	for range 2 {
		if _, err := Make(t.Context(), small); err != nil {
			t.Error(err)
		}
	}
}

// unreadable is a file system with one directory that cannot be listed.
type unreadable struct {
	fstest.MapFS
	directory string
}

func (u unreadable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == u.directory {
		return nil, fs.ErrPermission
	}
	return u.MapFS.ReadDir(name)
}

// TestLeftBesideAnUnreadableDirectory checks that an unreadable directory does not hide other files.
func TestLeftBesideAnUnreadableDirectory(t *testing.T) {
	root := unreadable{directory: "data/a", MapFS: fstest.MapFS{
		"data/a/1": {Data: []byte("unseen")}, "data/b/1": {Data: []byte("four")}, "data/c": {Data: []byte("three")},
	}}
	if files, bytes := leftoverSize(root, "data"); files != 2 || bytes != 9 {
		t.Errorf("%d files, %d bytes", files, bytes)
	}
	if files, bytes := leftoverSize(root, "none"); files != 0 || bytes != 0 {
		t.Errorf("nothing has %d files, %d bytes", files, bytes)
	}
}
