package node

import (
	"fmt"
	"syscall"
)

// openFiles is how many files a process of the node may have open, as on nodes
// where systemd starts containerd; less where this machine allows less.
const openFiles = 1 << 20

// setLimits makes the node the same whatever shell it was started from: pods
// inherit all of this.
func setLimits() error {
	syscall.Umask(0o022)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading how many files may be open: %w", err)
	}
	limit.Cur = min(limit.Max, openFiles)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("setting how many files may be open: %w", err)
	}
	// Back to normal from `nice`, where that is allowed.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 0)
	return nil
}
