package dataset

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// flock tries to lock a whole file with unix.LOCK_EX or unix.LOCK_SH, without waiting. It returns unix.EWOULDBLOCK if
// another process holds the lock.
func flock(file *os.File, how int) error {
	err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EACCES) && isSMB(file) {
		// SMB returns EACCES if another process holds the lock (STATUS_LOCK_NOT_GRANTED).
		return unix.EWOULDBLOCK
	}
	return err
}

func isSMB(file *os.File) bool {
	magic, err := magicOf(file)
	return err == nil && slices.Contains([]uint32{unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC}, magic)
}

// locksReachServer reports whether other machines see the locks on a file.
func locksReachServer(file *os.File) bool {
	magic, err := magicOf(file)
	if err != nil || !slices.Contains([]uint32{unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.NFS_SUPER_MAGIC, lustreMagic}, magic) {
		return true
	}
	id, err := identity(file)
	if err != nil {
		return false
	}
	info, err := mountByID(id.mount)
	return err == nil && !localLocks(splitOptions(info.Options, info.VFSOptions))
}

// localLocks reports whether mount options make flock locks local to this machine: SMB's nobrl, which
// azurefile-csi-driver sets, and the equivalents of NFS and Lustre.
func localLocks(options []string) bool {
	return slices.ContainsFunc(options, func(option string) bool {
		return slices.Contains([]string{"nobrl", "nolock", "local_lock=all", "local_lock=flock", "localflock"}, option)
	})
}
