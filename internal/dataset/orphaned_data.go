package dataset

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxOwners limits the benchmarks that Owners returns, and maxLooked the directories that it reads.
	maxOwners = 64
	maxLooked = 256
	// orphanLockTimeout limits the wait for a directory that an agent holds. After that, the directory is skipped.
	orphanLockTimeout = 300 * time.Millisecond
)

// Owners returns the UIDs of benchmarks whose directories on a target were created by the given installation, at most
// 64 of them. It omits directories whose ownership file names another installation or none. It also omits the benchmark
// whose UID is `besides`, usually the caller's own.
func Owners(mount Mount, installation, besides string) ([]string, error) {
	if installation == "" {
		return nil, nil
	}
	top, err := openTop(mount)
	if err != nil {
		return nil, err
	}
	defer top.close()
	base, err := top.child(baseName)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer base.close()
	all, err := base.owners(besides)
	if err != nil {
		return nil, err
	}
	var found []string
	for i, uid := range all[1:] {
		if len(found) == maxOwners || i == maxLooked {
			break
		}
		if owner, err := ownerOf(base, uid); err == nil && owner.Installation == installation {
			found = append(found, uid)
		}
	}
	return found, nil
}

// ownerOf reads the ownership file of a benchmark's directory.
func ownerOf(base *directory, uid string) (Owner, error) {
	child, err := openOwned(base, uid, uid)
	if err != nil {
		return Owner{}, err
	}
	defer child.close()
	return readOwner(child)
}

// OrphanFilter selects which data of a benchmark may be removed.
type OrphanFilter struct {
	// BenchmarkUID is the benchmark's UID. The caller must ensure that the benchmark is gone or is the caller's own.
	BenchmarkUID string
	// Installation must match the directory's installation, unless Own is true. Own means that the benchmark is the
	// caller's own.
	Installation string
	Own          bool
	// Kept is true if data that was kept on purpose may be removed too.
	Kept bool
	// Spare reports whether to keep a client's directory of a dataset. If Spare is nil, no directory is spared.
	Spare func(hash string, client int) bool
	// Locked is true if the benchmark's lock (see AcquireLock) must exist and be free, which proves that its run
	// has ended.
	Locked bool
	// Holder identifies the agent that removes the data.
	Holder Holder
}

// OrphanResult is the result of RemoveOrphans.
type OrphanResult struct {
	// Removed is the number of clients' directories that were removed.
	Removed int
	// Stays lists the skipped directories, each with the reason.
	Stays []string
}

// RemoveOrphans removes the unused data that a benchmark left on a target. It skips and reports data that an agent
// holds, data on a file system without locks (where use cannot be detected), and data of another installation.
func RemoveOrphans(ctx context.Context, mount Mount, behind OrphanFilter) (OrphanResult, error) {
	var result OrphanResult
	if err := (Location{BenchmarkUID: behind.BenchmarkUID, DatasetHash: "any"}).Validate(); err != nil {
		return result, err
	}
	top, err := openTop(mount)
	if err != nil {
		return result, err
	}
	defer top.close()
	base, err := top.child(baseName)
	if err != nil {
		return result, ignoreMissing(err)
	}
	defer base.close()
	uid, err := openOwned(base, behind.BenchmarkUID, behind.BenchmarkUID)
	if errors.Is(err, errNoOwner) {
		return result, retryChanged(func() error { return removeParents(top, lockGuards{}, behind.BenchmarkUID) })
	}
	if err != nil {
		return result, ignoreMissing(err)
	}
	defer uid.close()
	why, err := behind.refuses(uid)
	if err != nil {
		return result, ignoreMissing(err) // ignore a directory that another client has just removed
	}
	if why != "" {
		result.Stays = append(result.Stays, uid.path+": "+why)
		return result, nil
	}
	var guards lockGuards
	if behind.Locked {
		lock, why := runIsOver(uid)
		if why != "" {
			result.Stays = append(result.Stays, uid.path+": "+why)
			return result, nil
		}
		defer func() { _ = lock.Close() }()
		guards.except = lock
	}
	var hashes []string
	var failed error
	err = uid.each(func(entry fs.DirEntry) (bool, error) {
		if !name.MatchString(entry.Name()) || !entry.IsDir() {
			return false, ctx.Err()
		}
		cleared, err := behind.removeHash(ctx, mount, uid, entry.Name(), &result)
		failed = errors.Join(failed, ignoreMissing(err))
		if cleared {
			hashes = append(hashes, entry.Name())
		}
		return false, ctx.Err()
	})
	if err := errors.Join(failed, err); err != nil {
		return result, err
	}
	return result, retryChanged(func() error { return removeParents(top, guards, behind.BenchmarkUID, hashes...) })
}

