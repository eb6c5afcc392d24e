package csisim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

const (
	storeType = "fuse.burstfs"
	// always holds the flags of every mount.
	always = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	// letGo limits the time for which a mount may remain busy after its users have closed their files.
	letGo = 2 * time.Second
)

// flagsOf returns the flags for mount options. It ignores options of network and disk file systems.
func flagsOf(options []string) uint64 {
	known := map[string]uint64{
		"ro": unix.MOUNT_ATTR_RDONLY, "noexec": unix.MOUNT_ATTR_NOEXEC, "noatime": unix.MOUNT_ATTR_NOATIME,
		"nodiratime": unix.MOUNT_ATTR_NODIRATIME,
	}
	var flags uint64
	for _, option := range options {
		flags |= known[option]
	}
	return flags
}

// at lists the mounts at a path, the topmost last.
func at(path string) ([]*mountinfo.Info, error) {
	// Resolve the links of the parent only: the mount itself may not answer.
	if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(parent, filepath.Base(path))
	}
	return mounts(func(m *mountinfo.Info) bool { return m.Mountpoint == path })
}

func mounts(wanted func(*mountinfo.Info) bool) ([]*mountinfo.Info, error) {
	found, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return !wanted(m), false })
	if err != nil {
		return nil, fmt.Errorf("listing mounts: %w", err)
	}
	return found, nil
}

// bound lists the mounts of a volume outside its store.
func (v volume) bound(device string) ([]*mountinfo.Info, error) {
	return mounts(func(m *mountinfo.Info) bool { return v.isMount(m, device) })
}

// isMount reports whether a mount is the volume's. device is the volume's loop device, if it has one.
func (v volume) isMount(m *mountinfo.Info, device string) bool {
	if v.Block {
		// If the node has its own /dev, each device is also a mount.
		return device != "" && strings.HasSuffix(m.FSType, "tmpfs") && m.Root == "/"+filepath.Base(device) &&
			filepath.Dir(m.Mountpoint) != filepath.Dir(device)
	}
	return m.FSType == storeType && m.Root == "/"+v.key()
}

// could reports whether a mount is the volume's, or may have been with an earlier loop device.
func (v volume) could(m *mountinfo.Info) bool {
	return v.isMount(m, "") || strings.HasSuffix(m.FSType, "tmpfs") && loopRoots.MatchString(m.Root)
}

var loopRoots = regexp.MustCompile(`^/loop[0-9]+$`)

// number is the device number of a mount.
type number struct{ major, minor int }

func numberOf(m *mountinfo.Info) number { return number{m.Major, m.Minor} }

// errIncompatible says that a path has the volume already, with other options.
var errIncompatible = errors.New("the volume is there already, with other options")

// bind mounts a volume at a path atomically, with all its flags, so that a kill leaves either the whole mount or none.
// It replaces a mount of the same volume from a store that has died.
func (v volume) bind(source, target, device string, flags uint64) error {
	live, err := at(source)
	if !v.Block {
		live, err = at(filepath.Dir(source))
	}
	if err != nil {
		return err
	}
	there, err := at(target)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(there) {
		switch {
		case !v.could(m):
			return fmt.Errorf("something else is mounted at %s: %s", target, m.FSType)
		case v.Block && v.isMount(m, device) || !v.Block && len(live) > 0 && numberOf(live[len(live)-1]) == numberOf(m):
			readOnly := slices.Contains(strings.Split(m.Options, ","), "ro")
			if readOnly != (flags&unix.MOUNT_ATTR_RDONLY != 0) {
				return errIncompatible
			}
			return nil
		}
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s, whose store or device is gone: %w", target, err)
		}
	}
	if err := v.target(target); err != nil {
		return err
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening %s: %w", source, err)
	}
	defer unix.Close(tree) //nolint:errcheck // moved already, or discarded by closing
	if !v.Block {          // a device does not work on a nodev mount
		flags |= always
	}
	attributes := unix.MountAttr{Attr_set: flags}
	if flags&unix.MOUNT_ATTR_NOATIME != 0 { // an enumeration, not a flag
		attributes.Attr_clr = unix.MOUNT_ATTR__ATIME
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attributes); err != nil {
		return fmt.Errorf("setting the flags of %s: %w", target, err)
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting %s: %w", target, err)
	}
	return nil
}

// target creates the file or directory that the volume is mounted on.
func (v volume) target(path string) error {
	var err error
	if v.Block {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_CREATE, 0o660); err == nil {
			err = file.Close()
		}
	} else {
		err = os.MkdirAll(path, 0o750)
	}
	if err != nil {
		return fmt.Errorf("making %s: %w", path, err)
	}
	return nil
}

// unbind unmounts a volume from a path, even if its store has died.
func (v volume) unbind(target string) error {
	there, err := at(target)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(there) {
		if !v.could(m) {
			return fmt.Errorf("something else is mounted at %s: %s", target, m.FSType)
		}
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", target, err)
		}
	}
	return nil
}

// unmountAll removes all mounts at a path of the driver's home.
func unmountAll(path string) error {
	there, err := at(path)
	if err != nil {
		return err
	}
	for range there {
		err := unix.Unmount(path, 0)
		for began := time.Now(); errors.Is(err, unix.EBUSY) && time.Since(began) < letGo; {
			time.Sleep(5 * time.Millisecond)
			err = unix.Unmount(path, 0)
		}
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(path, unix.MNT_DETACH)
		}
		if err != nil {
			return fmt.Errorf("unmounting %s: %w", path, err)
		}
	}
	return nil
}

// mountBacking mounts memory of a size, or grows the memory that is mounted already.
func mountBacking(path string, bytes, inodes int64) error {
	there, err := at(path)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		var stat unix.Statfs_t
		if err := unix.Statfs(path, &stat); err != nil {
			return fmt.Errorf("looking at %s: %w", path, err)
		}
		if int64(stat.Blocks)*stat.Bsize >= bytes { //nolint:unconvert // the types differ by architecture
			return nil
		}
		err = unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d", bytes))
		if err != nil {
			return fmt.Errorf("growing %s to %d bytes: %w", path, bytes, err)
		}
		return nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", path, err)
	}
	// Pods of any user may write, as on a file system that they own.
	options := fmt.Sprintf("size=%d,mode=0777", bytes)
	if inodes > 0 {
		options += fmt.Sprintf(",nr_inodes=%d", inodes+1) // the root directory takes one
	}
	if err := unix.Mount("csisim", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mounting memory at %s: %w", path, err)
	}
	return nil
}

// remove removes an empty directory or a file, if it exists.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return nil
}
