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
	// machineDevices is the path of the machine's /dev in a node that has its own /dev.
	machineDevices = ownFolder + "/devices"
)

// provideKernelLog provides an empty kernel log if /dev/kmsg cannot be read, as in some containers. The kubelet does
// not start without a kernel log, in which it looks for processes that the OOM killer ended. With an empty log it finds
// none.
func provideKernelLog() error {
	log, err := os.Open(kernelLog)
	if err == nil {
		_ = log.Close()
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return bindFile(filepath.Join(devices, "null"), kernelLog)
	}
	// A file added to the machine's /dev would be visible outside of the node, so the node gets its own /dev with all
	// entries of the machine's.
	if err := os.MkdirAll(machineDevices, 0o755); err != nil {
		return fmt.Errorf("making the folder of devices: %w", err)
	}
	if err := unix.Mount(devices, machineDevices, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keeping the machine's /dev: %w", err)
	}
	// Later mounts below /dev must not propagate to machineDevices.
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

// bindEntry makes an entry of a folder available in another folder: it copies a link and bind-mounts anything else.
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
