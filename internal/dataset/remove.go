package dataset

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
)

// removeTree empties a directory. It unlinks links, never enters one, and leaves what is mounted
// inside alone. It goes on after an error and returns the first.
func removeTree(ctx context.Context, d *directory) error {
	var first error
	for {
		removed := 0
		err := d.each(func(entry fs.DirEntry) (bool, error) {
			if err := ctx.Err(); err != nil {
				return true, err
			}
			err := removeEntry(ctx, d, entry)
			switch {
			case err == nil:
				removed++
			case first == nil:
				first = err
			}
			return false, nil
		})
		if err != nil {
			return err
		}
		// Removing moves entries, so a listing may have missed some; none left or none removable ends it.
		if removed == 0 {
			return first
		}
	}
}

func removeEntry(ctx context.Context, parent *directory, entry fs.DirEntry) error {
	name := entry.Name()
	path := filepath.Join(parent.path, name)
	// The type that a listing gives may be old or unknown.
	info, err := parent.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return classify(path, "look at", err)
	}
	if info.IsDir() {
		if err := removeDirectory(ctx, parent, name, info.Mode()); err != nil {
			return err
		}
	}
	if err := parent.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return classify(path, "remove", err)
	}
	return nil
}

func removeDirectory(ctx context.Context, parent *directory, name string, mode fs.FileMode) error {
	if mode.Perm()&0o700 != 0o700 {
		// A real program's own read-only folder; what is in it can go only if we may write to it.
		// Failing to change it shows when its entries are removed.
		_ = parent.root.Chmod(name, 0o700)
	}
	child, err := parent.child(name)
	if err != nil {
		return err
	}
	defer child.close()
	return removeTree(ctx, child)
}

// removeLevel removes an owned directory that holds nothing but our own files. Its path stays valid
// for a client that comes between: it then gets its ownership file back. Files are those of ours that may be in it.
func removeLevel(parent *directory, name, benchmarkUID string, files []string) error {
	child, err := openOwned(parent, name, benchmarkUID)
	if errors.Is(err, errNoOwner) && parent.root.Remove(name) == nil {
		return nil // empty, left by a client that was killed at this very place
	}
	if err != nil {
		return ignoreMissing(err)
	}
	defer child.close()
	owner, err := readOwner(child)
	if err != nil {
		return ignoreMissing(err)
	}
	only, err := holdsOnlyOurs(child, files)
	if err != nil || !only {
		// Another client may have removed it while it was read, at the end of the same run.
		return ignoreMissing(err)
	}
	// By the open directory and not by its name, which may be another's by now.
	if err := errors.Join(ignoreMissing(removeLayoutRecords(child)), ignoreMissing(removeHolderRecords(child))); err != nil {
		return err
	}
	// Last: without it nobody knows that the directory is ours, if the rest is tried again.
	if err := removeOwnFiles(child, files); err != nil {
		return err
	}
	err = parent.root.Remove(name)
	if isNotEmpty(err) {
		return ignoreMissing(writeOwner(child, owner))
	}
	return ignoreMissing(classify(child.path, "remove", err))
}

// holdsOnlyOurs is true when there is nothing else.
func holdsOnlyOurs(d *directory, files []string) (bool, error) {
	only := true
	err := d.each(func(entry fs.DirEntry) (bool, error) {
		only = slices.Contains(files, entry.Name()) || layoutRecord.MatchString(entry.Name()) ||
			holderRecord.MatchString(entry.Name())
		return !only, nil
	})
	return only, err
}

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)
}

// removeLitter removes what a killed client left half made. It may not run beside living clients:
// what looks like litter may be renamed to its place while it is removed.
func removeLitter(d *directory, benchmarkUID string) error {
	return d.each(func(entry fs.DirEntry) (bool, error) {
		if !isScratch(entry.Name(), benchmarkUID) {
			return false, nil
		}
		err := removeScratch(d, entry.Name())
		if isNotEmpty(err) {
			err = nil // it holds something that is not ours
		}
		return false, err
	})
}

// RemoveEmpty removes the levels above a client's directory, which is not there, as far as they hold nothing.
func RemoveEmpty(mount Mount, location Location) error {
	if err := location.Validate(); err != nil {
		return err
	}
	top, err := openTop(mount)
	if err != nil {
		return err
	}
	defer top.close()
	return settle(func() error { return removeParents(top, location.BenchmarkUID, location.DatasetHash) })
}

// removeParents removes the levels above a client's directory as far as they are empty.
func removeParents(top *directory, benchmarkUID string, hashes ...string) error {
	return removeBase(top, func(base *directory) error { return removeBenchmark(base, benchmarkUID, hashes) })
}

// removeUnlocked removes a benchmark's directory, and the one above, where nobody has laid out anything or holds the lock.
func removeUnlocked(top *directory, benchmarkUID string) error {
	return removeBase(top, func(base *directory) error {
		return removeLevel(base, benchmarkUID, benchmarkUID, []string{ownerFile})
	})
}

// removeBase removes what is in the directory of all benchmarks, and the directory if it is empty then.
func removeBase(top *directory, below func(base *directory) error) error {
	base, err := top.child(baseName)
	if err != nil {
		return ignoreMissing(err)
	}
	err = below(base)
	base.close()
	if err != nil {
		return err
	}
	err = top.root.Remove(baseName)
	if isNotEmpty(err) {
		return nil
	}
	return ignoreMissing(classify(filepath.Join(top.path, baseName), "remove", err))
}

func removeBenchmark(base *directory, benchmarkUID string, hashes []string) error {
	uid, err := openOwned(base, benchmarkUID, benchmarkUID)
	switch {
	case err == nil:
		for _, hash := range hashes {
			err = errors.Join(err, removeLevel(uid, hash, benchmarkUID, ownFiles))
		}
		uid.close()
	case errors.Is(err, errNoOwner): // removeLevel knows what to do
		err = nil
	}
	if err := ignoreMissing(err); err != nil {
		return err
	}
	return removeLevel(base, benchmarkUID, benchmarkUID, ownFiles)
}

var clientName = regexp.MustCompile(`^client-(0|[1-9][0-9]*)$`)

// sweepHash removes the directories of all clients of one layout.
func sweepHash(ctx context.Context, uid *directory, hash, benchmarkUID string) error {
	child, err := openOwned(uid, hash, benchmarkUID)
	if err != nil {
		return err
	}
	defer child.close()
	if err := removeLitter(child, benchmarkUID); err != nil {
		return err
	}
	// Before what they tell of.
	if err := removeLayoutRecords(child); err != nil {
		return err
	}
	return child.each(func(entry fs.DirEntry) (bool, error) {
		if !clientName.MatchString(entry.Name()) {
			return false, nil
		}
		return false, removeEntry(ctx, child, entry)
	})
}

// ignoreMissing makes removing idempotent: what is not there is removed.
func ignoreMissing(err error) error {
	if errors.Is(err, ErrMissing) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