// refuses returns the reason why a benchmark's directory must not be touched, or "" if its data may be removed.
func (b *OrphanFilter) refuses(uid *directory) (why string, err error) {
	owner, err := readOwner(uid)
	if err != nil {
		return "", err
	}
	locks, err := hasLocks(uid)
	switch {
	case err != nil:
		return "", err
	case !b.Own && (owner.Installation == "" || owner.Installation != b.Installation):
		return "its ownership file names another installation or none", nil
	case !locks:
		return "its file system does not support locks that all machines see, so another agent may be using it", nil
	}
	return "", nil
}

// runIsOver takes a benchmark's lock, which proves that its run has ended, or returns the reason why it cannot.
func runIsOver(uid *directory) (lock *os.File, why string) {
	file, err := uid.file(lockFile, os.O_RDWR)
	if err != nil {
		return nil, "its lock file cannot be opened, so it is unknown whether its run has ended"
	}
	if locked, err := tryFlock(file); err != nil || !locked {
		_ = file.Close()
		return nil, "its run has not ended"
	}
	return file, ""
}

// OnThisMachine reports whether the file system is local: no other machine mounts it at the same time, so all its
// users see its locks.
func (m Mount) OnThisMachine() bool {
	return slices.Contains([]string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "zfs", "overlay"}, m.FilesystemType)
}

// hasLocks reports whether the file system supports locks. It tries a shared lock, which disturbs no other process.
func hasLocks(in *directory) (bool, error) {
	file, err := in.file(ownerFile, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	return flock(file, unix.LOCK_SH) == nil && locksReachServer(file), nil
}

// removeHash removes the clients' directories of one dataset. cleared is true if no client's directory remains.
func (b *OrphanFilter) removeHash(ctx context.Context, mount Mount, uid *directory, hash string, result *OrphanResult) (cleared bool, err error) {
	child, err := openOwned(uid, hash, b.BenchmarkUID)
	if errors.Is(err, errNoOwner) {
		return true, nil // removeLevel handles a removal that another client has not finished
	}
	if err != nil {
		return false, err
	}
	defer child.close()
	owner, err := readOwner(child)
	if err != nil {
		return false, err
	}
	if owner.Keep && !b.Kept {
		if !b.Own {
			result.Stays = append(result.Stays, child.path+": kept because of dataPolicy: Retain")
		}
		return false, nil
	}
	cleared = true
	err = child.each(func(entry fs.DirEntry) (bool, error) {
		index, ok := clientIndex(entry.Name())
		if !ok {
			return false, ctx.Err()
		}
		location := Location{BenchmarkUID: b.BenchmarkUID, DatasetHash: hash, Client: index}
		if b.Spare != nil && b.Spare(hash, location.Client) {
			cleared = false
			return false, nil
		}
		if err := b.removeClient(ctx, mount, location); err != nil {
			cleared = false
			result.Stays = append(result.Stays, filepath.Join(child.path, entry.Name())+": "+err.Error())
			return false, ctx.Err()
		}
		result.Removed++
		return false, ctx.Err()
	})
	return cleared, err
}

// removeClient removes one client's directory if no agent holds it.
func (b *OrphanFilter) removeClient(ctx context.Context, mount Mount, location Location) error {
	short, cancel := context.WithTimeout(ctx, orphanLockTimeout)
	defer cancel()
	directory, hold, err := TakeUnused(short, mount, location, b.Holder)
	if err != nil {
		return ignoreMissing(err)
	}
	defer hold.Release()
	return errors.Join(directory.Remove(ctx), directory.Close())
}

// Keep records in the ownership file that the data is kept on purpose, so that cleanups of orphaned data skip it.
func (d *Dataset) Keep() error {
	return d.withParent(func(hash *directory) error {
		owner, err := readOwner(hash)
		if err != nil || owner.Keep {
			return err
		}
		if err := d.confirmHeld(hash); err != nil {
			return err
		}
		owner.Keep = true
		if err := writeOwner(hash, owner, true); err != nil {
			return err
		}
		return hash.sync()
	})
}
