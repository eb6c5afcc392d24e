package dataset

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRenameFailed checks that a rename that the server denies counts as a lost race, which is retried, if another
// client has created the directory.
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

// TestStaleIsTransient checks that an operation is retried if NFS reports a stale handle because another machine
// removed the directory, and that a handle that stays stale is an error.
func TestStaleIsTransient(t *testing.T) {
	t.Parallel()
	stale := classify("dir", "list", &fs.PathError{Op: "openat", Path: ".", Err: unix.ESTALE})
	for staleCalls, test := range map[int]struct {
		err   error
		calls int
	}{1: {nil, 2}, attempts: {stale, attempts}} {
		calls := 0
		err := retryChanged(func() error {
			calls++
			if calls <= staleCalls {
				return stale
			}
			return nil
		})
		if !errors.Is(err, test.err) || calls != test.calls {
			t.Errorf("stale in %d calls: %v after %d calls, want %v after %d", staleCalls, err, calls, test.err, test.calls)
		}
	}
}
