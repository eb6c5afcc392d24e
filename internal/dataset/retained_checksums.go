package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Kept is a dataset that an earlier run laid out and retained, opened for reading only.
type Kept struct {
	*Dataset
	// Owner is the dataset's owner, which may be a benchmark other than the reader's.
	Owner Owner
	// Hold prevents agents from writing to the dataset or removing it while it is read. It is nil if there is nothing
	// to lock.
	Hold *Hold
}

// OpenKept opens the data that a client laid out under a location's dataset hash. It prefers the data of the location's
// own benchmark, but accepts the data of any other, because the hash identifies the content. It is for volumes that are
// mounted read-only, where no directory can be created. The error wraps ErrMissing if there is no such data or its
// layout is not complete. It wraps ErrHeld if agents may be writing to the data.
func OpenKept(mount Mount, location Location) (*Kept, error) {
	if err := location.Validate(); err != nil {
		return nil, err
	}
	top, err := openTop(mount)
	if err != nil {
		return nil, err
	}
	defer top.close()
	base, err := top.child(baseName)
	if err != nil {
		return nil, err
	}
	defer base.close()
	owners, err := base.owners(location.BenchmarkUID)
	if err != nil {
		return nil, err
	}
	var unusable error
	for _, uid := range owners {
		at := location
		at.BenchmarkUID = uid
		kept, err := openKept(top, mount, at)
		if err == nil {
			return kept, nil
		}
		if unusable == nil && !errors.Is(err, ErrMissing) && !errors.Is(err, ErrForeign) {
			unusable = err
		}
	}
	if unusable != nil {
		return nil, unusable
	}
	return nil, &Problem{Reason: ErrMissing, Path: filepath.Join(base.path, "*", location.DatasetHash, location.clientName())}
}

// owners lists the names of the benchmarks' directories. The given name comes first, even if no such directory exists;
// the others follow in alphabetical order.
func (d *directory) owners(first string) ([]string, error) {
	var all []string
	err := d.each(func(entry fs.DirEntry) (bool, error) {
		if entry.IsDir() && name.MatchString(entry.Name()) && entry.Name() != first {
			all = append(all, entry.Name())
		}
		return false, nil
	})
	slices.Sort(all)
	return append([]string{first}, all...), err
}

func openKept(top *directory, mount Mount, location Location) (*Kept, error) {
	hash, err := openHash(top, location)
	if err != nil {
		return nil, err
	}
	defer hash.close()
	owner, err := readOwner(hash)
	if err != nil {
		return nil, err
	}
	client, err := hash.child(location.clientName())
	if err != nil {
		return nil, err
	}
	hold, err := holdToRead(hash, location)
	if _, lstatErr := hash.root.Lstat(location.layoutName()); lstatErr != nil {
		// Without a layout record, no file counts as completely laid out. Runs without a prepare phase have no such record.
		hold.Release()
		err = classify(filepath.Join(hash.path, location.layoutName()), "inspect", lstatErr)
	}
	if err != nil {
		client.close()
		return nil, err
	}
	return &Kept{Dataset: &Dataset{mount: mount, location: location, client: client, readOnly: true}, Owner: owner, Hold: hold}, nil
}

// holdToRead takes a shared lock on the holder record of a client's directory. It returns nil if there is no record
// or the file system does not support locks.
func holdToRead(hash *directory, location Location) (*Hold, error) {
	file, err := hash.file(location.holderName(), os.O_RDONLY)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	err = flock(file, unix.LOCK_SH)
	if err == nil {
		return &Hold{file: file, locked: true}, nil
	}
	defer func() { _ = file.Close() }()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, (&heldError{path: filepath.Join(hash.path, location.holderName()), holder: readHolder(file)}).problem()
	}
	return nil, nil //nolint:nilnil // The file system has no locks.
}

// OpenFolder opens the user's own directory as the working directory, on a volume that is mounted read-only.
func OpenFolder(mount Mount) (*Dataset, error) {
	if !mount.readOnly() {
		return nil, fmt.Errorf("open %s as the working directory: it must be mounted read-only, because runs on a writable volume use their own directory", mount.Path)
	}
	top, err := openTop(mount)
	if err != nil {
		return nil, err
	}
	return &Dataset{mount: mount, client: top, readOnly: true}, nil
}

// ReadOnly reports whether the dataset and the records beside it are read-only.
func (d *Dataset) ReadOnly() bool { return d.readOnly }
