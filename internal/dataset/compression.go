package dataset

import "strings"

// Compression describes whether the allocated space that a file system reports (st_blocks) reflects compression.
type Compression string

const (
	// CompressionShown means that the allocated space is the compressed size, as on ZFS and on Lustre over ZFS.
	CompressionShown Compression = "Shown"
	// CompressionHidden means that the allocated space does not show savings: the file system either does not report
	// that it has compressed data, as tests on btrfs showed, or derives the allocated space from the file size.
	CompressionHidden Compression = "Hidden"
	// CompressionNone means that the file system does not compress. A layer below it, such as a storage array, may
	// still compress the data, but the file system cannot report that.
	CompressionNone Compression = "None"
	// CompressionUnknown means that compression depends on a server or program that cannot be queried, as with NFS and
	// FUSE.
	CompressionUnknown Compression = "Unknown"
)

// Compression returns whether the allocated space of files on the mount's file system reflects compression.
func (m Mount) Compression() Compression {
	switch m.FilesystemType {
	case "ext2", "ext3", "ext4", "xfs", "tmpfs", "ramfs", "vfat", "exfat":
		return CompressionNone
	case "zfs", "lustre":
		return CompressionShown
	case "btrfs", "f2fs", "bcachefs", "ceph", "cifs", "smb3":
		return CompressionHidden
	}
	return CompressionUnknown
}

// allocatesAtOnce reports whether the allocated space of a file system includes data that is written but not flushed
// yet. Tested with ext4, XFS, btrfs and tmpfs.
func allocatesAtOnce(filesystemType string) bool {
	switch filesystemType {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs":
		return true
	}
	return false
}

// reportsNoSpace reports whether a FUSE file system reported no allocated space for the files. Some FUSE file systems
// report 0 for every file.
func reportsNoSpace(filesystemType string, found Usage) bool {
	return found.AllocatedBytes == 0 && strings.HasPrefix(filesystemType, "fuse")
}
