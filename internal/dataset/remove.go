package dataset

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
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

// removeLevel removes an owned directory that holds nothing but our own files. It is renamed
// before its ownership file goes, so that nobody ever sees it without.
func removeLevel(parent *directory, name, benchmarkUID string) error {
	empty, err := holdsOnlyOurs(parent, name, benchmarkUID)
	if err != nil || !empty {
		return ignoreMissing(err)
	}
	scratch := scratchPrefix + benchmarkUID + "-" + rand.Text()
	if err := parent.root.Rename(name, scratch); err != nil {
		return ignoreMissing(classify(filepath.Join(parent.path, name), "remove", err))
	}
	empty, err = holdsOnlyOurs(parent, scratch, benchmarkUID)
	if err == nil && !empty {
		// A client came between; it finds its directory under the old name again.
		return ignoreMissing(classify(filepath.Join(parent.path, name), "restore", parent.root.Rename(scratch, name)))
	}
	if err != nil {
		return ignoreMissing(err)
	}
	return removeScratch(parent, scratch)
}

// holdsOnlyOurs checks the ownership and that there is nothing else. Litter of clients that died
// while they created a directory is removed on the way.
func holdsOnlyOurs(parent *directory, name, benchmarkUID string) (bool, error) {
	child, err := parent.child(name)
	if err != nil {
		return false, err
	}
	defer child.close()
	if err := checkOwner(child, benchmarkUID); err != nil {
		return false, err
	}
	if err := removeLitter(child, benchmarkUID); err != nil {
		return false, err
	}
	only := true
	err = child.each(func(entry fs.DirEntry) (bool, error) {
		only = entry.Name() == ownerFile || entry.Name() == lockFile
		return !only, nil
	})
	return only, err
}

// removeLitter removes what a killed client left half made or half removed.
func removeLitter(d *directory, benchmarkUID string) error {
	return d.each(func(entry fs.DirEntry) (bool, error) {
		if !isScratch(entry.Name(), benchmarkUID) || !entry.IsDir() {
			return false, nil
		}
		err := removeScratch(d, entry.Name())
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
			err = nil // it holds something that is not ours
		}
		return false, err
	})
}

// removeParents removes the levels above a client's directory as far as they are empty.
func removeParents(top *directory, benchmarkUID string, hashes ...string) error {
	base, err := top.child(baseName)
	if err != nil {
		return ignoreMissing(err)
	}
	err = removeBenchmark(base, benchmarkUID, hashes)
	base.close()
	if err != nil {
		return err
	}
	err = top.root.Remove(baseName)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrExist):
		return nil
	}
	return classify(filepath.Join(top.path, baseName), "remove", err)
}

func removeBenchmark(base *directory, benchmarkUID string, hashes []string) error {
	uid, err := base.child(benchmarkUID)
	if err == nil {
		err = checkOwner(uid, benchmarkUID)
		for _, hash := range hashes {
			if err == nil {
				err = removeLevel(uid, hash, benchmarkUID)
			}
		}
		uid.close()
	}
	if err := ignoreMissing(err); err != nil {
		return err
	}
	if err := removeLevel(base, benchmarkUID, benchmarkUID); err != nil {
		return err
	}
	return removeLitter(base, benchmarkUID)
}

var clientName = regexp.MustCompile(`^client-(0|[1-9][0-9]*)$`)

// sweepHash removes the directories of all clients of one layout.
func sweepHash(ctx context.Context, uid *directory, hash, benchmarkUID string) error {
	child, err := uid.child(hash)
	if err != nil {
		return err
	}
	defer child.close()
	if err := checkOwner(child, benchmarkUID); err != nil {
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
