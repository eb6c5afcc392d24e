package dataset

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestDeniedBySecurityModule checks that the error for a denial by a kernel security module suggests that cause, and
// that no file server is blamed on a local file system.
func TestDeniedBySecurityModule(t *testing.T) {
	volume := t.TempDir()
	denyNewDirectories(t)
	_, err := (Place{Path: volume, Folder: "new"}).Make()
	if want := volume + "/new permission denied (" + volume + " has owner"; !errors.Is(err, ErrPermission) || !strings.HasPrefix(err.Error(), want) ||
		!strings.Contains(err.Error(), "security modules") {
		t.Errorf("got %v, want %s", err, want)
	}
}

// denyNewDirectories uses Landlock to forbid the creation of directories in this thread, which ends with the test.
func denyNewDirectories(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_DIR}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes.Handled_access_fs), 0)
	if errno != 0 {
		t.Skipf("this kernel has no Landlock: %v", errno)
	}
	t.Cleanup(func() { _ = unix.Close(int(rules)) })
	must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		t.Fatalf("restrict the thread: %v", errno)
	}
}

// TestIsLocal checks which file systems are known to be local, which decides whether an error mentions a file server.
// /proc is not in the list, like a network share.
func TestIsLocal(t *testing.T) {
	if !isLocal(t.TempDir()) {
		t.Error("a temporary directory is not local")
	}
	for _, path := range []string{"/proc", filepath.Join(t.TempDir(), "missing")} {
		if isLocal(path) {
			t.Errorf("%s counts as local", path)
		}
	}
}
