package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Expectation holds the plan's requirements for a directory. The zero value requires only that the directory is
// writable.
type Expectation struct {
	// MustBeMountPoint requires the path itself to be a mount point.
	MustBeMountPoint bool `json:"mustBeMountPoint,omitempty"`
	// NotRootFilesystem requires that the directory is not in the file system that is mounted at "/".
	NotRootFilesystem bool `json:"notRootFilesystem,omitempty"`
	// Device and Inode identify the directory that was found when the run was planned. 0 matches any directory.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// ReadOnly requires only read access, because the run creates nothing in the directory.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Mount describes a directory, and the file system that contains it, as found by ProveMount.
type Mount struct {
	// Path is absolute; its last component is not a symbolic link.
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// FilesystemType, Source and Options are as in /proc/self/mountinfo; Options lists the mount's options and then the
	// file system's, without duplicates.
	FilesystemType string   `json:"filesystemType"`
	Source         string   `json:"source"`
	MountPoint     string   `json:"mountPoint"`
	Options        []string `json:"options"`
	// IsMountPoint is true if a file system is mounted at Path. IsRoot is true if Path is in the file system that is
	// mounted at "/".
	IsMountPoint bool   `json:"isMountPoint"`
	IsRoot       bool   `json:"isRoot"`
	TotalBytes   uint64 `json:"totalBytes"`
	// AvailableBytes is the number of bytes that an unprivileged user can still write.
	AvailableBytes uint64 `json:"availableBytes"`
}

// ProveMount inspects a directory without changing anything. It returns a *Problem if the path is missing, not a
// directory, a symbolic link, not writable, or not as expected.
//
// Tools create missing directories by themselves. Without this check, a run on a volume that is not mounted would
// measure the disk beneath the mount point.
func ProveMount(path string, expect Expectation) (Mount, error) {
	mount, file, err := openMount(path, expect)
	if err != nil {
		return Mount{}, err
	}
	defer func() { _ = file.Close() }()
	return mount, checkAccess(file, mount, expect)
}

// openMount works like ProveMount, but does not check whether the process may access the directory. It also returns the
// open directory, which the caller must close.
func openMount(path string, expect Expectation) (Mount, *os.File, error) {
	if path == "" {
		return Mount{}, nil, &Problem{Reason: ErrMissing, Path: `""`, Remedy: "set the path of a directory"}
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Mount{}, nil, fmt.Errorf("resolve the path %s: %w", path, err)
	}
	if err := checkKind(absolute); err != nil {
		return Mount{}, nil, err
	}
	file, err := os.OpenFile(absolute, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Mount{}, nil, classify(absolute, "open", err)
	}
	mount, err := describe(file, absolute)
	if err == nil {
		err = mount.check(expect)
	}
	if err != nil {
		_ = file.Close()
		return Mount{}, nil, err
	}
	return mount, file, nil
}

// checkKind returns an error if the path is not a directory. A symbolic link to a directory is an error too.
func checkKind(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return classify(path, "inspect", err)
	case info.Mode()&os.ModeSymlink != 0:
		return classify(path, "inspect", unix.ELOOP)
	case !info.IsDir():
		return classify(path, "inspect", unix.ENOTDIR)
	}
	return nil
}

// describe returns the mount that contains an open directory. It identifies the mount by its ID, because the longest
// matching path is wrong if one mount covers another.
func describe(file *os.File, path string) (Mount, error) {
	id, err := identity(file)
	if err != nil {
		return Mount{}, fmt.Errorf("inspect %s: %w", path, err)
	}
	info, err := mountByID(id.mount)
	if err != nil {
		return Mount{}, fmt.Errorf("find the mount of %s: %w", path, err)
	}
	var space unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &space); err != nil {
		return Mount{}, classify(path, "get the file system statistics of", err)
	}
	where, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil {
		return Mount{}, fmt.Errorf("resolve %s: %w", path, err)
	}
	return Mount{
		Path: path, Device: id.device, Inode: id.inode,
		FilesystemType: info.FSType, Source: info.Source, MountPoint: info.Mountpoint, Options: splitOptions(info.Options, info.VFSOptions),
		IsMountPoint: where == info.Mountpoint, IsRoot: info.Mountpoint == "/",
		TotalBytes: space.Blocks * blockSize(space), AvailableBytes: space.Bavail * blockSize(space),
	}, nil
}

