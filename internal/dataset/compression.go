package dataset

import "strings"

// Compression says what the space that a file system says that files take (st_blocks) shows of compression.
type Compression string

const (
	// CompressionShown is without what compression saves, as on ZFS, and on Lustre over ZFS.
	CompressionShown Compression = "Shown"
	// CompressionHidden is where the file system can compress, or derives what it tells from the size, and
	// what is saved is not seen, as on btrfs (tried).
	CompressionHidden Compression = "Hidden"
	// CompressionNone is where the file system does not compress. What lies below it, such as an array, may, and is never seen.
	CompressionNone Compression = "None"
	// CompressionUnknown is where it depends on a server or a program that cannot be asked, as with NFS and FUSE.
	CompressionUnknown Compression = "Unknown"
)

// Compression of the file system of a mount.
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

// allocatesAtOnce is true for file systems that count what is written and not yet allocated: tried with
// ext4, XFS, btrfs and tmpfs, which do before anything is flushed.
func allocatesAtOnce(filesystemType string) bool {
	switch filesystemType {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs":
		return true
	}
	return false
}

// answersNothing is true for a program behind a mount that tells no allocation at all.
func answersNothing(filesystemType string, found Usage) bool {
	return found.AllocatedBytes == 0 && strings.HasPrefix(filesystemType, "fuse")
}
