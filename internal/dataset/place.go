package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// folderMode lets the group in: a folder outlives the run that made it, and the next run may be
// another user of the same group.
const folderMode = 0o770

// Place is where a run works: a folder of a volume that has to be mounted at a path.
type Place struct {
	// Path is what is proven to be as it was expected.
	Path   string
	Expect Expectation
	// Folder is relative to Path; empty is Path itself.
	Folder string
}

// String is the folder's path.
func (p Place) String() string { return filepath.Join(p.Path, p.Folder) }

// CheckFolder refuses what is not a plain relative path inside a volume.
func CheckFolder(folder string) error {
	if folder == "" || filepath.IsLocal(folder) && folder != "." && filepath.Clean(folder) == folder {
		return nil
	}
	return fmt.Errorf("folder %q: must be a relative path inside the volume, without '.' and '..', such as bench/a", folder)
}

// Look proves the volume and looks at the folder without changing anything. A folder that is not
// there yet is judged by the one in which it would be made.
func (p Place) Look() (Mount, error) { return p.prove(looking) }

// Find proves the volume and the folder; errors.Is(err, ErrMissing) when there is no such folder.
func (p Place) Find() (Mount, error) { return p.prove(finding) }

// Make proves the volume and makes the folder where it is missing. It stays: that it was not there
// before is no proof that nobody else uses it since.
func (p Place) Make() (Mount, error) { return p.prove(making) }

// purpose is what is done about a folder that is missing.
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

// makeFolder makes one folder, unless another client has done so meanwhile.
func makeFolder(parent *directory, name string) (*directory, error) {
	err := parent.root.Mkdir(name, folderMode)
	switch {
	case err == nil:
		// Past the mask of the process, and keeping what the parent hands down (the group's bit). A
		// file system without modes is no obstacle.
		if info, err := parent.root.Lstat(name); err == nil {
			_ = parent.root.Chmod(name, info.Mode()&(fs.ModeSetgid|fs.ModeSticky)|folderMode)
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, classify(filepath.Join(parent.path, name), "create", err)
	}
	return parent.child(name)
}

// at is the mount as seen from one of its folders, which has to be writable unless that is not expected.
func (m Mount) at(folder *directory, expect Expectation) (Mount, error) {
	file, err := folder.root.Open(".")
	if err != nil {
		return Mount{}, classify(folder.path, "open", err)
	}
	defer func() { _ = file.Close() }()
	var space unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &space); err != nil {
		return Mount{}, classify(folder.path, "read the file system of", err)
	}
	m.Path, m.Device, m.Inode = folder.path, folder.id.device, folder.id.inode
	m.IsMountPoint = m.Path == m.MountPoint
	// A quota on the folder shows here, not at the mount.
	m.TotalBytes, m.AvailableBytes = space.Blocks*blockSize(space), space.Bavail*blockSize(space)
	return m, checkAccess(file, m, expect)
}

// access says who we are and whose a file is, for whoever is refused: that at the path, or the
// directory in which it is or should be.
func access(path string) string {
	whose := "it has"
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		whose = filepath.Dir(path) + " has"
		if err := unix.Lstat(filepath.Dir(path), &stat); err != nil {
			return ""
		}
	}
	groups := []int{os.Getegid()}
	if more, err := os.Getgroups(); err == nil {
		for _, group := range more {
			if group != groups[0] {
				groups = append(groups, group)
			}
		}
	}
	return fmt.Sprintf("%s owner %d, group %d and mode %04o; we are user %d, %s",
		whose, stat.Uid, stat.Gid, stat.Mode&0o7777, os.Geteuid(), named(groups))
}

// named lists groups, as many as one can read.
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
