package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Reasons why this package refuses to use a directory or a device; match with errors.Is.
var (
	ErrMissing        = errors.New("does not exist")
	ErrNotDirectory   = errors.New("is not a directory")
	ErrNotDevice      = errors.New("is not a block device")
	ErrSymlink        = errors.New("is a symbolic link")
	ErrReadOnly       = errors.New("is on a read-only file system")
	ErrPermission     = errors.New("permission denied")
	ErrRefused        = errors.New("permission denied by the file server")
	ErrNotMountPoint  = errors.New("is not a mount point")
	ErrRootFilesystem = errors.New("is on the root file system")
	ErrChanged        = errors.New("is not the directory that the run was planned for")
	ErrForeign        = errors.New("belongs to another owner")
	ErrMountInside    = errors.New("has another file system mounted inside")
	ErrLocked         = errors.New("is in use by another run")
	ErrHeld           = errors.New("is in use by another agent")
	ErrNoInodes       = errors.New("has too few free inodes")
	ErrNoSpace        = errors.New("has too little free space")
)

// Problem describes why this package refuses to use a directory, and how the user can fix it.
type Problem struct {
	// Reason is one of the Err values of this package.
	Reason error
	Path   string
	// Detail states how the reason applies to this directory, for example which process holds it. It may be empty.
	Detail string
	Remedy string
	// Cause is the operating system's error, if there is one.
	Cause error
}

// Error returns the path, reason, detail and remedy in one line. It also includes the cause, unless the cause is an
// errno, which the reason already expresses.
func (p *Problem) Error() string {
	text := fmt.Sprintf("%s %s", p.Path, p.Reason)
	if p.Detail != "" {
		text += " (" + p.Detail + ")"
	}
	var number syscall.Errno
	if p.Cause != nil && !errors.As(p.Cause, &number) {
		text += ": " + p.Cause.Error()
	}
	if p.Remedy != "" {
		text += "; " + p.Remedy
	}
	return text
}

// Unwrap makes errors.Is find both the reason and the cause.
func (p *Problem) Unwrap() []error {
	if p.Cause == nil {
		return []error{p.Reason}
	}
	return []error{p.Reason, p.Cause}
}

// SpaceError reports how many bytes are needed and how many are free. It wraps ErrNoSpace.
type SpaceError struct {
	Path      string
	NeedBytes uint64
	FreeBytes uint64
}

// Error names the needed and the free space, and the path.
func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s %s: the run needs %s, but only %s are free; free up space, enlarge the volume, or use a smaller dataset",
		e.Path, ErrNoSpace, readable(e.NeedBytes), readable(e.FreeBytes))
}

// InodesError reports how many files are needed and how many can be created. It wraps ErrNoInodes.
type InodesError struct {
	Path      string
	NeedFiles uint64
	FreeFiles uint64
}

// Error names the number of files needed, the number that can be created, and the path.
func (e *InodesError) Error() string {
	return fmt.Sprintf("%s %s: the step creates %d files, but only %d more can be created; delete files, enlarge the volume, or use fewer and larger files",
		e.Path, ErrNoInodes, e.NeedFiles, e.FreeFiles)
}

// Unwrap returns ErrNoInodes.
func (*InodesError) Unwrap() error { return ErrNoInodes }

// readable formats a size both rounded and in exact bytes, because the needed and the free space may round to the same
// text.
func readable(bytes uint64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := uint64(1) << (40 - 10*i); bytes >= size {
			return fmt.Sprintf("%.1f %s (%d bytes)", float64(bytes)/float64(size), unit, bytes)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// Unwrap returns ErrNoSpace.
func (*SpaceError) Unwrap() error { return ErrNoSpace }

// classify converts an operating system error that it recognizes into a Problem. It wraps any other error in a message
// with the path and the intent, such as "write".
func classify(path, intent string, err error) error {
	problem := &Problem{Path: path, Cause: err}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EROFS):
		problem.Reason, problem.Remedy = ErrReadOnly, "mount it read-write, or use another directory"
	case errors.Is(err, fs.ErrNotExist):
		problem.Reason, problem.Remedy = ErrMissing, "create it, or mount the volume there first"
	case errors.Is(err, syscall.ENOTDIR):
		problem.Reason, problem.Remedy = ErrNotDirectory, "use a directory"
	case errors.Is(err, syscall.ELOOP):
		problem.Reason, problem.Remedy = ErrSymlink, "use the directory that it points to"
	case errors.Is(err, fs.ErrPermission):
		problem = denied(path)
		problem.Cause = err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		problem.Reason, problem.Remedy = ErrNoSpace, "free up space, or use another directory"
	default:
		return fmt.Errorf("%s %s: %w", intent, path, err)
	}
	return problem
}
