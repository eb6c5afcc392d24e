package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// heldPause is how often a directory that another one holds is tried again.
const heldPause = 100 * time.Millisecond

// holderRecord is how the mark of who uses a client's directory is named. It is beside the directory, because what is
// in there is the tool's.
var holderRecord = regexp.MustCompile(`^holder-(0|[1-9][0-9]*)\.json$`)

func (l Location) holderName() string { return fmt.Sprintf("holder-%d.json", l.Client) }

// Holder is who uses a client's directory. A client has one index and one directory for all of a run, but several
// agents, one after the other: each has an Instance of its own.
type Holder struct {
	SchemaVersion int    `json:"schemaVersion"`
	Instance      string `json:"instance"`
	Run           string `json:"run"`
	RunUID        string `json:"runUID"`
	// Host is where it runs, as its machine or its pod is called.
	Host string `json:"host"`
}

func (h Holder) String() string {
	if h.Instance == "" {
		return "an agent whose name cannot be read (yet, or while its lock keeps readers out, as on SMB)"
	}
	return fmt.Sprintf("the agent on %q of run %q, UID %s", h.Host, h.Run, h.RunUID)
}

// Hold is the grip of one agent on a client's directory. It ends with the agent and the tools that the file was handed
// to, however they end: until then nobody else may write to the directory or remove it.
type Hold struct {
	holder Holder
	file   *os.File
	// locked says that the file system has locks, and that nobody else can have it.
	locked bool
}

// File can be handed to the tools (exec.Cmd.ExtraFiles), so that the hold lasts until the last of them is gone.
func (h *Hold) File() *os.File { return h.file }

// Release gives the directory to whoever waits for it.
func (h *Hold) Release() {
	if h != nil {
		_ = h.file.Close()
	}
}

// heldError says that another one has the directory now. It is no final word: see Take.
type heldError struct {
	path   string
	holder Holder
}

func (e *heldError) Error() string { return e.path + " is held by " + e.holder.String() }

func (e *heldError) problem() error {
	return &Problem{
		Reason: ErrHeld, Path: e.path, Detail: e.holder.String(),
		Remedy: "wait until it is gone; where it is and its file system does not know, remove " + filepath.Base(e.path) + " by hand",
	}
}

// Take makes a client's directory, as Create does, for one holder alone. Where another one lives that holds it, an
// agent that was told to end and is still removing what it believes to be its own, it waits for that one's end until
// the context ends; errors.Is(err, ErrHeld) then. waiting is told once who that is. Where a file system has no locks
// nobody is waited for, and the directory is the newest holder's: see Confirm.
func Take(ctx context.Context, mount Mount, location Location, owner Owner, holder Holder, waiting func(Holder)) (*Dataset, *Hold, error) {
	return take(ctx, func() (*Dataset, error) { return Create(mount, location, owner) }, holder, waiting)
}

// TakeOver takes a directory that is there, as Take does; errors.Is(err, ErrMissing) where there is none any more.
func TakeOver(ctx context.Context, mount Mount, location Location, holder Holder) (*Dataset, *Hold, error) {
	return take(ctx, func() (*Dataset, error) { return Open(mount, location) }, holder, func(Holder) {})
}

func take(ctx context.Context, open func() (*Dataset, error), holder Holder, waiting func(Holder)) (*Dataset, *Hold, error) {
	for told := false; ; {
		directory, err := open()
		if err != nil {
			return nil, nil, err
		}
		hold, err := directory.hold(holder)
		if err == nil {
			return directory, hold, nil
		}
		_ = directory.Close()
		var held *heldError
		switch {
		case errors.As(err, &held):
			err = held.problem()
			if !told {
				told = true
				waiting(held.holder)
			}
		case !isTransient(err):
			return nil, nil, err
		}
		select {
		case <-time.After(heldPause):
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}

// hold tries once.
func (d *Dataset) hold(holder Holder) (*Hold, error) {
	var hold *Hold
	err := d.withHash(func(hash *directory) error {
		file, locked, err := d.lockHolder(hash)
		if err != nil {
			return err
		}
		hold = &Hold{holder: holder, file: file, locked: locked}
		hold.holder.SchemaVersion = schemaVersion
		// Whoever held it before may have removed the directory while we waited.
		own, err := hash.child(d.location.clientName())
		if err == nil {
			if own.id != d.client.id {
				err = errLostRace
			}
			own.close()
		} else if errors.Is(err, ErrMissing) {
			err = errLostRace
		}
		if err == nil {
			err = hold.write(filepath.Join(hash.path, d.location.holderName()))
		}
		if err != nil {
			_ = file.Close()
		}
		return err
	})
	if errors.Is(err, ErrMissing) {
		err = errLostRace
	}
	if err != nil {
		return nil, err
	}
	d.held = hold
	return hold, nil
}

// lockHolder opens the file of the mark, locked where the file system has locks.
func (d *Dataset) lockHolder(hash *directory) (file *os.File, locked bool, err error) {
	name := d.location.holderName()
	path := filepath.Join(hash.path, name)
	created, err := hash.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	switch {
	case err == nil:
		_ = created.Close()
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, errLostRace
	case !errors.Is(err, fs.ErrExist):
		return nil, false, classify(path, "create", err)
	}
	file, err = hash.file(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, errLostRace
	}
	if err != nil {
		return nil, false, err
	}
	if locked, err = tryFlock(file); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = &heldError{path: path, holder: readHolder(file)}
		} else {
			err = classify(path, "lock", err)
		}
		_ = file.Close()
		return nil, false, err
	}
	// The last holder may have removed the file while we opened it; then the lock is on nothing.
	if err := isNamed(hash, name, file); err != nil {
		_ = file.Close()
		return nil, false, err
	}
	return file, locked, nil
}

