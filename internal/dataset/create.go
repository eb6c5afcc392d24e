package dataset

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// directoryMode lets the owner write and the group read, because the clients of a run share a user or a group.
	// Other users have no access.
	directoryMode = 0o750
	// attempts limits the tries of an operation that fails because other clients create or remove the same parent
	// directories. With a retryPause after each try, all tries together take at least half a second.
	attempts   = 50
	retryPause = 10 * time.Millisecond
	// scratchPrefix begins the temporary name of a directory or an ownership file while it is being created.
	scratchPrefix = ".tmp-"
)

// errLostRace means that another client or agent created, replaced or removed a directory or a lock file during an
// operation. The caller repeats the whole operation, starting at the target's directory.
var errLostRace = errors.New("a parent directory was removed concurrently")

// isTransient reports whether the error may result from a concurrent change by another client, so that a retry may
// succeed.
func isTransient(err error) bool {
	// If another machine has removed a directory, NFS reports it as stale, not as missing.
	return errors.Is(err, errLostRace) || errors.Is(err, errNoOwner) || errors.Is(err, errReplaced) ||
		errors.Is(err, unix.ESTALE)
}

// retryChanged calls `try` up to `attempts` times, until it succeeds or fails for a reason other than a concurrent
// change by another client.
func retryChanged(try func() error) error {
	var err error
	for range attempts {
		if err = try(); !isTransient(err) {
			return err
		}
		time.Sleep(retryPause)
	}
	return err
}

// makeClient opens a location's client directory. It creates the directory and its missing parents up to the target's
// directory.
func makeClient(mount Mount, location Location, owner Owner) (*directory, error) {
	hash, err := makeHash(mount, location.BenchmarkUID, location.DatasetHash, owner)
	if err != nil {
		return nil, err
	}
	defer hash.close()
	return plainChild(hash, location.clientName())
}

func makeHash(mount Mount, benchmarkUID, datasetHash string, owner Owner) (*directory, error) {
	uid, err := makeUID(mount, benchmarkUID, owner)
	if err != nil {
		return nil, err
	}
	defer uid.close()
	return ownedChild(uid, datasetHash, owner)
}

func makeUID(mount Mount, benchmarkUID string, owner Owner) (*directory, error) {
	top, err := openTop(mount)
	if err != nil {
		return nil, err
	}
	defer top.close()
	base, err := plainChild(top, baseName)
	if err != nil {
		return nil, err
	}
	defer base.close()
	return ownedChild(base, benchmarkUID, owner)
}

// plainChild opens or creates a directory without an ownership file of its own.
func plainChild(parent *directory, name string) (*directory, error) {
	path := filepath.Join(parent.path, name)
	err := parent.root.Mkdir(name, directoryMode)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errLostRace
	case err != nil && !errors.Is(err, fs.ErrExist):
		return nil, classify(path, "create", err)
	}
	child, err := parent.child(name)
	if errors.Is(err, ErrMissing) {
		return nil, errLostRace
	}
	return child, err
}

// ownedChild opens or creates a directory that belongs to the benchmark. It creates a new one under a scratch name and
// renames it once the ownership file is in it, so that other clients never see it without that file.
func ownedChild(parent *directory, name string, owner Owner) (*directory, error) {
	child, err := openOwned(parent, name, owner.BenchmarkUID)
	switch {
	case err == nil:
		return child, nil
	case errors.Is(err, errNoOwner):
		// A client that is killed after it removed the ownership file but before it removed the directory leaves an empty
		// directory. Only such an empty directory may be replaced; a nonempty directory without an ownership file is foreign.
		if parent.root.Remove(name) == nil {
			return nil, errLostRace
		}
		return nil, err
	case !errors.Is(err, ErrMissing):
		return nil, err
	}
	scratch := scratchName(owner.BenchmarkUID)
	if err := makeOwned(parent, scratch, owner); err != nil {
		return nil, err
	}
	err = parent.root.Rename(scratch, name)
	if err == nil {
		child, err = openOwned(parent, name, owner.BenchmarkUID)
		if errors.Is(err, ErrMissing) {
			err = errLostRace
		}
		return child, err
	}
	_ = removeScratch(parent, scratch, owner.BenchmarkUID)
	return nil, renameFailed(parent, name, err)
}

// renameFailed returns the reason why a scratch directory could not be renamed to the given name.
func renameFailed(parent *directory, name string, err error) error {
	_, missing := parent.root.Lstat(name)
	if missing == nil || isNotEmpty(err) || errors.Is(err, fs.ErrNotExist) {
		// Another client created the directory first, or removed our scratch directory as a leftover. If the directory
		// exists, a Windows server denies the rename.
		return errLostRace
	}
	return classify(filepath.Join(parent.path, name), "create", err)
}

// openOwned opens a directory and checks that it belongs to the benchmark.
func openOwned(parent *directory, name, benchmarkUID string) (*directory, error) {
	child, err := parent.child(name)
	if err != nil {
		return nil, err
	}
	if err := checkOwner(child, benchmarkUID); err != nil {
		child.close()
		return nil, err
	}
	return child, nil
}

func makeOwned(parent *directory, name string, owner Owner) error {
	err := parent.root.Mkdir(name, directoryMode)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errLostRace
	case err != nil:
		return classify(filepath.Join(parent.path, name), "create", err)
	}
	child, err := parent.child(name)
	if err == nil {
		err = writeOwner(child, owner, false)
		child.close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errLostRace
	case err != nil:
		_ = removeScratch(parent, name, owner.BenchmarkUID)
	}
	return err
}

// removeScratch deletes a scratch directory and this package's own files in it, including scratch files. It fails if
// the directory contains anything else.
func removeScratch(parent *directory, name, benchmarkUID string) error {
	child, err := parent.child(name)
	if err == nil {
		err = errors.Join(removeOwnFiles(child, ownFiles), child.each(func(entry fs.DirEntry) (bool, error) {
			if !isScratch(entry.Name(), benchmarkUID) {
				return false, nil
			}
			return false, child.remove(entry.Name())
		}))
		child.close()
	}
	if err != nil && !errors.Is(err, ErrNotDirectory) {
		return ignoreMissing(err)
	}
	return parent.remove(name)
}

// ownFiles lists the names of the files that this package writes into the directories of a benchmark and of a dataset.
var ownFiles = []string{ownerFile, lockFile}

// removeOwnFiles deletes the files with the given names from a directory.
func removeOwnFiles(d *directory, files []string) error {
	for _, file := range files {
		if err := d.remove(file); err != nil {
			return err
		}
	}
	return nil
}

func scratchName(benchmarkUID string) string {
	return scratchPrefix + benchmarkUID + "-" + rand.Text()
}

func isScratch(name, benchmarkUID string) bool {
	return strings.HasPrefix(name, scratchPrefix+benchmarkUID+"-")
}

// EmptyFolder creates a directory directly inside the client's directory. If the directory exists, EmptyFolder removes
// everything in it.
func (d *Dataset) EmptyFolder(ctx context.Context, name string) error {
	if !filepath.IsLocal(name) || name != filepath.Base(name) || name == "." {
		return &Problem{Reason: ErrBadName, Path: name, Remedy: "use a directory directly inside the dataset's directory"}
	}
	folder, err := plainChild(d.client, name)
	if err != nil {
		return err
	}
	defer folder.close()
	return removeTree(ctx.Err, folder)
}
