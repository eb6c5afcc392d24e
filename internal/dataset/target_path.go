package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// folderMode gives the group access, because the directory outlives the run, and the next run may run as another user
// of the same group.
const folderMode = 0o770

// Place is the working location of a run: a directory of a volume that must be mounted at Path.
type Place struct {
	// Path is the directory of the volume, which must satisfy Expect.
	Path   string
	Expect Expectation
	// Folder is relative to Path. If it is empty, the run works in Path itself.
	Folder string
}

// String returns the directory's path.
func (p Place) String() string { return filepath.Join(p.Path, p.Folder) }

// CheckFolder returns an error unless the directory is empty or a plain relative path inside a volume.
func CheckFolder(folder string) error {
	if folder == "" || filepath.IsLocal(folder) && folder != "." && filepath.Clean(folder) == folder {
		return nil
	}
	return fmt.Errorf("path %q: must be a relative path inside the volume, without '.' and '..', such as bench/a", folder)
}

// Look verifies the volume and inspects the directory without changing anything. If the directory is missing, Look
// inspects the parent in which Make would create the directory.
func (p Place) Look() (Mount, error) { return p.prove(looking) }

// Find verifies the volume and the directory. The error wraps ErrMissing if there is no such directory.
func (p Place) Find() (Mount, error) { return p.prove(finding) }

// Make verifies the volume and creates the directory if it is missing. storagebench never removes the directory,
// because others may use it after the run.
func (p Place) Make() (Mount, error) { return p.prove(making) }

// purpose selects how to handle a missing directory.
type purpose int

const (
	looking purpose = iota
	finding
	making
)

func (p Place) prove(purpose purpose) (Mount, error) {
	if err := CheckFolder(p.Folder); err != nil {
		return Mount{}, err
	}
	if p.Folder == "" {
		return ProveMount(p.Path, p.Expect)
	}
	mount, file, err := openMount(p.Path, p.Expect)
	if err != nil {
		return Mount{}, err
	}
	_ = file.Close()
	folder, err := openTop(mount)
	if err != nil {
		return Mount{}, err
	}
	defer func() { folder.close() }()
	for name := range strings.SplitSeq(p.Folder, "/") {
		next, err := folder.child(name)
		if errors.Is(err, ErrMissing) && purpose == looking {
			break
		}
		if errors.Is(err, ErrMissing) && purpose == making {
			next, err = makeFolder(folder, name)
		}
		if err != nil {
			return Mount{}, err
		}
		folder.close()
		folder = next
	}
	return mount.at(folder, p.Expect)
}

// makeFolder creates one directory, or opens it if another client has created it meanwhile.
func makeFolder(parent *directory, name string) (*directory, error) {
	err := parent.root.Mkdir(name, folderMode)
	switch {
	case err == nil:
		// Override the process's umask, but keep the bits inherited from the parent (setgid). Ignore errors, because
		// some file systems have no modes.
		if info, err := parent.root.Lstat(name); err == nil {
			_ = parent.root.Chmod(name, info.Mode()&(fs.ModeSetgid|fs.ModeSticky)|folderMode)
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, classify(filepath.Join(parent.path, name), "create", err)
	}
	return parent.child(name)
}

// at checks that a directory of the mount is accessible as expected, and returns a Mount that describes the directory.
func (m Mount) at(folder *directory, expect Expectation) (Mount, error) {
	file, err := folder.root.Open(".")
	if err != nil {
		return Mount{}, classify(folder.path, "open", err)
	}
	defer func() { _ = file.Close() }()
	var space unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &space); err != nil {
		return Mount{}, classify(folder.path, "get the file system statistics of", err)
	}
	m.Path, m.Device, m.Inode = folder.path, folder.id.device, folder.id.inode
	m.IsMountPoint = m.Path == m.MountPoint
	// Use the space reported for the directory, because a quota on the directory is not visible at the mount point.
	m.TotalBytes, m.AvailableBytes = space.Blocks*blockSize(space), space.Bavail*blockSize(space)
	return m, checkAccess(file, m, expect)
}