// tryFlock locks a file. That a file system has no locks is no error: there is nothing better. Nor does a lock count that
// stays on this machine while others mount the same file system; it still keeps agents of this machine apart.
func tryFlock(file *os.File) (locked bool, err error) {
	err = flock(file, unix.LOCK_EX)
	if errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return false, nil
	}
	return err == nil && locksReachServer(file), err
}

// isNamed is errLostRace where the name leads to another file than the open one, or to none.
func isNamed(in *directory, name string, file *os.File) error {
	named, err := in.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errLostRace
	}
	if err != nil {
		return classify(filepath.Join(in.path, name), "look at", err)
	}
	if open, err := file.Stat(); err != nil || !os.SameFile(named, open) {
		return errLostRace
	}
	return nil
}

func (h *Hold) write(path string) error {
	text, err := json.Marshal(h.holder)
	if err != nil {
		return fmt.Errorf("encode the holder of a directory: %w", err)
	}
	return rewrite(h.file, path, text)
}

// readHolder is empty where there is no mark yet, or half of one.
func readHolder(file *os.File) Holder {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, ownerMaxBytes))
	var holder Holder
	if err != nil || json.Unmarshal(text, &holder) != nil {
		return Holder{}
	}
	return holder
}

// Confirm reports whether a directory is still the hold's; errors.Is(err, ErrHeld) where another one has taken it, which
// can be where a file system has no locks, and ErrMissing where the mark is gone and the directory is nobody's.
func (d *Dataset) Confirm(hold *Hold) error {
	name := d.location.holderName()
	if hold.locked && d.leadsTo(name, hold.file) {
		// Nothing had to be read: behind a store without credits each read would wait.
		d.held = hold
		return nil
	}
	look := func(hash *directory) error {
		file, err := hash.file(name, os.O_RDONLY)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		named, namedErr := file.Stat()
		own, ownErr := hold.file.Stat()
		if err := errors.Join(namedErr, ownErr); err != nil {
			return classify(filepath.Join(hash.path, name), "look at", err)
		}
		if holder := readHolder(file); holder != hold.holder || !os.SameFile(named, own) {
			return (&heldError{path: filepath.Join(hash.path, name), holder: holder}).problem()
		}
		return nil
	}
	// Another client that leaves takes the ownership file away for an instant.
	err := settle(func() error { return d.withHash(look) })
	if errors.Is(err, fs.ErrNotExist) {
		return &Problem{Reason: ErrMissing, Path: d.client.path, Detail: "the mark of who uses it is gone"}
	}
	if err == nil {
		d.held = hold
	}
	return err
}

// leadsTo reports whether a name beside the client's directory is that of an open file.
func (d *Dataset) leadsTo(name string, file *os.File) bool {
	named, err := os.Lstat(filepath.Join(filepath.Dir(d.client.path), name))
	if err != nil {
		return false
	}
	open, err := file.Stat()
	return err == nil && os.SameFile(named, open)
}

// withHash does something in the directory that holds the client's.
func (d *Dataset) withHash(do func(hash *directory) error) error {
	top, err := openTop(d.mount)
	if err != nil {
		return err
	}
	defer top.close()
	hash, err := openHash(top, d.location)
	if err != nil {
		return err
	}
	defer hash.close()
	return do(hash)
}

// unhold removes the mark and lets go of it, in this order: whoever waits for it finds that it is gone, and makes the
// directory anew. What is open keeps its folder from being removed on NFS.
func (d *Dataset) unhold(hash *directory) error {
	if d.held == nil {
		return nil
	}
	name := d.location.holderName()
	if err := isNamed(hash, name, d.held.file); err == nil {
		if err := ignoreMissing(classify(filepath.Join(hash.path, name), "remove", hash.root.Remove(name))); err != nil {
			return err
		}
	}
	d.held.Release()
	d.held = nil
	return nil
}

// removeHolderRecords deletes the marks of a layout that nobody holds.
func removeHolderRecords(hash *directory) error {
	return hash.each(func(entry fs.DirEntry) (bool, error) {
		if !holderRecord.MatchString(entry.Name()) {
			return false, nil
		}
		file, err := hash.file(entry.Name(), os.O_RDWR)
		if err != nil {
			return false, ignoreMissing(err)
		}
		defer func() { _ = file.Close() }()
		if _, err := tryFlock(file); err != nil {
			return false, nil // Somebody has it: the directory stays, for it is not empty.
		}
		return false, ignoreMissing(classify(filepath.Join(hash.path, entry.Name()), "remove", hash.root.Remove(entry.Name())))
	})
}
