package dataset

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRenameFailed checks that a rename that a server denies is retried if another client has created the directory.
func TestRenameFailed(t *testing.T) {
	t.Parallel()
	parent, err := openPath(t.TempDir())
	must(t, err)
	defer parent.close()
	must(t, parent.root.Mkdir("there", 0o700))
	refused := &os.LinkError{Op: "renameat", Old: "scratch", New: "there", Err: unix.EACCES}
	if err := renameFailed(parent, "there", refused); !errors.Is(err, errLostRace) {
		t.Errorf("the directory exists: %v", err)
	}
	if err := renameFailed(parent, "missing", refused); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the directory does not exist: %v", err)
	}
}
