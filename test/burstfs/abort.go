package burstfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// deviceOf returns the device number by which the kernel identifies the FUSE connection of a mount.
func deviceOf(mountPoint string) (uint32, error) {
	// Stat would ask the store, which may already be closed.
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, mountPoint, unix.AT_STATX_DONT_SYNC, 0, &stat); err != nil {
		return 0, fmt.Errorf("looking at %s: %w", mountPoint, err)
	}
	return stat.Dev_minor, nil
}

// abort aborts a FUSE connection: all pending and later requests fail.
func abort(device uint32) (err error) {
	// This machine may not have fusectl mounted.
	directory, err := os.MkdirTemp("", "fusectl")
	if err != nil {
		return fmt.Errorf("making a directory for the kernel's list of connections: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(directory)) }()
	if err := unix.Mount("fusectl", directory, "fusectl", 0, ""); err != nil {
		return fmt.Errorf("mounting the kernel's list of connections: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Unmount(directory, unix.MNT_DETACH)) }()
	if err := os.WriteFile(filepath.Join(directory, strconv.Itoa(int(device)), "abort"), []byte("1"), 0); err != nil {
		return fmt.Errorf("cutting connection %d: %w", device, err)
	}
	return nil
}
