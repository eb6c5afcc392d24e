package dataset

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const inNamespace = "STORAGEBENCH_TEST_IN_NAMESPACE"

// withMounts runs a test again in a mount namespace of its own, where it may mount what it likes:
// as root directly, as another user by a user namespace.
func withMounts(t *testing.T, body func()) {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatalf("make the mounts private: %v", err)
		}
		body()
		return
	}
	command := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), inNamespace+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if os.Getuid() != 0 {
		command.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	output, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Skipf("this machine gives no mount namespace: %v", err)
	}
	t.Logf("%s", output)
	if err != nil {
		t.Fatalf("in the mount namespace: %v", err)
	}
}

// mountTmpfs mounts a file system of that many bytes at a new directory.
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
