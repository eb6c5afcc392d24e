package dataset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// listBatch is the number of directory entries that are read at a time. It limits the memory for listing a directory
// with millions of files.
const listBatch = 1024

// directory is an open directory that was reached without following a symbolic link. os.Root keeps every name inside
// the directory; child also rejects symbolic links and mounts, which os.Root allows.
type directory struct {
	root *os.Root
	path string
	id   dirID
}

// openTop opens a target's directory and checks that it is still the directory that was verified before.
func openTop(mount Mount) (*directory, error) {
	top, err := openPath(mount.Path)
	if err != nil {
		return nil, err
	}
	if top.id.device != mount.Device || top.id.inode != mount.Inode {
		top.close()
		return nil, &Problem{
			Reason: ErrChanged, Path: mount.Path,
			Detail: fmt.Sprintf("it was device %d inode %d when it was checked, and is now device %d inode %d", mount.Device, mount.Inode, top.id.device, top.id.inode),
			Remedy: "check what was mounted or unmounted there during the run",
		}
	}
	return top, nil
}

func openPath(path string) (*directory, error) {
	if err := checkKind(path); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, classify(path, "open", err)
	}
	return newDirectory(root, path)
}

// newDirectory takes ownership of root: it closes root on failure.
func newDirectory(root *os.Root, path string) (*directory, error) {
	file, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, classify(path, "open", err)
	}
	defer func() { _ = file.Close() }()
	id, err := identity(file)
	if err != nil {
		_ = root.Close()
		// The directory may have been removed after it was opened. statx then fails on file systems that look up open files
		// by name.
		return nil, classify(path, "inspect", err)
	}
	return &directory{root: root, path: path, id: id}, nil
}

// child opens a subdirectory. It returns an error for a symbolic link, a mount, or a directory that was replaced
// between Lstat and open.
func (d *directory) child(name string) (*directory, error) {
	path := filepath.Join(d.path, name)
	before, err := d.root.Lstat(name)
	switch {
	case err != nil:
		return nil, classify(path, "inspect", err)
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, &Problem{Reason: ErrSymlink, Path: path, Detail: "links below a target are not followed", Remedy: "remove the link"}
	case !before.IsDir():
		return nil, classify(path, "inspect", unix.ENOTDIR)
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, classify(path, "open", err)
	}
	after, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return nil, classify(path, "inspect", err)
	}
	child, err := newDirectory(root, path)
	if err != nil {
		return nil, err
	}
	if child.id.mount != d.id.mount {
		child.close()
		return nil, &Problem{Reason: ErrMountInside, Path: path, Detail: "it is a mount point", Remedy: "unmount it"}
	}
	if !os.SameFile(before, after) {
		child.close()
		return nil, replacedProblem(path)
	}
	return child, nil
}

// errReplaced wraps ErrChanged. It means that a directory was replaced while it was being opened. The cause may be
// another client that removes and recreates the directory, so the caller retries.
var errReplaced = fmt.Errorf("%w", ErrChanged)

func replacedProblem(path string) error {
	return &Problem{
		Reason: errReplaced, Path: path, Detail: "it was replaced while it was being opened",
		Remedy: "keep other programs out of " + baseName,
	}
}

// file opens a regular file of this directory with the given flags, such as os.O_RDWR.
func (d *directory) file(name string, flags int) (*os.File, error) {
	path := filepath.Join(d.path, name)
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", path, err)
	}
	if !before.Mode().IsRegular() {
		return nil, &Problem{Reason: ErrForeign, Path: path, Detail: "it is not a regular file", Remedy: "remove it"}
	}
	// Without O_NONBLOCK, opening a pipe that has replaced the file would block forever.
	file, err := d.root.OpenFile(name, flags|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, classify(path, "open", err)
	}
	after, err := file.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = replacedProblem(path)
	}
	if err == nil && flags&os.O_RDWR != 0 && links(after) > 1 {
		err = &Problem{Reason: ErrForeign, Path: path, Detail: "it has other hard links, and a write would change their content too",
			Remedy: "remove it"}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// lockable opens a file of this directory that can be locked, and creates it if it is missing. It returns errLostRace
// if another client removes the file or the directory at the same time.
func (d *directory) lockable(name string) (*os.File, error) {
	created, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	switch {
	case err == nil:
		_ = created.Close()
	case errors.Is(err, fs.ErrNotExist):
		return nil, errLostRace
	case !errors.Is(err, fs.ErrExist):
		return nil, classify(filepath.Join(d.path, name), "create", err)
	}
	file, err := d.file(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		err = errLostRace
	}
	return file, err
}

// remove removes a file or an empty subdirectory. It succeeds if the name does not exist.
func (d *directory) remove(name string) error {
	return ignoreMissing(classify(filepath.Join(d.path, name), "remove", d.root.Remove(name)))
}

// links returns the hard link count of a file, or 0 if the file system does not report it.
func links(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(stat.Nlink) //nolint:unconvert // Nlink is narrower on some architectures.
}

// each calls visit for every entry until visit returns true or an error. Entries may be removed during the listing.
func (d *directory) each(visit func(fs.DirEntry) (stop bool, err error)) error {
	file, err := d.root.Open(".")
	if err != nil {
		return classify(d.path, "list", err)
	}
	defer func() { _ = file.Close() }()
	for {
		entries, err := file.ReadDir(listBatch)
		for _, entry := range entries {
			if stop, err := visit(entry); stop || err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, fs.ErrNotExist):
			// ErrNotExist means that the directory was removed while it was listed, so it has no further entries.
			return nil
		case err != nil:
			return classify(d.path, "list", err)
		}
	}
}

func (d *directory) empty() (bool, error) {
	empty := true
	err := d.each(func(fs.DirEntry) (bool, error) {
		empty = false
		return true, nil
	})
	return empty, err
}

func (d *directory) close() { _ = d.root.Close() }
