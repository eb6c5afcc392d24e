package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// lock lets only one process at a time change the cluster. The kernel releases the lock when the process ends.
func (s State) lock(progress io.Writer) (func(), error) {
	for {
		if err := os.MkdirAll(s.folder, 0o755); err != nil {
			return nil, fmt.Errorf("making the state folder: %w", err)
		}
		file, err := os.OpenFile(s.lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, os.ErrNotExist) {
			continue // the folder has just been removed
		}
		if err != nil {
			return nil, fmt.Errorf("opening the lock of the cluster: %w", err)
		}
		descriptor := int(file.Fd())
		if syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			say(progress, "Waiting for another process that starts or stops the cluster")
			if err := syscall.Flock(descriptor, syscall.LOCK_EX); err != nil {
				_ = file.Close()
				return nil, fmt.Errorf("locking the cluster: %w", err)
			}
		}
		// The previous holder may have removed the file together with the cluster. Then a lock on this file excludes no other
		// process.
		if held, err := file.Stat(); err == nil {
			if named, err := os.Stat(s.lockFile()); err == nil && os.SameFile(held, named) {
				return func() { _ = file.Close() }, nil
			}
		}
		_ = file.Close()
	}
}

// checkFolder fails if the state folder contains files that are not the cluster's.
func (s State) checkFolder() error {
	entries, err := os.ReadDir(s.folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the state folder: %w", err)
	}
	ours := map[string]bool{}
	for _, path := range append(s.folders(), s.lockFile(), s.recordFile(), s.Kubeconfig(), s.imagesFile()) {
		ours[filepath.Base(path)] = true
		ours[filepath.Base(path)+".new"] = true
	}
	ours["probe"] = true
	// A cluster creates its lock first. Without a lock, no cluster created these files.
	locked := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == filepath.Base(s.lockFile()) })
	if !locked && !s.leftovers() {
		clear(ours)
	}
	for _, entry := range entries {
		if !ours[entry.Name()] {
			return fmt.Errorf("the state folder %s holds %s, which no cluster made: choose a folder of its own with --state or %s",
				s.folder, entry.Name(), StateVariable)
		}
	}
	return nil
}

func say(progress io.Writer, format string, arguments ...any) {
	// A message that cannot be printed must not stop anything.
	_, _ = fmt.Fprintf(progress, format+"\n", arguments...)
}
