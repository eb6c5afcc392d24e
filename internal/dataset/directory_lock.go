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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// heldPause is the interval between two attempts to get a directory or device that another process holds.
const heldPause = 100 * time.Millisecond

// holderRecord matches the names of the files that record the holder of a client's directory. They are beside the
// directory, because its content belongs to the tool.
var holderRecord = regexp.MustCompile(`^holder-(0|[1-9][0-9]*)\.json$`)

func (l Location) holderName() string { return fmt.Sprintf("holder-%d.json", l.Client) }

// Holder identifies the agent that uses a client's directory. A client keeps one index and one directory for a
// whole run, but may have several agents in succession, each with its own Instance.
type Holder struct {
	SchemaVersion int    `json:"schemaVersion"`
	Instance      string `json:"instance"`
	Run           string `json:"run"`
	RunUID        string `json:"runUID"`
	// Host is the name of the agent's machine or pod.
	Host string `json:"host"`
}

func (h Holder) String() string {
	if h.Instance == "" {
		return "an unknown agent (its name is not written yet, or cannot be read while the file is locked, as on SMB)"
	}
	return fmt.Sprintf("the agent on %q of run %q (UID %s)", h.Host, h.Run, h.RunUID)
}

// Hold is one agent's lock on a client's directory. The lock ends when the agent and the tools that inherited the lock
// file have exited, however they exit. Until then no other agent may write to the directory or remove it.
type Hold struct {
	holder Holder
	file   *os.File
	// locked is true if the file system supports locks and other machines see this lock.
	locked bool
}

// File returns the lock file, which can be passed to the tools (exec.Cmd.ExtraFiles) so that the lock is held until the
// last of them has exited.
func (h *Hold) File() *os.File { return h.file }

// Release releases the lock, so that the next waiting agent gets the directory.
func (h *Hold) Release() {
	if h != nil {
		_ = h.file.Close()
	}
}

// heldError means that another agent holds the directory now. Take waits and retries.
type heldError struct {
	path   string
	holder Holder
}

func (e *heldError) Error() string { return e.path + " is held by " + e.holder.String() }

func (e *heldError) problem() error {
	return &Problem{
		Reason: ErrHeld, Path: e.path, Detail: e.holder.String(),
		Remedy: "wait until it exits; if its lock then remains, remove " + filepath.Base(e.path) + " manually",
	}
}

// Take creates a client's directory, as Create does, for exclusive use by one holder. If another agent holds it, Take
// calls waiting once with that holder and waits for that agent to exit. That agent may be terminating and still
// removing its files. If ctx is done first, the error wraps ErrHeld. On a file system without locks, Take does not
// wait, and the directory belongs to the newest holder: see Confirm.
func Take(ctx context.Context, mount Mount, location Location, owner Owner, holder Holder, waiting func(Holder)) (*Dataset, *Hold, error) {
	return take(ctx, func() (*Dataset, error) { return Create(mount, location, owner) }, holder, waiting)
}

// TakeOver takes an existing directory, as Take does, from an agent that the caller knows to be gone. The error wraps
// ErrMissing if the directory no longer exists.
func TakeOver(ctx context.Context, mount Mount, location Location, holder Holder) (*Dataset, *Hold, error) {
	return take(ctx, func() (*Dataset, error) { return Open(mount, location) }, holder, func(Holder) {})
}

// TakeUnused is like TakeOver, but for a caller that does not know whether the previous agent is gone. It takes a
// directory whose holder record names another agent only if a lock that all machines see proves that the other agent
// has exited; otherwise the error wraps ErrHeld.
func TakeUnused(ctx context.Context, mount Mount, location Location, holder Holder) (*Dataset, *Hold, error) {
	open := func() (*Dataset, error) {
		directory, err := Open(mount, location)
		if err == nil {
			directory.unusedOnly = true
		}
		return directory, err
	}
	return take(ctx, open, holder, func(Holder) {})
}

