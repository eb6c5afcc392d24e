package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const lockFile = "lock"

// Lock keeps other runs of the same benchmark out of a target's path while a process has the lock file open. A run must
// acquire the lock before it uses the path. However, the lock does not stop agents of another run that are already
// running.
type Lock struct {
	mount Mount
	owner Owner
	file  *os.File
}

// AcquireLock acquires the lock. If another run holds it, the error wraps ErrLocked and names that run. On a file
// system without locks, it succeeds even if another run uses the path.
func AcquireLock(mount Mount, owner Owner) (*Lock, error) {
	if err := (Location{BenchmarkUID: owner.BenchmarkUID, DatasetHash: "any"}).Validate(); err != nil {
		return nil, err
	}
	var lock *Lock
	err := retryChanged(func() (err error) {
		lock, err = tryLock(mount, owner)
		return err
	})
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func tryLock(mount Mount, owner Owner) (*Lock, error) {
	uid, err := makeUID(mount, owner.BenchmarkUID, owner)
	if err != nil {
		return nil, err
	}
	defer uid.close()
	file, err := uid.lockable(lockFile)
	if err != nil {
		return nil, err
	}
	lock := &Lock{mount: mount, owner: owner, file: file}
	if err := lock.take(uid); err != nil {
		_ = file.Close()
		return nil, err
	}
	return lock, nil
}

// take locks the open lock file and records in it the run that holds the lock.
func (l *Lock) take(uid *directory) error {
	path := filepath.Join(uid.path, lockFile)
	// If the file system does not support locks, continue without a lock, so that the storage can still be tested.
	switch _, err := tryFlock(l.file); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return &Problem{
			Reason: ErrLocked, Path: uid.path, Detail: l.holder(),
			Remedy: "wait for it to end, or use another directory",
		}
	case err != nil:
		return classify(path, "lock", err)
	}
	// Check that the lock file still exists, because the previous holder may have removed it while we opened it. A lock on
	// a removed file protects nothing.
	if err := isNamed(uid, lockFile, l.file); err != nil {
		return err
	}
	text, err := json.Marshal(l.owner)
	if err != nil {
		return fmt.Errorf("encode the holder of a lock: %w", err)
	}
	return rewrite(l.file, path, text)
}

// rewrite replaces a file's content with one line.
func rewrite(file *os.File, path string, line []byte) error {
	if err := file.Truncate(0); err != nil {
		return classify(path, "write", err)
	}
	if _, err := file.WriteAt(append(line, '\n'), 0); err != nil {
		return classify(path, "write", err)
	}
	return nil
}

// holder describes the run that holds the lock, for an error message. The name of that run may be missing or
// unreadable.
func (l *Lock) holder() string {
	text, err := io.ReadAll(io.LimitReader(l.file, ownerMaxBytes))
	var owner Owner
	if err != nil || json.Unmarshal(text, &owner) != nil || owner.Run == "" {
		return "an unknown run (its name is not written yet, or cannot be read while the file is locked, as on SMB)"
	}
	return fmt.Sprintf("run %q (UID %s) of benchmark %q", owner.Run, owner.RunUID, owner.Benchmark)
}

// File returns the lock file, which can be passed to child processes (exec.Cmd.ExtraFiles). The lock then lasts until
// the last of them has exited, even if this process is killed.
func (l *Lock) File() *os.File { return l.file }

// Release releases the lock, unless child processes still hold it, and removes the directories that are then empty. It
// does not touch the directory if another run has meanwhile created and taken a lock of its own.
func (l *Lock) Release() error {
	top, err := openTop(l.mount)
	if err == nil {
		defer top.close()
		err = removeParents(top, lockGuards{except: l.file}, l.owner.BenchmarkUID)
	}
	if closeErr := l.file.Close(); closeErr != nil && !errors.Is(closeErr, os.ErrClosed) {
		err = errors.Join(err, fmt.Errorf("release the lock: %w", closeErr))
	}
	if err == nil {
		// On NFS, removing an open file only renames it to .nfs..., so the directory can be removed only after the file is
		// closed.
		err = removeUnlocked(top, l.owner.BenchmarkUID)
	}
	return err
}
