package dataset

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const again = "STORAGEBENCH_TEST_AGAIN"

// withMounts runs a test again in its own mount namespace, in which it may mount anything: directly as root, otherwise
// in a user namespace.
func withMounts(t *testing.T, body func()) {
	t.Helper()
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attributes.Cloneflags |= unix.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runAgain(t, attributes, func() {
		if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatalf("make the mounts private: %v", err)
		}
		body()
	})
}

// withoutRoot runs a test as a user other than root, so that permission bits apply.
func withoutRoot(t *testing.T, body func()) {
	t.Helper()
	if os.Getuid() != 0 {
		body()
		return
	}
	runAgain(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, body)
}

// runAgain runs a test again in another process of this test binary, in which it calls body.
func runAgain(t *testing.T, attributes *syscall.SysProcAttr, body func()) {
	t.Helper()
	if os.Getenv(again) == t.Name() {
		body()
		return
	}
	command := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), again+"="+t.Name())
	command.Dir = "/"
	command.SysProcAttr = attributes
	output, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Skipf("this machine does not allow it: %v", err)
	}
	t.Logf("%s", output)
	if err != nil {
		t.Fatalf("in another process: %v", err)
	}
}

// mountTmpfs creates a directory and mounts a tmpfs with the given options on it.
func mountTmpfs(t *testing.T, path string, flags uintptr, options string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("storagebench-test", path, "tmpfs", flags, options); err != nil {
		t.Fatalf("mount a tmpfs at %s: %v", path, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

func mustProve(t *testing.T, path string) Mount {
	t.Helper()
	mount, err := ProveMount(path, Expectation{})
	if err != nil {
		t.Fatal(err)
	}
	return mount
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestCheckFiles checks that exactly the files that the file system still has room for can be asked for.
func TestCheckFiles(t *testing.T) {
	withMounts(t, func() {
		path := filepath.Join(t.TempDir(), "few")
		mountTmpfs(t, path, 0, "nr_inodes=100")
		d := mustCreate(t, path, 0)
		space, err := d.fileSystem()
		must(t, err)
		must(t, d.CheckFiles(space.Ffree))
		var few *InodesError
		if err := d.CheckFiles(space.Ffree + 1); !errors.As(err, &few) || few.FreeFiles != space.Ffree {
			t.Errorf("one file too many: %v", err)
		}
	})
}
