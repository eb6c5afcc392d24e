package burst

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/cluster"
)

const (
	// home is the folder of all stores, in the node.
	home = "/run/storagebench-burst"
	// mounting is the time limit for mounting a store.
	mounting = 5 * time.Minute
)

var names = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// Store is a store in the node of a cluster. Its files and its socket are found by its name alone, so every process of
// this machine can use it.
type Store struct {
	state cluster.State
	name  string
	// node is the PID, on this machine, of the node's process 1.
	node int
	// running is nil if another process started the store.
	running *running
}

// running is the process of a store that ends with this process.
type running struct {
	hold  io.Closer // its standard input
	ended chan struct{}
}

// Options configures Start.
type Options struct {
	// Name consists of at most 40 lower-case letters, digits and dashes.
	Name   string
	Config model.Config
	// Stays lets the store outlive this process; [Store.End] or the end of the cluster ends it.
	Stays bool
}

// Find returns a store by its name. The store need not exist.
func Find(state cluster.State, name string) (*Store, error) {
	if !names.MatchString(name) {
		return nil, fmt.Errorf("naming a store: %q must be small letters, digits and dashes, at most 40", name)
	}
	node, err := state.NodePID()
	if err != nil {
		return nil, err
	}
	return &Store{state: state, name: name, node: node}, nil
}

