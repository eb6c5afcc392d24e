package filegen

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// checkRoom returns an error if the file system has too little space or too few inodes for all files. It is called
// before any file is created. Files left by an earlier call need no additional space, because they are overwritten.
func (m *maker) checkRoom() error {
	folder, err := m.root.Open(".")
	if err != nil {
		return fmt.Errorf("open the working directory: %w", err)
	}
	defer func() { _ = folder.Close() }()
	var space unix.Statfs_t
	if err := unix.Fstatfs(int(folder.Fd()), &space); err != nil {
		return fmt.Errorf("get the free space: %w", err)
	}
	files, bytes := leftoverSize(m.root.FS(), m.options.Directory)
	unit := max(space.Frsize, space.Bsize, 1)
	if space.Frsize > 0 {
		unit = space.Frsize
	}
	free := space.Bavail * uint64(unit)
	count, total := uint64(m.options.Count), uint64(m.options.TotalBytes) //nolint:gosec // Check has bounded them.
	// Skip this check on the many file systems that do not report a number of inodes.
	if want := count - min(count, files) + 2; space.Files > 0 && space.Ffree < want {
		return fmt.Errorf("too few free inodes: %d files are needed, but only %d more can be created: remove files, or lower --count", want, space.Ffree)
	}
	if want := total - min(total, bytes); free < want {
		return fmt.Errorf("too little free space: %d bytes are needed, but only %d are free: enlarge the volume, or lower --total-bytes", want, free)
	}
	return nil
}

// leftoverSize returns the number and the total size of the readable files that an earlier call left.
func leftoverSize(root fs.FS, directory string) (files, bytes uint64) {
	_ = fs.WalkDir(root, directory, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // Continue with the other entries.
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			files++
			bytes += uint64(max(0, info.Size()))
		}
		return nil
	})
	return files, bytes
}
