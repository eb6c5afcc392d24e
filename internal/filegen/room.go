package filegen

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// checkRoom refuses files for which there is no room, before any is made. What an earlier try has left is written over.
func (m *maker) checkRoom() error {
	folder, err := m.root.Open(".")
	if err != nil {
		return fmt.Errorf("open the working directory: %w", err)
	}
	defer func() { _ = folder.Close() }()
	var space unix.Statfs_t
	if err := unix.Fstatfs(int(folder.Fd()), &space); err != nil {
		return fmt.Errorf("look how much room there is: %w", err)
	}
	files, bytes := m.left()
	unit := max(space.Frsize, space.Bsize, 1)
	if space.Frsize > 0 {
		unit = space.Frsize
	}
	free := space.Bavail * uint64(unit)
	count, total := uint64(m.options.Count), uint64(m.options.TotalBytes) //nolint:gosec // They were checked.
	// Many file systems tell no number of files.
	if want := count - min(count, files) + 2; space.Files > 0 && space.Ffree < want {
		return fmt.Errorf("no room for so many files: %d are to be made, and %d can still be: remove some, or make fewer and larger ones", want, space.Ffree)
	}
	if want := total - min(total, bytes); free < want {
		return fmt.Errorf("no space left for the files: they need %d bytes more, and %d are free: make the volume larger, or --total-bytes smaller", want, free)
	}
	return nil
}

// left is what is there of an earlier try.
func (m *maker) left() (files, bytes uint64) {
	_ = fs.WalkDir(m.root.FS(), m.options.Directory, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipAll // there is none
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			files++
			bytes += uint64(max(0, info.Size()))
		}
		return nil
	})
	return files, bytes
}
