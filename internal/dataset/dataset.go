package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Dataset is one client's open directory on a target.
type Dataset struct {
	mount    Mount
	location Location
	client   *directory
	// readOnly is true if the dataset was opened for reading only, on a volume that is mounted read-only.
	readOnly bool
	// held is the agent's lock on the directory, or nil if none was acquired. If unusedOnly is true, the lock must not
	// be acquired while the directory's previous agent may still be running.
	held       *Hold
	unusedOnly bool
	// holesShow is true if the file system reports holes in files. The file system is probed once, when holesShow is first
	// needed.
	holes     sync.Once
	holesShow bool
}

// Create creates a client's directory, or opens it if it exists and belongs to the benchmark. The target must still be
// the directory that was verified.
func Create(mount Mount, location Location, owner Owner) (*Dataset, error) {
	if err := location.Validate(); err != nil {
		return nil, err
	}
	if owner.BenchmarkUID != location.BenchmarkUID {
		return nil, fmt.Errorf("create %s: the path does not match the owner's benchmark UID %q", location.Path(), owner.BenchmarkUID)
	}
	var client *directory
	err := retryChanged(func() (err error) {
		client, err = makeClient(mount, location, owner)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Dataset{mount: mount, location: location, client: client}, nil
}

// Open opens a client's existing directory. The error wraps ErrMissing if there is none.
func Open(mount Mount, location Location) (*Dataset, error) {
	if err := location.Validate(); err != nil {
		return nil, err
	}
	top, err := openTop(mount)
	if err != nil {
		return nil, err
	}
	defer top.close()
	var client *directory
	err = retryChanged(func() (err error) {
		client, err = openClient(top, location)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Dataset{mount: mount, location: location, client: client}, nil
}

func openClient(top *directory, location Location) (*directory, error) {
	hash, err := openHash(top, location)
	if err != nil {
		return nil, err
	}
	defer hash.close()
	return hash.child(location.clientName())
}

// openHash walks from the target to the directory of a layout and checks the ownership of each level.
func openHash(top *directory, location Location) (*directory, error) {
	base, err := top.child(baseName)
	if err != nil {
		return nil, err
	}
	defer base.close()
	uid, err := openOwned(base, location.BenchmarkUID, location.BenchmarkUID)
	if err != nil {
		return nil, err
	}
	defer uid.close()
	return openOwned(uid, location.DatasetHash, location.BenchmarkUID)
}

// Path returns the directory's absolute path, for the tool.
func (d *Dataset) Path() string { return d.client.path }

// Mount returns the verified mount of the directory.
func (d *Dataset) Mount() Mount { return d.mount }

// Is reports whether seen describes the dataset's directory, even if the paths differ. It returns false if the
// directory's own attributes cannot be read.
func (d *Dataset) Is(seen fs.FileInfo) bool {
	own, err := d.client.root.Stat(".")
	return err == nil && os.SameFile(own, seen)
}

// Empty reports whether the directory is empty.
func (d *Dataset) Empty() (bool, error) { return d.client.empty() }

// EmptyIn reports whether a directory directly inside the client's directory is missing or empty.
func (d *Dataset) EmptyIn(name string) (bool, error) {
	folder, err := d.client.child(name)
	if err != nil {
		return errors.Is(err, ErrMissing), ignoreMissing(err)
	}
	defer folder.close()
	return folder.empty()
}

// Close releases the directory and keeps its files.
func (d *Dataset) Close() error {
	if err := d.client.root.Close(); err != nil {
		return fmt.Errorf("close %s: %w", d.client.path, err)
	}
	return nil
}

// Remove deletes the client's directory and then the parents that contain only this package's own files. A second call
// does nothing. Remove follows no symbolic link and crosses no mount. It fails with ErrChanged if another directory has
// replaced the opened one, and with ErrHeld if another agent has taken over the directory. Other clients may use or
// remove their own directories at the same time. The benchmark's directory is not removed while a run holds its lock.
func (d *Dataset) Remove(ctx context.Context) error { return d.remove(ctx, lockGuards{}) }

// RemoveWithLock is like Remove, but also removes the benchmark's directory and the lock file in it if the lock is
// held. It is for an agent whose conductor has died: the agent may have inherited the lock from the conductor, so a
// held lock does not show that another process uses the directory.
func (d *Dataset) RemoveWithLock(ctx context.Context) error {
	return d.remove(ctx, lockGuards{never: true})
}

func (d *Dataset) remove(ctx context.Context, guards lockGuards) error {
	top, err := openTop(d.mount)
	if err != nil {
		return err
	}
	defer top.close()
	removed := false
	return retryChanged(func() error {
		if !removed {
			if err := ignoreMissing(d.removeClient(ctx, top)); err != nil {
				return err
			}
			// Do not remove the client's directory again when the removal of the parents is retried: by then, another
			// agent may have created a directory of the same name.
			removed = true
		}
		return removeParents(top, guards, d.location.BenchmarkUID, d.location.DatasetHash)
	})
}

func (d *Dataset) removeClient(ctx context.Context, top *directory) error {
	hash, err := openHash(top, d.location)
	if err != nil {
		return err
	}
	defer hash.close()
	client, err := hash.child(d.location.clientName())
	if err != nil {
		return err
	}
	defer client.close()
	if client.id != d.client.id {
		return &Problem{
			Reason: ErrChanged, Path: client.path, Detail: "it was replaced by another directory during the run",
			Remedy: "inspect it, and remove it manually",
		}
	}
	ours := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return d.confirmHeld(hash)
	}
	if err := ours(); err != nil {
		return err
	}
	if err := removeLayoutRecord(hash, d.location); err != nil {
		return err
	}
	if err := removeTree(ours, client); err != nil {
		return err
	}
	if err := ours(); err != nil {
		return err
	}
	if err := classify(client.path, "remove", hash.root.Remove(d.location.clientName())); err != nil {
		return err
	}
	return d.releaseHold(hash)
}

// Sweep removes all clients' data of one benchmark from a target, including partial directories of killed clients. Do
// not call it while clients of the run are running. It keeps directories that agents of other runs may be using,
// including agents on other machines and agents that only read the data (ErrHeld). Missing data is not an error. A
// missing (ErrMissing) or replaced (ErrChanged) target is an error, because it is then unknown whether the data still
// exists.
func Sweep(ctx context.Context, mount Mount, benchmarkUID, runUID string) error {
	if err := (Location{BenchmarkUID: benchmarkUID, DatasetHash: "any"}).Validate(); err != nil {
		return err
	}
	top, err := openTop(mount)
	if err != nil {
		return err
	}
	defer top.close()
	return retryChanged(func() error {
		hashes, err := sweepBenchmark(ctx, top, benchmarkUID, runUID)
		// Ignore errNoOwner here: removeParents removes a directory without an ownership file if it is empty, and
		// otherwise returns an error.
		if err := ignoreMissing(err); err != nil && !errors.Is(err, errNoOwner) {
			return err
		}
		return removeParents(top, lockGuards{}, benchmarkUID, hashes...)
	})
}

// sweepBenchmark removes every client's data and returns the hashes of the layouts that it found.
func sweepBenchmark(ctx context.Context, top *directory, benchmarkUID, runUID string) ([]string, error) {
	base, err := top.child(baseName)
	if err != nil {
		return nil, err
	}
	defer base.close()
	if err := removeLitter(base, benchmarkUID); err != nil {
		return nil, err
	}
	uid, err := openOwned(base, benchmarkUID, benchmarkUID)
	if err != nil {
		return nil, err
	}
	defer uid.close()
	if err := removeLitter(uid, benchmarkUID); err != nil {
		return nil, err
	}
	var hashes []string
	var failed error
	err = uid.each(func(entry fs.DirEntry) (bool, error) {
		if !name.MatchString(entry.Name()) || !entry.IsDir() {
			return false, nil
		}
		hashes = append(hashes, entry.Name())
		failed = errors.Join(failed, ignoreMissing(sweepHash(ctx, uid, entry.Name(), benchmarkUID, runUID)))
		return false, nil
	})
	return hashes, errors.Join(failed, err)
}

// FreeBytes returns how many bytes an unprivileged user can still write on the file system.
func (d *Dataset) FreeBytes() (uint64, error) {
	space, err := d.fileSystem()
	return space.Bavail * blockSize(space), err
}

// fileSystem returns the statistics of the file system.
func (d *Dataset) fileSystem() (space unix.Statfs_t, err error) {
	file, err := d.client.root.Open(".")
	if err != nil {
		return space, classify(d.client.path, "open", err)
	}
	defer func() { _ = file.Close() }()
	err = unix.Fstatfs(int(file.Fd()), &space)
	return space, classify(d.client.path, "get the file system statistics of", err)
}

// CheckFiles returns an *InodesError if fewer than needFiles files can still be created. It returns nil
// for the many file systems that report no limit.
func (d *Dataset) CheckFiles(needFiles uint64) error {
	space, err := d.fileSystem()
	if err != nil {
		return err
	}
	if space.Files > 0 && space.Ffree < needFiles {
		return &InodesError{Path: d.client.path, NeedFiles: needFiles, FreeFiles: space.Ffree}
	}
	return nil
}

// CheckSpace returns a *SpaceError if fewer than needBytes bytes are free.
func (d *Dataset) CheckSpace(needBytes uint64) error {
	free, err := d.FreeBytes()
	if err != nil {
		return err
	}
	if free < needBytes {
		return &SpaceError{Path: d.client.path, NeedBytes: needBytes, FreeBytes: free}
	}
	return nil
}

// ErrBadName means that a file name leads out of the directory.
var ErrBadName = errors.New("is not a path inside the dataset")

// walk opens the directory that contains a file of the dataset. The caller must release it (see release).
func (d *Dataset) walk(file string) (holder *directory, base string, err error) {
	if !filepath.IsLocal(file) || file == "." || filepath.Clean(file) != file {
		return nil, "", &Problem{Reason: ErrBadName, Path: file, Remedy: "use a path relative to the dataset's directory"}
	}
	parts := strings.Split(file, "/")
	holder = d.client
	for _, part := range parts[:len(parts)-1] {
		next, err := holder.child(part)
		d.release(holder)
		if err != nil {
			return nil, "", err
		}
		holder = next
	}
	return holder, parts[len(parts)-1], nil
}

func (d *Dataset) release(holder *directory) {
	if holder != d.client {
		holder.close()
	}
}
