package csisim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// Names in the directory of a store.
const (
	backingFolder = "backing"
	mountFolder   = "mount"
	// configFile is the current configuration. Changing the file changes the store.
	configFile = "store.yaml"
	// describedFile is the configuration that the parameters described.
	describedFile = "described.yaml"
	controlFile   = "control"
	truthFile     = "truth.csv"
	// beforePrefix begins the names of records of earlier processes.
	beforePrefix = "truth-before."
	logFile      = "log"
	lockFile     = "lock"
)

// mounting is a timeout for the start and the end of a store.
const mounting = 5 * time.Minute

// Store is a store, identified by its directory. Any process that sees the directory can query it.
type Store struct{ folder string }

// StoreAt returns the store of a directory, whether it exists or not.
func StoreAt(folder string) Store { return Store{folder: folder} }

func (s Store) file(name string) string { return filepath.Join(s.folder, name) }

// alive reports whether a process serves the store.
func (s Store) alive() bool {
	connection, err := net.DialTimeout("unix", s.file(controlFile), time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// Config returns the current configuration of the store.
func (s Store) Config() (model.Config, error) { return burstfs.Read(s.file(configFile)) }

// Set changes the store, which may be down. See burstfs.FS.Set for what it keeps. Writing store.yaml has the same
// effect within a quarter of a second.
func (s Store) Set(config model.Config) error {
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing a configuration: %w", err)
	}
	if s.alive() { // first, because it may refuse
		if _, err := burstfs.Ask(s.file(controlFile), burstfs.Set, text); err != nil {
			return err
		}
	}
	return writeFile(s.file(configFile), text)
}

// Truth returns what the store did since its last start, up to the last complete second. For a store that has ended, it
// returns the kept record.
func (s Store) Truth() (truth.Record, error) {
	text, err := s.TruthCSV()
	if err != nil {
		return truth.Record{}, err
	}
	return truth.Read(bytes.NewReader(text))
}

// TruthCSV returns the same as the store writes it.
func (s Store) TruthCSV() ([]byte, error) {
	if s.alive() {
		return burstfs.Ask(s.file(controlFile), burstfs.Truth, nil)
	}
	text, err := os.ReadFile(s.file(truthFile))
	if err != nil {
		return nil, fmt.Errorf("reading what the store did: %w", err)
	}
	return text, nil
}

// describe creates the directory of a store with a configuration. It accepts an existing store that was described
// alike.
func (s Store) describe(config model.Config) error {
	for _, folder := range []string{backingFolder, mountFolder} {
		if err := os.MkdirAll(s.file(folder), 0o755); err != nil && !errors.Is(err, fs.ErrExist) && !deadMount(err) {
			return fmt.Errorf("making the folders of the store: %w", err)
		}
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing the configuration of the store: %w", err)
	}
	described, err := burstfs.Read(s.file(describedFile))
	switch {
	case err == nil && !reflect.DeepEqual(described, config):
		return errOtherStore
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		if err := writeFile(s.file(describedFile), text); err != nil {
			return err
		}
	default:
		return err
	}
	if _, err := os.Stat(s.file(configFile)); errors.Is(err, fs.ErrNotExist) {
		return writeFile(s.file(configFile), text)
	}
	return nil
}

var errOtherStore = errors.New("the store is there already and was described in another way; give it the same scenario and overrides, or another name")

// deadMount reports whether an error comes from a mount whose server is gone.
func deadMount(err error) bool {
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
}

// ensure starts the store's process unless it runs. The process outlives this one.
func (s Store) ensure(ctx context.Context, program []string) error {
	if s.alive() {
		return nil
	}
	log, err := os.OpenFile(s.file(logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log of the store: %w", err)
	}
	defer log.Close() //nolint:errcheck // the store has its own descriptor
	command := exec.CommandContext(context.WithoutCancel(ctx), program[0], append(program[1:], s.folder)...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the store: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // the log has the reason
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, mounting)
	defer cancel()
	for !s.alive() {
		select {
		case <-ended:
			if command.ProcessState.ExitCode() != lockedExit { // otherwise another process is about to serve it
				return fmt.Errorf("the store ended at its start: %s", s.log())
			}
			ended = nil
		case <-ctx.Done():
			return fmt.Errorf("waiting for the store: %w: %s", ctx.Err(), s.log())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

func (s Store) log() string {
	text, err := os.ReadFile(s.file(logFile))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// end ends the store's process and its mount, and moves its record to a directory. It succeeds if the store, or a part
// of it, is already gone.
func (s Store) end(ctx context.Context, keep string) error {
	if s.alive() {
		if _, err := burstfs.Ask(s.file(controlFile), burstfs.End, nil); err != nil {
			return err
		}
	}
	if err := s.ended(ctx); err != nil {
		return err
	}
	if err := unmountAll(s.file(mountFolder)); err != nil { // left by a killed process
		return err
	}
	before, err := filepath.Glob(s.file(beforePrefix + "*"))
	if err != nil {
		return fmt.Errorf("listing the records of the store: %w", err)
	}
	names := []string{truthFile, configFile, logFile}
	for _, name := range before {
		names = append(names, filepath.Base(name))
	}
	for _, name := range names {
		if err := os.MkdirAll(keep, 0o755); err != nil {
			return fmt.Errorf("keeping the record of the store: %w", err)
		}
		err := os.Rename(s.file(name), filepath.Join(keep, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keeping the record of the store: %w", err)
		}
	}
	// Never remove by force: only empty directories may be where contents could be.
	for _, name := range []string{mountFolder, backingFolder, controlFile, describedFile, describedFile + ".new", configFile + ".new", lockFile, ""} {
		if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the store: %w", err)
		}
	}
	return nil
}

// ended waits until the process releases its lock.
func (s Store) ended(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mounting)
	defer cancel()
	for {
		lock, err := lockFileAt(s.file(lockFile))
		switch {
		case err == nil:
			return lock.Close()
		case errors.Is(err, fs.ErrNotExist): // no folder
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of the store: %w: %s", ctx.Err(), s.log())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lockFileAt locks a file until it is closed. The error is EWOULDBLOCK if another process holds the lock.
func lockFileAt(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening a lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("taking the lock %s: %w", name, err)
	}
	return file, nil
}
