package node

import (
	"fmt"
	"syscall"
)

// openFiles is the limit of open files per process, the same as on nodes where systemd starts containerd. It is lower
// if this machine's hard limit is.
const openFiles = 1 << 20

// setLimits sets the umask, the limit of open files and the priority, so that they do not depend on the shell that
// started the node. Pods inherit them.
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
	// Undo `nice`, if that is allowed.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 0)
	return nil
}