// splitOptions lists the options of a mount and then those of its file system, without duplicates.
func splitOptions(mount, filesystem string) []string {
	options := strings.Split(mount, ",")
	for option := range strings.SplitSeq(filesystem, ",") {
		if !slices.Contains(options, option) {
			options = append(options, option)
		}
	}
	return options
}

func (m Mount) check(expect Expectation) error {
	found := fmt.Sprintf("it is on %s %s mounted at %s", m.FilesystemType, m.Source, m.MountPoint)
	switch {
	case expect.Device != 0 && expect.Device != m.Device, expect.Inode != 0 && expect.Inode != m.Inode:
		return &Problem{
			Reason: ErrChanged, Path: m.Path,
			Detail: fmt.Sprintf("it was device %d inode %d when the run was planned, and is now device %d inode %d; %s", expect.Device, expect.Inode, m.Device, m.Inode, found),
			Remedy: "restore the mount, or start a new run",
		}
	case expect.MustBeMountPoint && !m.IsMountPoint:
		return &Problem{Reason: ErrNotMountPoint, Path: m.Path, Detail: found, Remedy: "mount the volume there first"}
	case expect.NotRootFilesystem && m.IsRoot:
		return &Problem{Reason: ErrRootFilesystem, Path: m.Path, Detail: found, Remedy: "mount the volume there first"}
	}
	return nil
}

// checkAccess asks the kernel whether the directory is accessible as expected. Permission bits alone do not answer
// that: root may ignore them, but cannot write to a read-only mount.
func checkAccess(directory *os.File, mount Mount, expect Expectation) error {
	if expect.ReadOnly {
		err := unix.Faccessat(int(directory.Fd()), ".", unix.R_OK|unix.X_OK, unix.AT_EACCESS)
		return classify(mount.Path, "check read access to", err)
	}
	err := unix.Faccessat(int(directory.Fd()), ".", unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if err == nil && mount.readOnly() {
		err = unix.EROFS
	}
	return classify(mount.Path, "check write access to", err)
}

func (m Mount) readOnly() bool { return slices.Contains(m.Options, "ro") }

func mountByID(id uint64) (*mountinfo.Info, error) {
	mounts, err := mountinfo.GetMounts(func(info *mountinfo.Info) (skip, stop bool) {
		found := uint64(info.ID) == id //nolint:gosec // the kernel's mount IDs are positive
		return !found, found
	})
	if err != nil {
		return nil, fmt.Errorf("read /proc/self/mountinfo: %w", err)
	}
	if len(mounts) == 0 {
		return nil, fmt.Errorf("mount %d is not in /proc/self/mountinfo", id)
	}
	return mounts[0], nil
}

// dirID identifies a directory uniquely.
type dirID struct {
	device, inode, mount uint64
}

// identity reads the device, inode and mount ID of an open file. It calls statx, which returns mount IDs since Linux
// 5.8.
func identity(file *os.File) (dirID, error) {
	var stat unix.Statx_t
	err := unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_MNT_ID, &stat)
	if err != nil {
		return dirID{}, fmt.Errorf("statx: %w", err)
	}
	if stat.Mask&unix.STATX_MNT_ID == 0 {
		return dirID{}, fmt.Errorf("the kernel does not report a file's mount: use Linux 5.8 or newer")
	}
	return dirID{device: unix.Mkdev(stat.Dev_major, stat.Dev_minor), inode: stat.Ino, mount: stat.Mnt_id}, nil
}

// blockSize is the unit of statfs's block counts: f_frsize, or f_bsize on file systems that leave f_frsize 0.
func blockSize(space unix.Statfs_t) uint64 {
	if space.Frsize > 0 {
		return uint64(space.Frsize)
	}
	return uint64(max(space.Bsize, 0))
}
