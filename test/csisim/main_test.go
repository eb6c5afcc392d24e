package csisim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/csisim"
)

const (
	// First arguments that make the test program a store or a driver.
	beStore  = "be-a-store"
	beDriver = "be-a-driver"
	// insideVariable marks the process that runs in its own namespaces.
	insideVariable = "CSISIM_TEST_INSIDE"
)

// TestMain runs the tests in a mount and a process namespace, which end with all their processes and mounts even if the
// tests are killed. Without root, only tests that mount nothing run.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == beStore:
		os.Exit(csisim.StoreMain(os.Args[2]))
	case len(os.Args) == 3 && os.Args[1] == beDriver:
		os.Exit(driverMain(os.Args[2]))
	}
	flag.Parse()
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "csisim: ALL TESTS THAT MOUNT ARE SKIPPED: they need root")
		os.Exit(m.Run())
	}
	if os.Getenv(insideVariable) == "" {
		os.Exit(inside())
	}
	for _, err := range []error{
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("proc", "/proc", "proc", 0, ""),
	} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "csisim: making a mount namespace:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func inside() int {
	command := exec.CommandContext(context.Background(), "/proc/self/exe", os.Args[1:]...)
	command.Env = append(os.Environ(), insideVariable+"=1")
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "csisim: starting the tests in namespaces of their own:", err)
		return 1
	}
	return 0
}

func requireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounts, which needs root")
	}
}

func requireLoop(t testing.TB) {
	t.Helper()
	requireRoot(t)
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skipf("raw block volumes need the kernel's loop devices: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newHome creates a directory with a short path, because it holds sockets. It must be empty of mounts when the test
// ends.
func newHome(t testing.TB) string {
	t.Helper()
	requireRoot(t)
	folder, err := os.MkdirTemp("/tmp", "csisim")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(folder)) })
	return folder
}

func optionsOf(home, name string) csisim.Options {
	return csisim.Options{
		Name: name, Home: home, Node: "here", Program: []string{"/proc/self/exe", beStore}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// generic is the name of no real driver.
const generic = "csisim.storagebench.dev"

// newDriver starts a driver for a test. When the test ends, it removes what is left of the driver.
func newDriver(t testing.TB, o csisim.Options) *csisim.Driver {
	t.Helper()
	d, err := csisim.NewDriver(t.Context(), o)
	must(t, err)
	t.Cleanup(func() {
		_ = d.Close() // the test may have closed it
		clearAll(t, o)
	})
	return d
}

func clearAll(t testing.TB, o csisim.Options) {
	t.Helper()
	d, err := csisim.NewDriver(context.Background(), o)
	must(t, err)
	must(t, d.Clear(context.Background()))
	must(t, d.Close())
	clean(t, o)
}

// clean checks that nothing of a driver is left: no mount, device, record or store.
func clean(t testing.TB, o csisim.Options) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, o.Home) {
			t.Errorf("a mount is left: %s", line)
		}
	}
	for _, pattern := range []string{"stores/*", "volumes/*"} {
		left, err := filepath.Glob(filepath.Join(csisim.Folder(o.Home, o.Name), pattern))
		must(t, err)
		if len(left) > 0 {
			t.Errorf("left are %q", left)
		}
	}
	used, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	must(t, err)
	for _, file := range used {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), o.Home) { // the device may have been released
			t.Errorf("a device is left: %s: %s", file, text)
		}
	}
}

// driverMain runs a driver in its own process until it is killed.
func driverMain(home string) int {
	d, err := csisim.NewDriver(context.Background(), optionsOf(home, generic))
	if err == nil {
		err = csisim.Run(context.Background(), []*csisim.Driver{d}, "", nil)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
