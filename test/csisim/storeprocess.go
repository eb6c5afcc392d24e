package csisim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs"
)

// lockedExit is the exit code of a store's process that finds the store served by another.
const lockedExit = 3

// recording is the interval between two writes of the record.
const recording = 500 * time.Millisecond

// StoreMain runs a store until SIGTERM, or until it is asked to end. It returns the exit code.
func StoreMain(folder string) int {
	err := serveStore(folder)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return lockedExit
	case err != nil:
		fmt.Fprintln(os.Stderr, "csisim store:", err)
		return 1
	}
	return 0
}

func serveStore(folder string) (err error) {
	s := StoreAt(folder)
	lock, err := lockFileAt(s.file(lockFile))
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // the process ends anyway
	config, err := s.Config()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	unix.Umask(0) // clients have applied their own umask
	f, err := burstfs.New(config, s.file(backingFolder), s.file(mountFolder))
	if err != nil {
		return err
	}
	file, err := newRecord(s.file(truthFile))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	record, err := burstfs.NewTruthWriter(file, config)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	defer func() { err = errors.Join(err, f.Close(), record.Write(f), file.Close()) }()
	complain := func(err error) { fmt.Fprintln(os.Stderr, "csisim store:", err) }
	go f.Watch(ctx, s.file(configFile), complain)
	go func() {
		if err := f.Control(ctx, s.file(controlFile), stop); err != nil {
			complain(err)
			stop()
		}
	}()
	ticker := time.NewTicker(recording)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := record.Write(f); err != nil {
				return err
			}
		}
	}
}

// newRecord creates the record and renames that of an earlier process.
func newRecord(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil {
		old := filepath.Join(filepath.Dir(name), fmt.Sprintf("%s%d", beforePrefix, info.ModTime().UnixNano()))
		if err := os.Rename(name, old); err != nil {
			return nil, fmt.Errorf("keeping the record of the store before: %w", err)
		}
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("making the record: %w", err)
	}
	return file, nil
}
