package dataset

import (
	"context"
	"errors"
	"os"
)

var errSkeleton = errors.New("not built yet")

// Dataset is one client's directory on a target, open.
type Dataset struct{}

// Create makes the directory, or opens it when it is there and the benchmark's own. The target
// must still be the directory that was proven.
func Create(mount Mount, location Location, owner Owner) (*Dataset, error) { return nil, errSkeleton }

// Open opens the directory; errors.Is(err, ErrMissing) when there is none.
func Open(mount Mount, location Location) (*Dataset, error) { return nil, errSkeleton }

// Path is the directory's absolute path, for the tool.
func (d *Dataset) Path() string { return "" }

// Close releases the directory; its files stay.
func (d *Dataset) Close() error { return errSkeleton }

// Remove deletes the client's directory and then the parents that hold nothing but our own files.
// A second call does nothing. It follows no link and crosses no mount.
func (d *Dataset) Remove(ctx context.Context) error { return errSkeleton }

// Sweep removes all data of one benchmark below a target's path, whichever client made it. No data
// is no error.
func Sweep(ctx context.Context, path, benchmarkUID string) error { return errSkeleton }

// FreeBytes is what may still be written on the file system.
func (d *Dataset) FreeBytes() (uint64, error) { return 0, errSkeleton }

// CheckSpace refuses, with a *SpaceError, when fewer bytes are free.
func (d *Dataset) CheckSpace(needBytes uint64) error { return errSkeleton }

// Source says how Coverage was learnt.
type Source string

// Coverage is how much of a file holds data that somebody wrote.
type Coverage struct {
	ApparentBytes uint64
	WrittenBytes  uint64
	Source        Source
}

// Complete is true when every byte was written.
func (c Coverage) Complete() bool { return c.WrittenBytes >= c.ApparentBytes }

// Written measures a file of the directory; errors.Is(err, fs.ErrNotExist) when there is none.
func (d *Dataset) Written(file string) (Coverage, error) { return Coverage{}, errSkeleton }

// DropCache asks the kernel to forget the cached pages of a file.
func (d *Dataset) DropCache(file string) error { return errSkeleton }

// Lock keeps other runs of the same benchmark out of a target's path.
type Lock struct{}

// AcquireLock takes the lock or refuses, naming the run that holds it (ErrLocked).
func AcquireLock(mount Mount, owner Owner) (*Lock, error) { return nil, errSkeleton }

// File can be handed to child processes: the lock holds until the last of them is gone too.
func (l *Lock) File() *os.File { return nil }

// Release gives the lock up.
func (l *Lock) Release() error { return errSkeleton }
