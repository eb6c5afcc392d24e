package burstfs

import (
	"errors"
	"fmt"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// alive limits the wait for a mount to answer. If it does not answer in time, its server is slow, not dead.
const alive = 2 * time.Second

// RemoveDead unmounts all burstfs mounts whose server process was killed.
func RemoveDead() error {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter(fileSystemType))
	if err != nil {
		return fmt.Errorf("listing mounts: %w", err)
	}
	var failed []error
	for _, m := range mounts {
		if !dead(m.Mountpoint) {
			continue
		}
		// EINVAL: another process has already unmounted it.
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			failed = append(failed, fmt.Errorf("unmounting %s, whose server is gone: %w", m.Mountpoint, err))
		}
	}
	return errors.Join(failed...)
}

// dead reports whether the server of a mount is gone. The kernel then answers every request with an error.
func dead(mountPoint string) bool {
	result := make(chan error, 1)
	go func() {
		var stat unix.Statfs_t
		result <- unix.Statfs(mountPoint, &stat)
	}()
	select {
	case err := <-result:
		return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
	case <-time.After(alive):
		return false
	}
}
