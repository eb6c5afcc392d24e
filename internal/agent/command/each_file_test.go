package command

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
)

// unreadable is a file system in which one directory cannot be listed.
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

// TestEachFileBesideAnUnreadableDirectory checks that an unreadable directory does not hide other files, and that the
// walk stops when the callback returns false.
func TestEachFileBesideAnUnreadableDirectory(t *testing.T) {
	t.Parallel()
	root := unreadable{directory: "a", MapFS: fstest.MapFS{"a/1": {}, "b/1": {}, "c": {}, "d": {}}}
	var seen []string
	eachFile(root, func(path string) bool {
		seen = append(seen, path)
		return len(seen) < 2
	})
	if !slices.Equal(seen, []string{"b/1", "c"}) {
		t.Errorf("saw %v", seen)
	}
}