func take(ctx context.Context, open func() (*Dataset, error), holder Holder, waiting func(Holder)) (*Dataset, *Hold, error) {
	for reported := false; ; {
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
			if !reported {
				reported = true
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

// hold tries once to lock the directory. It does not wait for another holder.
func (d *Dataset) hold(holder Holder) (*Hold, error) {
	var hold *Hold
	err := d.withHash(func(hash *directory) error {
		file, locked, err := d.lockHolder(hash)
		if err != nil {
			return err
		}
		hold = &Hold{holder: holder, file: file, locked: locked}
		hold.holder.SchemaVersion = schemaVersion
		if other := readHolder(file); d.unusedOnly && !locked && other.Instance != "" && other.Instance != holder.Instance {
			_ = file.Close()
			return &heldError{path: filepath.Join(hash.path, d.location.holderName()), holder: other}
		}
		// Check that the lock belongs to the opened directory: the previous holder may have removed that directory before the
		// lock was acquired.
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

// lockHolder opens the holder record and locks it if the file system supports locks.
func (d *Dataset) lockHolder(hash *directory) (file *os.File, locked bool, err error) {
	name := d.location.holderName()
	if file, err = hash.lockable(name); err != nil {
		return nil, false, err
	}
	if locked, err = lockRecord(hash, name, file); err != nil {
		_ = file.Close()
		return nil, false, err
	}
	return file, locked, nil
}

// lockRecord locks an open holder record if the file system supports locks.
func lockRecord(hash *directory, name string, record *os.File) (locked bool, err error) {
	path := filepath.Join(hash.path, name)
	locked, err = tryFlock(record)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, &heldError{path: path, holder: readHolder(record)}
	case err != nil:
		return false, classify(path, "lock", err)
	}
	// Check that the holder record still exists, because the previous holder may have removed it while we opened it. A
	// lock on a removed file protects nothing.
	return locked, isNamed(hash, name, record)
}

// checkRun returns a Problem (ErrHeld) if a holder record names an agent of another run. It opens the record, because
// opening makes a network file system fetch the current content from its server.
func checkRun(hash *directory, name, runUID string) error {
	record, err := hash.file(name, os.O_RDONLY)
	if err != nil {
		return ignoreMissing(err)
	}
	defer func() { _ = record.Close() }()
	if holder := readHolder(record); holder.RunUID != "" && holder.RunUID != runUID {
		return (&heldError{path: filepath.Join(hash.path, name), holder: holder}).problem()
	}
	return nil
}

// tryFlock locks a file without waiting. If the file system does not support locks, tryFlock returns false without an
// error, so that the storage can still be tested. locked is also false if other machines can mount the file system but
// do not see the lock. Such a lock still excludes other agents on this machine.
func tryFlock(file *os.File) (locked bool, err error) {
	// Wait until no fork is in progress. A forked child inherits locks, and holds them until its exec even if this process
	// closes the files.
	syscall.ForkLock.RLock()
	syscall.ForkLock.RUnlock() //nolint:staticcheck // nothing to do meanwhile
	err = flock(file, unix.LOCK_EX)
	if errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return false, nil
	}
	return err == nil && locksReachServer(file), err
}

// isNamed returns errLostRace if the name no longer refers to the open file.
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
		return fmt.Errorf("encode the holder of a directory lock: %w", err)
	}
	return rewrite(h.file, path, text)
}

// readHolder returns an empty Holder if the record is missing or incomplete.
func readHolder(file *os.File) Holder {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, ownerMaxBytes))
	var holder Holder
	if err != nil || json.Unmarshal(text, &holder) != nil {
		return Holder{}
	}
	return holder
}

// Confirm checks that the hold still owns the directory. The error wraps ErrHeld if another agent has taken the
// directory, which can happen on a file system without locks. It wraps ErrMissing if the holder record is gone, so that
// no agent owns the directory.
func (d *Dataset) Confirm(hold *Hold) error {
	if hold.locked && d.refersTo(d.location.holderName(), hold.file) {
		// The lock is sufficient proof. Do not read the holder record, because each read would have to wait if the
		// storage has no credits left.
		d.held = hold
		return nil
	}
	return d.ConfirmMark(hold)
}

// ConfirmMark is like Confirm, but reads the holder record even if the lock seems to suffice: a file server may have
// given the lock to another machine during a network partition.
func (d *Dataset) ConfirmMark(hold *Hold) error {
	// Retry, because another exiting client may briefly remove the ownership file.
	err := retryChanged(func() error {
		return d.withHash(func(hash *directory) error { return hold.checkMark(hash, d.location.holderName()) })
	})
	if errors.Is(err, fs.ErrNotExist) {
		return &Problem{Reason: ErrMissing, Path: d.client.path, Detail: "its lock file was removed"}
	}
	if err == nil {
		d.held = hold
	}
	return err
}

// checkMark reads the holder record and returns a Problem if it does not name this hold: ErrHeld if another agent has
// taken the directory, ErrMissing if there is no record.
func (h *Hold) checkMark(hash *directory, name string) error {
	path := filepath.Join(hash.path, name)
	named, err := hash.root.Lstat(name)
	if err != nil {
		return classify(path, "look at", err)
	}
	own, err := h.file.Stat()
	if err != nil {
		return classify(path, "look at", err)
	}
	file := h.file
	if !h.locked || !os.SameFile(named, own) {
		// Reopen the record, because opening makes a network file system fetch the current content from its server. But do
		// not reopen the file that this hold has locked: an SMB lock excludes every other handle.
		if file, err = hash.file(name, os.O_RDONLY); err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
	}
	if holder := readHolder(file); holder != h.holder || !os.SameFile(named, own) {
		return (&heldError{path: path, holder: holder}).problem()
	}
	return nil
}

// confirmHeld returns a Problem (ErrHeld) if another agent has acquired the directory in the meantime. Call it before
// each change on the storage, because some file systems' locks do not exclude agents on other machines. If the holder
// record is missing, no other agent uses the directory, because an agent writes its record before it uses the
// directory.
func (d *Dataset) confirmHeld(hash *directory) error {
	if d.held == nil {
		return nil
	}
	return ignoreMissing(d.held.checkMark(hash, d.location.holderName()))
}

// refersTo reports whether a name beside the client's directory refers to the open file.
func (d *Dataset) refersTo(name string, file *os.File) bool {
	named, err := os.Lstat(filepath.Join(filepath.Dir(d.client.path), name))
	if err != nil {
		return false
	}
	open, err := file.Stat()
	return err == nil && os.SameFile(named, open)
}

// withHash opens the parent of the client's directory, calls `do` with it, and closes it.
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

// releaseHold removes the holder record and then releases the lock, in this order, so that a waiting agent finds no
// record and creates the directory again. The record, which is also the lock file, must be closed before its parent
// directory is removed, because on NFS, an open file prevents the removal of its directory.
func (d *Dataset) releaseHold(hash *directory) error {
	if d.held == nil {
		return nil
	}
	name := d.location.holderName()
	if err := d.held.checkMark(hash, name); err == nil {
		if err := hash.remove(name); err != nil {
			return err
		}
	}
	d.held.Release()
	d.held = nil
	return nil
}

// removeHolderRecords deletes the holder records of a layout, except those that an agent holds.
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
			return false, nil // An agent holds this record, so keep the record and the directory.
		}
		return false, hash.remove(entry.Name())
	})
}
