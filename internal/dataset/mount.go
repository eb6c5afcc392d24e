package dataset

import "errors"

// Expectation is what the run was planned for; the zero value expects only a writable directory.
type Expectation struct {
	// MustBeMountPoint wants the path itself to be where a file system is mounted.
	MustBeMountPoint bool `json:"mustBeMountPoint,omitempty"`
	// NotRootFilesystem refuses the file system that is mounted at "/".
	NotRootFilesystem bool `json:"notRootFilesystem,omitempty"`
	// Device and Inode are those of the directory when the run was planned; 0 expects nothing.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
}

// Mount is a directory as it was found, and the file system it is on.
type Mount struct {
	// Path is absolute and without links in its last component.
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// FilesystemType, Source and Options are the kernel's words in /proc/self/mountinfo; Options
	// holds those of the mount and then those of the file system, each once.
	FilesystemType string   `json:"filesystemType"`
	Source         string   `json:"source"`
	MountPoint     string   `json:"mountPoint"`
	Options        []string `json:"options"`
	// IsMountPoint is true when Path is MountPoint; IsRoot when MountPoint is "/".
	IsMountPoint bool   `json:"isMountPoint"`
	IsRoot       bool   `json:"isRoot"`
	TotalBytes   uint64 `json:"totalBytes"`
	// AvailableBytes is what an unprivileged user may still write.
	AvailableBytes uint64 `json:"availableBytes"`
}

// ProveMount looks at a directory without changing anything and refuses, with a *Problem, what is
// missing, not a directory, a symbolic link, not writable, or not what was expected.
func ProveMount(path string, expect Expectation) (Mount, error) {
	return Mount{}, errors.New("not built yet")
}
