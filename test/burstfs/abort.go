package burstfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// deviceOf is the number by which the kernel knows the connection of a mount.
func deviceOf(mountPoint string) (uint32, error) {
	// Not Stat: its answer would come from the store, which may be closed already.
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, mountPoint, unix.AT_STATX_DONT_SYNC, 0, &stat); err != nil {
		return 0, fmt.Errorf("looking at %s: %w", mountPoint, err)
	}
	return stat.Dev_minor, nil
}

// abort cuts a connection: whoever waits for an answer gets an error, and so does everybody later.
func abort(device uint32) (err error) {
	// The machine's own mount of it may be missing.
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
