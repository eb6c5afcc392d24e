package dataset

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

const (
	// directoryMode keeps strangers out; the clients of a run share a user or a group.
	directoryMode = 0o750
	// attempts and retryPause bound the retries against other clients that create and remove the
	// same parents: half a second in all.
	attempts   = 50
	retryPause = 10 * time.Millisecond
	// scratchPrefix begins the names of directories that are being made or removed.
	scratchPrefix = ".tmp-"
)

// errLostRace says that another client removed a parent while we were in it; the chain is walked
// again from the top.
var errLostRace = errors.New("a parent directory was removed meanwhile")

// isTransient is true for what another client's work can cause: try again before believing it.
func isTransient(err error) bool {
	return errors.Is(err, errLostRace) || errors.Is(err, errNoOwner) || errors.Is(err, errExchanged)
}

// settle repeats what failed for another client's work at the same place.
func settle(try func() error) error {
	var err error
	for range attempts {
		if err = try(); !isTransient(err) {
			return err
		}
		time.Sleep(retryPause)
	}
	return err
}

// makeClient opens the directory of a location's client, creating what is missing.
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
// name and renamed when its ownership file is in it, so that nobody sees it without.
func ownedChild(parent *directory, name string, owner Owner) (*directory, error) {
	child, err := openOwned(parent, name, owner.BenchmarkUID)
	switch {
	case err == nil:
		return child, nil
	case errors.Is(err, errNoOwner):
		// A client that is killed between removing the ownership file and the directory leaves an
		// empty one; nothing else that lacks the file is taken over.
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
	_ = removeScratch(parent, scratch)
	if isNotEmpty(err) || errors.Is(err, fs.ErrNotExist) {
		// Another client was first, or took our scratch for litter.
		return nil, errLostRace
	}
	return nil, classify(filepath.Join(parent.path, name), "create", err)
}

// openOwned opens a directory and checks whose it is.
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
	child, err := parent.child(name)
	if err == nil {
		err = removeOwnFiles(child, ownFiles)
		child.close()
	}
	if err != nil && !errors.Is(err, ErrNotDirectory) {
		return ignoreMissing(err)
	}
	return ignoreMissing(classify(filepath.Join(parent.path, name), "remove", parent.root.Remove(name)))
}

// ownFiles are what we put into a level beside the directories of the next.
var ownFiles = []string{ownerFile, lockFile}

// removeOwnFiles deletes those of our files from a level.
func removeOwnFiles(d *directory, files []string) error {
	for _, file := range files {
		if err := d.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return classify(filepath.Join(d.path, file), "remove", err)
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
