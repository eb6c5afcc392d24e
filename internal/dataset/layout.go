package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

const layoutMaxBytes = 1 << 20

// layoutRecord is how the record of a client's layout is named, beside its directory and never in it: what
// is in there is the tool's. A client that is killed while it writes one leaves the new one behind.
var layoutRecord = regexp.MustCompile(`^layout-(0|[1-9][0-9]*)\.json(\.new)?$`)

// LaidOut is what is known of files that were laid out and seen to be whole, by their names relative to the
// client's directory. A file that is not in it may hold anything.
type LaidOut map[string]LaidOutFile

// LaidOutFile is one of them.
type LaidOutFile struct {
	Bytes uint64 `json:"bytes"`
	// Content names what is in it, in the words of whoever had it written.
	Content string `json:"content"`
	// Blocks are sums of some blocks (see Sum), as long as nobody has written to the file since; empty where there are none.
	Blocks string `json:"blocks,omitempty"`
}

// layoutText is the record as it is on the storage.
type layoutText struct {
	SchemaVersion int     `json:"schemaVersion"`
	Files         LaidOut `json:"files"`
}

// LaidOut reads the record; it is empty where there is none, and where it is none of ours.
func (d *Dataset) LaidOut() (LaidOut, error) {
	var text []byte
	err := d.beside(func(hash *directory) error {
		file, err := hash.file(d.location.layoutName(), os.O_RDONLY)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		text, err = io.ReadAll(io.LimitReader(file, layoutMaxBytes))
		return classify(filepath.Join(hash.path, d.location.layoutName()), "read", err)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return LaidOut{}, nil
	case err != nil:
		return nil, fmt.Errorf("read what is laid out: %w", err)
	}
	var record layoutText
	if err := json.Unmarshal(text, &record); err != nil || record.SchemaVersion != schemaVersion || record.Files == nil {
		return LaidOut{}, nil //nolint:nilerr // It is no record of ours, so it says nothing.
	}
	return record.Files, nil
}

// SetLaidOut writes the record, whole or not at all, and returns when it would outlive a loss of power.
// Take a file out of it before it is written to, and put it in when it was seen to be whole.
func (d *Dataset) SetLaidOut(files LaidOut) error {
	text, err := json.Marshal(layoutText{SchemaVersion: schemaVersion, Files: maps.Clone(files)})
	if err != nil {
		return fmt.Errorf("encode what is laid out: %w", err)
	}
	err = d.beside(func(hash *directory) error {
		if len(files) == 0 {
			err := hash.root.Remove(d.location.layoutName())
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return errors.Join(err, hash.sync())
		}
		return hash.replace(d.location.layoutName(), text)
	})
	if err != nil {
		return fmt.Errorf("note what is laid out: %w", err)
	}
	return nil
}

func (l Location) layoutName() string { return fmt.Sprintf("layout-%d.json", l.Client) }

// beside does something in the directory that holds the client's, as long as it is the one that does.
func (d *Dataset) beside(do func(hash *directory) error) error {
	top, err := openTop(d.mount)
	if err != nil {
		return err
	}
	defer top.close()
	return settle(func() error {
		hash, err := openHash(top, d.location)
		if err != nil {
			return err
		}
		defer hash.close()
		own, err := hash.child(d.location.clientName())
		if err != nil {
			return err
		}
		defer own.close()
		if own.id != d.client.id {
			return &Problem{
				Reason: ErrChanged, Path: own.path, Detail: "it was exchanged for another directory during the run",
				Remedy: "keep other programs out of " + baseName,
			}
		}
		return do(hash)
	})
}

// replace puts a file there whole or not at all. Nobody else may write it.
func (d *directory) replace(name string, text []byte) error {
	path, scratch := filepath.Join(d.path, name), name+".new"
	if err := d.root.Remove(scratch); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return classify(path, "write", err)
	}
	file, err := d.root.OpenFile(scratch, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return classify(path, "create", err)
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = d.root.Rename(scratch, name)
	}
	if err != nil {
		_ = d.root.Remove(scratch)
		return classify(path, "write", err)
	}
	return d.sync()
}

// sync makes names that were added and removed last. Not every file system can be asked for it.
func (d *directory) sync() error {
	file, err := d.root.Open(".")
	if err != nil {
		return classify(d.path, "open", err)
	}
	defer func() { _ = file.Close() }()
	if err := file.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EOPNOTSUPP) {
		return classify(d.path, "sync", err)
	}
	return nil
}

// removeLayoutRecords deletes the records of a layout, of whichever client.
func removeLayoutRecords(hash *directory) error {
	return hash.each(func(entry fs.DirEntry) (bool, error) {
		if !layoutRecord.MatchString(entry.Name()) {
			return false, nil
		}
		err := hash.root.Remove(entry.Name())
		return false, ignoreMissing(classify(filepath.Join(hash.path, entry.Name()), "remove", err))
	})
}