// Start mounts a store in the node and returns when it is usable. It fails if a store of that name is running.
func Start(ctx context.Context, state cluster.State, o Options) (*Store, error) {
	s, err := Find(state, o.Name)
	if err != nil {
		return nil, err
	}
	if err := o.Config.Validate(); err != nil {
		return nil, fmt.Errorf("describing store %s: %w", o.Name, err)
	}
	if s.answers() {
		return nil, fmt.Errorf("a store %s is there already; end it first", o.Name)
	}
	if err := install(ctx, state); err != nil {
		return nil, err
	}
	if err := s.clear(ctx); err != nil { // a killed store leaves its mount and files
		return nil, err
	}
	if err := s.lay(o.Config); err != nil {
		return nil, err
	}
	if err := s.launch(ctx, o.Stays); err != nil {
		return nil, errors.Join(err, s.clear(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// List returns the names of the running stores of a cluster.
func List(state cluster.State) ([]string, error) {
	node, err := state.NodePID()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(outside(node, home))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the stores: %w", err)
	}
	var found []string
	for _, entry := range entries {
		if s := (&Store{state: state, name: entry.Name(), node: node}); s.answers() {
			found = append(found, s.name)
		}
	}
	return found, nil
}

// outside returns the path on this machine of a path in the node.
func outside(node int, path string) string {
	return filepath.Join("/proc", strconv.Itoa(node), "root", path)
}

func (s *Store) inside(file string) string  { return filepath.Join(home, s.name, file) }
func (s *Store) outside(file string) string { return outside(s.node, s.inside(file)) }
func (s *Store) socket() string             { return s.outside("control") }

// Path returns the path of the mount in the node.
func (s *Store) Path() string { return s.inside("mount") }

// Outside returns the path of the mount on this machine.
func (s *Store) Outside() string { return s.outside("mount") }

// program is the path of the store's program in the node.
const program = "/var/lib/storagebench-burst/burstfs"

// install builds the program into the node's /var.
func install(ctx context.Context, state cluster.State) error {
	return binaries.BuildOwn(ctx, "./test/burstfs/cmd/burstfs", filepath.Join(state.Folder(), program))
}

// lay creates the store's directories and writes its configuration.
func (s *Store) lay(config model.Config) error {
	for _, folder := range []string{"backing", "mount"} {
		if err := os.MkdirAll(s.outside(folder), 0o755); err != nil {
			return fmt.Errorf("making the folders of store %s: %w", s.name, err)
		}
	}
	// All users may write, regardless of this process's umask.
	if err := os.Chmod(s.outside("backing"), 0o777); err != nil {
		return fmt.Errorf("opening store %s to all users: %w", s.name, err)
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing the configuration of store %s: %w", s.name, err)
	}
	if err := os.WriteFile(s.outside("store.yaml"), text, 0o644); err != nil {
		return fmt.Errorf("writing the configuration of store %s: %w", s.name, err)
	}
	return nil
}

func (s *Store) launch(ctx context.Context, stays bool) error {
	arguments := []string{program, "--config", s.inside("store.yaml"), "--backing", s.inside("backing"),
		"--truth", s.inside("truth.csv"), "--control", s.inside("control")}
	if !stays {
		arguments = append(arguments, "--with-stdin")
	}
	// The store outlives the context of Start.
	command, err := s.state.Enter(context.WithoutCancel(ctx), append(arguments, s.Path())...)
	if err != nil {
		return err
	}
	log, err := os.Create(s.outside("log"))
	if err != nil {
		return fmt.Errorf("making the log of store %s: %w", s.name, err)
	}
	defer log.Close() //nolint:errcheck // the store has its own
	command.Stdout, command.Stderr = log, log
	// In a session of its own, the store gets no interrupt from the terminal: this process ends it.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	process := &running{ended: make(chan struct{})}
	if !stays {
		if process.hold, err = command.StdinPipe(); err != nil {
			return fmt.Errorf("holding store %s: %w", s.name, err)
		}
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting store %s: %w", s.name, err)
	}
	go func() {
		_ = command.Wait() // its log says why
		close(process.ended)
	}()
	if !stays {
		s.running = process
	}
	return s.wait(ctx, process.ended)
}

// wait waits until the store answers.
func (s *Store) wait(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, mounting)
	defer cancel()
	for !s.answers() {
		select {
		case <-ended:
			return fmt.Errorf("store %s ended at its start: %s", s.name, s.log())
		case <-ctx.Done():
			return fmt.Errorf("waiting for store %s: %w: %s", s.name, ctx.Err(), s.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (s *Store) log() string {
	text, err := os.ReadFile(s.outside("log"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

func (s *Store) answers() bool {
	_, err := burstfs.Ask(s.socket(), burstfs.Truth, nil)
	return err == nil
}

// Truth returns the store's record up to the last complete second.
func (s *Store) Truth() (truth.Record, error) {
	text, err := s.TruthCSV()
	if err != nil {
		return truth.Record{}, err
	}
	return truth.Read(bytes.NewReader(text))
}

// TruthCSV returns the same record as CSV.
func (s *Store) TruthCSV() ([]byte, error) { return burstfs.Ask(s.socket(), burstfs.Truth, nil) }

// Config returns the configuration with which the store was started.
func (s *Store) Config() (model.Config, error) { return burstfs.Read(s.outside("store.yaml")) }

// Set changes the store's configuration; see burstfs.FS.Set for the state that it keeps.
func (s *Store) Set(config model.Config) error {
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing a configuration for store %s: %w", s.name, err)
	}
	_, err = burstfs.Ask(s.socket(), burstfs.Set, text)
	return err
}

// End unmounts the store, ends its process and removes its files. Pods that still use it get errors. End succeeds if
// the store has already ended or was killed.
func (s *Store) End(ctx context.Context) error {
	var failed error
	if s.answers() {
		_, failed = burstfs.Ask(s.socket(), burstfs.End, nil)
	}
	if s.running != nil {
		_ = s.running.hold.Close() // this ends a store that does not answer
		select {
		case <-s.running.ended:
		case <-ctx.Done():
			return errors.Join(failed, fmt.Errorf("waiting for the end of store %s: %w", s.name, ctx.Err()))
		}
	}
	return errors.Join(failed, s.clear(ctx))
}

// clear removes what an ended store left: its files, and its mount if it was killed.
func (s *Store) clear(ctx context.Context) error {
	if _, err := os.Stat(outside(s.node, filepath.Join(home, s.name))); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.state.Folder(), program)); err == nil {
		command, err := s.state.Enter(ctx, program, "--remove-dead")
		if err != nil {
			return err
		}
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("unmounting what store %s has left: %w\n%s", s.name, err, output)
		}
	}
	if err := os.RemoveAll(outside(s.node, filepath.Join(home, s.name))); err != nil {
		return fmt.Errorf("removing the files of store %s: %w", s.name, err)
	}
	return nil
}
