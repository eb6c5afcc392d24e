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

// layoutMaxBytes is the maximum size of a client's layout record. The API allows 100,000 files per client, which need
// less than 150 bytes each.
const layoutMaxBytes = 32 << 20

// layoutRecord matches the names of the files that record the clients' layouts. They are beside the clients'
// directories, whose content belongs to the tool. A client that is killed while it writes a record leaves the .new
// file.
var layoutRecord = regexp.MustCompile(`^layout-(0|[1-9][0-9]*)\.json(\.new)?$`)

// LaidOut describes the files that were laid out and verified to be complete, by their names relative to the client's
// directory. The content of any other file is unknown.
type LaidOut map[string]LaidOutFile

// LaidOutFile describes one laid-out file.
type LaidOutFile struct {
	Bytes uint64 `json:"bytes"`
	// Content identifies the file's content; the caller defines its format.
	Content string `json:"content"`
	// Blocks lists the checksums of some of the file's blocks (see Sum), separated by spaces. They are valid until the
	// file is written again. Blocks is empty if no checksums were recorded.
	Blocks string `json:"blocks,omitempty"`
}

// layoutText is the JSON form of a layout record, which lists the files that a client has laid out.
type layoutText struct {
	SchemaVersion int     `json:"schemaVersion"`
	Files         LaidOut `json:"files"`
}

// LaidOut reads the client's layout record. The result is empty if there is no record or this version cannot read it.
func (d *Dataset) LaidOut() (LaidOut, error) {
	var text []byte
	err := d.withParent(func(hash *directory) error {
		file, err := hash.file(d.location.layoutName(), os.O_RDONLY)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		text, err = io.ReadAll(io.LimitReader(file, layoutMaxBytes+1))
		return classify(filepath.Join(hash.path, d.location.layoutName()), "read", err)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return LaidOut{}, nil
	case err != nil:
		return nil, fmt.Errorf("read the layout record: %w", err)
	}
	if len(text) > layoutMaxBytes {
		return LaidOut{}, nil // SetLaidOut never writes a record this large, so treat the record as unreadable.
	}
	var record layoutText
	if err := json.Unmarshal(text, &record); err != nil || record.SchemaVersion != schemaVersion || record.Files == nil {
		return LaidOut{}, nil //nolint:nilerr // A record that cannot be read counts as missing.
	}
	return record.Files, nil
}

// SetLaidOut writes the client's layout record atomically and syncs it, so that it survives a power loss. Remove a file
// from the record before writing to the file, and add it again after verifying that it is complete.
func (d *Dataset) SetLaidOut(files LaidOut) error {
	text, err := json.Marshal(layoutText{SchemaVersion: schemaVersion, Files: maps.Clone(files)})
	if err != nil {
		return fmt.Errorf("encode the layout record: %w", err)
	}
	if len(text) > layoutMaxBytes {
		return fmt.Errorf("write the layout record: %d files need %d bytes, but the limit is %d: "+
			"lower filesPerJob or jobs, or let the workloads use the same files", len(files), len(text), layoutMaxBytes)
	}
	err = d.withParent(func(hash *directory) error {
		if err := d.confirmHeld(hash); err != nil {
			return err
		}
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
		return fmt.Errorf("write the layout record: %w", err)
	}
	return nil
}

func (l Location) layoutName() string { return fmt.Sprintf("layout-%d.json", l.Client) }

// withParent calls `do` with the parent of the client's directory, if the parent still contains the opened directory.
func (d *Dataset) withParent(do func(hash *directory) error) error {
	return retryChanged(func() error {
		return d.withHash(func(hash *directory) error {
			own, err := hash.child(d.location.clientName())
			if err != nil {
				return err
			}
			defer own.close()
			if own.id != d.client.id {
				return &Problem{
					Reason: ErrChanged, Path: own.path, Detail: "it was replaced by another directory during the run",
					Remedy: "keep other programs out of " + baseName,
				}
			}
			return do(hash)
		})
	})
}

// replace replaces a file atomically. Only one process may write the file at a time.
func (d *directory) replace(name string, text []byte) error {
	path, scratch := filepath.Join(d.path, name), name+".new"
	if err := d.root.Remove(scratch); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return classify(path, "write", err)
	}
	if err := d.create(scratch, name, text, true); err != nil {
		return err
	}
	return d.sync()
}

// create writes a file under a scratch name and then renames it. If synced is true, its content survives a power loss.
func (d *directory) create(scratch, name string, text []byte, synced bool) error {
	path := filepath.Join(d.path, name)
	file, err := d.root.OpenFile(scratch, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return classify(path, "create", err)
	}
	_, err = file.Write(text)
	if err == nil && synced {
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
	}
	return classify(path, "write", err)
}

// sync makes the creation, renaming and removal of the directory's entries durable. It returns no error for file
// systems that cannot sync a directory.
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

// removeLayoutRecord deletes a client's layout record. Call it before removing the files that the record describes.
func removeLayoutRecord(hash *directory, location Location) error {
	if err := hash.remove(location.layoutName()); err != nil {
		return err
	}
	return hash.remove(location.layoutName() + ".new")
}

// removeRecords deletes the layout records of all clients, and the ownership files that killed clients left unfinished.
func removeRecords(hash *directory, benchmarkUID string) error {
	return hash.each(func(entry fs.DirEntry) (bool, error) {
		if !isRecord(entry, benchmarkUID) {
			return false, nil
		}
		return false, hash.remove(entry.Name())
	})
}

// isRecord reports whether an entry is a layout record or an unfinished ownership file.
func isRecord(entry fs.DirEntry, benchmarkUID string) bool {
	return layoutRecord.MatchString(entry.Name()) || entry.Type().IsRegular() && isScratch(entry.Name(), benchmarkUID)
}
