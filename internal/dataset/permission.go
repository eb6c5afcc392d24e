package dataset

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// denied returns a Problem for an operation that failed because the process lacks permission on the directory at the
// path, or on its parent if the directory does not exist. The Problem has no Cause. Its Detail names the user and
// groups of the process, and the directory's owner and mode.
func denied(path string) *Problem {
	problem := &Problem{Reason: ErrPermission, Path: path, Remedy: "grant the user of the benchmark rwx permission"}
	directory, whose := path, "it has"
	var stat unix.Stat_t
	err := unix.Lstat(directory, &stat)
	if err != nil {
		directory = filepath.Dir(path)
		whose = directory + " has"
		err = unix.Lstat(directory, &stat)
	}
	if err != nil {
		return problem
	}
	problem.Detail = fmt.Sprintf("%s owner %d, group %d and mode %04o; this process runs as user %d, %s",
		whose, stat.Uid, stat.Gid, stat.Mode&0o7777, os.Geteuid(), named(groups()))
	if unix.Faccessat(unix.AT_FDCWD, directory, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS) != nil {
		return problem
	}
	// The directory's mode permits the access, so something else denies it. For example, a server may have stricter
	// permissions than the mode, and the kernel's SMB client checks only the mode.
	if isLocal(directory) {
		problem.Remedy = "its mode permits the access: check the kernel's security modules, such as AppArmor"
	} else {
		problem.Reason = ErrRefused
		problem.Remedy = "its mode permits the access: check on the server that the share is not read-only and that the share's user may write to it"
	}
	return problem
}

// isLocal reports whether the directory at the path is known to be on a file system of this machine.
func isLocal(path string) bool {
	file, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	mount, err := describe(file, path)
	return err == nil && mount.OnThisMachine()
}

// groups returns the group IDs of the process without duplicates, beginning with the effective group ID.
func groups() []int {
	all := []int{os.Getegid()}
	if more, err := os.Getgroups(); err == nil {
		for _, group := range more {
			if group != all[0] {
				all = append(all, group)
			}
		}
	}
	return all
}

// named lists the first 8 group IDs and counts the others.
func named(groups []int) string {
	const most = 8
	text := "group"
	if len(groups) > 1 {
		text += "s"
	}
	for i, group := range groups {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(groups)-most)
		}
		text += fmt.Sprintf(" %d", group)
	}
	return text
}
