package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// removeTree empties a directory. It unlinks symbolic links without following them, and does not enter or remove mounts
// in the directory. It continues after a failed removal, and lists the directory again until no further entry can be
// removed. It then returns the first error of the last listing. It calls `may` before each removal, and stops if `may`
// returns an error.
func removeTree(may func() error, d *directory) error {
	for {
		var first error
		removed := 0
		err := d.each(func(entry fs.DirEntry) (bool, error) {
			if err := may(); err != nil {
				return true, err
			}
			err := removeEntry(may, d, entry.Name())
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
		// Removing entries during a listing may cause the listing to miss other entries. Repeat until a listing finds nothing
		// that can be removed.
		if removed == 0 {
			return first
		}
	}
}

func removeEntry(may func() error, parent *directory, name string) error {
	// Do not rely on the entry type in the listing, which may be outdated or unknown.
	info, err := parent.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return classify(filepath.Join(parent.path, name), "look at", err)
	}
	if info.IsDir() {
		if err := removeDirectory(may, parent, name, info.Mode()); err != nil {
			return err
		}
		if err := may(); err != nil {
			return err
		}
	}
	return parent.remove(name)
}

func removeDirectory(may func() error, parent *directory, name string, mode fs.FileMode) error {
	if mode.Perm()&0o700 != 0o700 {
		// A program under test may create read-only directories, and entries can only be removed from a writable directory.
		// If the mode cannot be changed, removing the entries fails and reports the reason.
		parent.makeWritable(name)
	}
	child, err := parent.child(name)
	if err != nil {
		return err
	}
	defer child.close()
	return removeTree(may, child)
}

// makeWritable gives the owner of a subdirectory all permissions on it. It changes nothing if the subdirectory is a
// mount point, because the mode then belongs to the mounted file system.
func (d *directory) makeWritable(name string) {
	// Opening with O_PATH needs no permission on the subdirectory.
	file, err := d.root.OpenFile(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	if id, err := identity(file); err == nil && id.mount == d.id.mount {
		_ = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), 0o700)
	}
}

// RemoveDirectory removes a directory that is not on the storage under test. Unlike os.RemoveAll, it does not touch
// file systems that are mounted on or in the directory.
func RemoveDirectory(path string) error {
	above, name := filepath.Split(path)
	root, err := os.OpenRoot(above)
	if err != nil {
		return classify(above, "open", err)
	}
	parent, err := newDirectory(root, above)
	if err != nil {
		return err
	}
	defer parent.close()
	return removeEntry(func() error { return nil }, parent, name)
}

// removeLevel removes an owned directory that contains only the given files and the records of this package. If another
// client adds something in the meantime, removeLevel keeps the directory and writes its ownership file again.
func removeLevel(parent *directory, name, benchmarkUID string, files []string) error {
	child, err := openOwned(parent, name, benchmarkUID)
	if errors.Is(err, errNoOwner) && parent.root.Remove(name) == nil {
		return nil // a client was killed after emptying the directory and before removing it
	}
	if err != nil {
		return ignoreMissing(err)
	}
	defer child.close()
	owner, err := readOwner(child)
	if err != nil {
		return ignoreMissing(err)
	}
	only, err := holdsOnlyOurs(child, benchmarkUID, files)
	if err != nil || !only {
		// A missing directory is not an error: another client may have removed it at the end of the same run.
		return ignoreMissing(err)
	}
	// Use the open directory instead of its name, which may refer to another directory by now.
	err = errors.Join(ignoreMissing(removeRecords(child, benchmarkUID)), ignoreMissing(removeHolderRecords(child)))
	if err != nil {
		return err
	}
	// Remove the ownership file last: without it, a retry could not recognize the directory as the benchmark's.
	if err := removeOwnFiles(child, files); err != nil {
		return err
	}
	err = parent.root.Remove(name)
	if isNotEmpty(err) {
		return ignoreMissing(writeOwner(child, owner, false))
	}
	return ignoreMissing(classify(child.path, "remove", err))
}

// holdsOnlyOurs reports whether a directory contains only the given files and the records of this package.
func holdsOnlyOurs(d *directory, benchmarkUID string, files []string) (bool, error) {
	only := true
	err := d.each(func(entry fs.DirEntry) (bool, error) {
		only = slices.Contains(files, entry.Name()) || holderRecord.MatchString(entry.Name()) ||
			isRecord(entry, benchmarkUID)
		return !only, nil
	})
	return only, err
}

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)
}

// removeLitter removes the partial directories of killed clients. Do not call it while clients are running, because
// they may rename a scratch directory to its final name during the removal.
func removeLitter(d *directory, benchmarkUID string) error {
	return d.each(func(entry fs.DirEntry) (bool, error) {
		if !isScratch(entry.Name(), benchmarkUID) {
			return false, nil
		}
		err := removeScratch(d, entry.Name(), benchmarkUID)
		if isNotEmpty(err) {
			err = nil // keep a scratch directory that contains foreign files
		}
		return false, err
	})
}

// RemoveEmpty removes the empty parents of a client's directory that was never created.
func RemoveEmpty(mount Mount, location Location) error {
	if err := location.Validate(); err != nil {
		return err
	}
	top, err := openTop(mount)
	if err != nil {
		return err
	}
	defer top.close()
	return retryChanged(func() error { return removeParents(top, lockGuards{}, location.BenchmarkUID, location.DatasetHash) })
}

