package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	devices   = "/dev"
	kernelLog = devices + "/kmsg"
	// machineDevices is where the node keeps the machine's /dev in sight when it
	// has one of its own.
	machineDevices = ownFolder + "/devices"
)

// provideKernelLog makes an empty kernel log where none can be read, as in some
// containers: the kubelet does not start without one. It looks there for
// processes that were ended when memory was short, and finds none then.
func provideKernelLog() error {
	log, err := os.Open(kernelLog)
	if err == nil {
		_ = log.Close()
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return bindFile(filepath.Join(devices, "null"), kernelLog)
	}
	// A file cannot be added without being seen outside of the node, so the
	// node gets a /dev of its own with everything that the machine's has.
	if err := os.MkdirAll(machineDevices, 0o755); err != nil {
		return fmt.Errorf("making the folder of devices: %w", err)
	}
	if err := unix.Mount(devices, machineDevices, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keeping the machine's /dev: %w", err)
	}
	// What is mounted over the one must not appear over the other.
	if err := unix.Mount("", machineDevices, "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keeping the machine's /dev apart: %w", err)
	}
	if err := unix.Mount("tmpfs", devices, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("mounting the node's /dev: %w", err)
	}
	entries, err := os.ReadDir(machineDevices)
	if err != nil {
		return fmt.Errorf("listing devices: %w", err)
	}
	for _, entry := range entries {
		if err := bindEntry(filepath.Join(machineDevices, entry.Name()), filepath.Join(devices, entry.Name()), entry.Type()); err != nil {
			return err
		}
	}
	return bindFile(filepath.Join(devices, "null"), kernelLog)
}

// bindEntry makes an entry of a folder appear in another.
func bindEntry(source, target string, kind fs.FileMode) error {
	switch {
	case kind&fs.ModeSymlink != 0:
		to, err := os.Readlink(source)
		if err != nil {
			return fmt.Errorf("reading a link: %w", err)
		}
		if err := os.Symlink(to, target); err != nil {
			return fmt.Errorf("making a link: %w", err)
		}
		return nil
	case kind.IsDir():
		if err := os.Mkdir(target, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", target, err)
		}
		if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", target, err)
		}
		return nil
	default:
		return bindFile(source, target)
	}
}
