package dataset

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// directoryMode keeps strangers out; the clients of a run share a user or a group.
	directoryMode = 0o750
	// attempts bounds the retries against other clients that create and remove the same parents.
	attempts = 50
	// scratchPrefix begins the names of directories that are being made or removed.
	scratchPrefix = ".tmp-"
)

// errLostRace says that another client removed a parent while we were in it; the chain is walked
// again from the top.
var errLostRace = errors.New("a parent directory was removed meanwhile")

// makeChain opens the directory of a location's client, creating what is missing.
func makeChain(mount Mount, location Location, owner Owner) (*directory, error) {
	var err error
	for range attempts {
		var client *directory
		client, err = tryChain(mount, location, owner)
		if !errors.Is(err, errLostRace) {
			return client, err
		}
	}
	return nil, fmt.Errorf("create %s below %s: %w", location.Path(), mount.Path, err)
}

func tryChain(mount Mount, location Location, owner Owner) (*directory, error) {
	hash, err := tryHash(mount, location.BenchmarkUID, location.DatasetHash, owner)
	if err != nil {
		return nil, err
	}
	defer hash.close()
	return plainChild(hash, location.clientName())
}

func tryHash(mount Mount, benchmarkUID, datasetHash string, owner Owner) (*directory, error) {
	uid, err := tryUID(mount, benchmarkUID, owner)
	if err != nil {
		return nil, err
	}
	defer uid.close()
	return ownedChild(uid, datasetHash, owner)
}

func tryUID(mount Mount, benchmarkUID string, owner Owner) (*directory, error) {
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

// plainChild opens or creates a directory that needs no ownership file of its own.
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

// ownedChild opens a directory of the benchmark or creates it. A new one is made under another
// name and renamed when its ownership file is in it: nobody ever sees it without.
func ownedChild(parent *directory, name string, owner Owner) (*directory, error) {
	child, err := parent.child(name)
	if err == nil {
		if err = checkOwner(child, owner.BenchmarkUID); err != nil {
			child.close()
			// Removed and half gone is not foreign.
			if _, gone := parent.root.Lstat(name); errors.Is(gone, fs.ErrNotExist) {
				return nil, errLostRace
			}
			return nil, err
		}
		return child, nil
	}
	if !errors.Is(err, ErrMissing) {
		return nil, err
	}
	scratch := scratchPrefix + owner.BenchmarkUID + "-" + rand.Text()
	if err := makeOwned(parent, scratch, owner); err != nil {
		return nil, err
	}
	err = parent.root.Rename(scratch, name)
	switch {
	case err == nil:
		child, err := parent.child(name)
		if errors.Is(err, ErrMissing) {
			return nil, errLostRace
		}
		return child, err
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrNotExist):
		// Another client was first, or took our scratch for litter.
		_ = removeScratch(parent, scratch)
		return nil, errLostRace
	default:
		_ = removeScratch(parent, scratch)
		return nil, classify(filepath.Join(parent.path, name), "create", err)
	}
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
		err = writeOwner(child, owner)
		child.close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errLostRace
	case err != nil:
		_ = removeScratch(parent, name)
	}
	return err
}

// removeScratch deletes a directory that holds at most our own files.
func removeScratch(parent *directory, name string) error {
	for _, file := range []string{ownerFile, lockFile} {
		if err := parent.root.Remove(filepath.Join(name, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return classify(filepath.Join(parent.path, name, file), "remove", err)
		}
	}
	if err := parent.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return classify(filepath.Join(parent.path, name), "remove", err)
	}
	return nil
}

func isScratch(name, benchmarkUID string) bool {
	return strings.HasPrefix(name, scratchPrefix+benchmarkUID+"-")
}