// removeParents removes the empty directories above clients' directories. It keeps the benchmark's directory if a lock
// guards it; see lockGuards.
func removeParents(top *directory, guards lockGuards, benchmarkUID string, hashes ...string) error {
	return removeBase(top, func(base *directory) error { return removeBenchmark(base, guards, benchmarkUID, hashes) })
}

// lockGuards determines whether the lock of a benchmark's directory keeps the directory from being removed. The zero
// value keeps the directory while any process holds the lock: if the lock file were removed, another run could create
// and lock a new one, although the first run still uses the directory.
type lockGuards struct {
	// except is the lock that the caller holds and is about to release. It does not guard the directory.
	except *os.File
	// never means that the lock does not guard the directory. An agent whose conductor has died may have inherited the
	// conductor's lock, and cannot tell whether another process also holds it. The agent removes the directory anyway,
	// because the conductor, which would otherwise remove it, no longer exists.
	never bool
}

// guarded reports whether the lock guards a benchmark's directory. If guarded finds the lock free, it takes the lock
// and holds it until release is called, so that no other run can lock the directory before it is removed.
func (g lockGuards) guarded(uid *directory) (guarded bool, release func(), err error) {
	release = func() {}
	if g.never || g.except != nil && isNamed(uid, lockFile, g.except) == nil {
		return false, release, nil
	}
	file, err := uid.file(lockFile, os.O_RDWR)
	if err != nil {
		return false, release, ignoreMissing(err)
	}
	_, err = tryFlock(file)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_ = file.Close()
		return true, release, nil
	}
	return false, func() { _ = file.Close() }, err
}

// removeUnlocked removes a benchmark's directory and its parent if they contain no data and no lock file.
func removeUnlocked(top *directory, benchmarkUID string) error {
	return removeBase(top, func(base *directory) error {
		return removeLevel(base, benchmarkUID, benchmarkUID, []string{ownerFile})
	})
}

// removeBase opens the directory that contains the data of all benchmarks, passes it to the function `below`, and then
// removes it if it is empty.
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

func removeBenchmark(base *directory, guards lockGuards, benchmarkUID string, hashes []string) error {
	uid, err := openOwned(base, benchmarkUID, benchmarkUID)
	switch {
	case err == nil:
		defer uid.close()
		for _, hash := range hashes {
			err = errors.Join(err, removeLevel(uid, hash, benchmarkUID, ownFiles))
		}
		guarded, release, lockErr := guards.guarded(uid)
		defer release()
		if err = errors.Join(err, lockErr); guarded {
			return ignoreMissing(err)
		}
	case errors.Is(err, errNoOwner): // removeLevel handles a missing ownership file
		err = nil
	}
	if err := ignoreMissing(err); err != nil {
		return err
	}
	return removeLevel(base, benchmarkUID, benchmarkUID, ownFiles)
}

var clientName = regexp.MustCompile(`^client-(0|[1-9][0-9]*)$`)

// clientIndex returns the index of the client whose directory has the given name.
func clientIndex(name string) (index int, ok bool) {
	found := clientName.FindStringSubmatch(name)
	if found == nil {
		return 0, false
	}
	index, err := strconv.Atoi(found[1])
	return index, err == nil
}

// sweepHash removes the directories of all clients of one layout. If one of them cannot be removed, it still removes
// the others.
func sweepHash(ctx context.Context, uid *directory, hash, benchmarkUID, runUID string) error {
	child, err := openOwned(uid, hash, benchmarkUID)
	if errors.Is(err, errNoOwner) {
		return nil // removeLevel handles a missing ownership file
	}
	if err != nil {
		return err
	}
	defer child.close()
	if err := removeLitter(child, benchmarkUID); err != nil {
		return err
	}
	var failed error
	err = child.each(func(entry fs.DirEntry) (bool, error) {
		if index, ok := clientIndex(entry.Name()); ok {
			failed = errors.Join(failed, ignoreMissing(sweepClient(ctx, child, entry, Location{Client: index}, runUID)))
		}
		return false, ctx.Err()
	})
	return errors.Join(failed, err)
}

// sweepClient removes a client's directory unless an agent of another run may be using it. It locks the holder record
// until the directory is removed. Without a lock that all machines see, an agent may take the directory meanwhile, so
// sweepClient reads the record before each removal.
func sweepClient(ctx context.Context, hash *directory, entry fs.DirEntry, client Location, runUID string) error {
	name, locked := client.holderName(), false
	record, err := hash.file(name, os.O_RDWR)
	if err == nil {
		defer func() { _ = record.Close() }()
		locked, err = lockRecord(hash, name, record)
	}
	if held, is := errors.AsType[*heldError](err); is {
		return held.problem()
	}
	if err := ignoreMissing(err); err != nil {
		return err
	}
	may := func() error {
		if err := ctx.Err(); err != nil || locked {
			return err
		}
		return checkRun(hash, name, runUID)
	}
	if err := may(); err != nil {
		return err
	}
	if err := removeLayoutRecord(hash, client); err != nil {
		return err
	}
	return removeEntry(may, hash, entry.Name())
}

// ignoreMissing makes removals idempotent: a missing file counts as removed.
func ignoreMissing(err error) error {
	if errors.Is(err, ErrMissing) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
