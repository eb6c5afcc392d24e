package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// NodeCommand is the argument with which the program that calls Up runs itself as process 1 of a node; the path of the
// node's spec follows. With this argument, the program must call node.Run.
const NodeCommand = "node-process-1"

// nodeNamespaces are the clone flags for the namespaces of a node.
const nodeNamespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// startFirst starts the first node of a new cluster.
func (s State) startFirst(ctx context.Context, found machine, programs map[string]string) (record, error) {
	release, err := reserveNetwork(ctx)
	if err != nil {
		return record{}, err
	}
	defer release()
	n, err := chooseNetwork()
	if err != nil {
		return record{}, err
	}
	if err := s.writeCredentials(n, time.Now()); err != nil {
		return record{}, err
	}
	return s.Member(0).start(ctx, record{Network: n, StartedAt: time.Now()}, found, programs)
}

// start writes the files of a node and starts its process 1. The record is written before the node may do anything, so
// that a later up or down finds the node even if this process dies in between.
func (m Member) start(ctx context.Context, known record, found machine, programs map[string]string) (record, error) {
	if err := m.writeFiles(known.Network, found, programs); err != nil {
		return record{}, err
	}
	trees, err := hierarchies()
	if err != nil {
		return record{}, err
	}
	if err := createCgroups(trees, m.cgroup()); err != nil {
		return record{}, err
	}
	pid, goAhead, err := m.launch()
	if err != nil {
		return record{}, err
	}
	defer goAhead.Close() //nolint:errcheck // a byte that did not get through ends the node
	init, err := identify(pid)
	if err != nil {
		return record{}, err
	}
	started := known.with(m, init)
	if err := m.state.save(started); err != nil {
		return record{}, err
	}
	for _, tree := range trees {
		if err := tree.add(filepath.Join(m.cgroup(), system), pid); err != nil {
			return record{}, err
		}
	}
	if err := m.createLink(ctx, started, pid); err != nil {
		return record{}, err
	}
	if _, err := goAhead.Write([]byte{1}); err != nil {
		return record{}, fmt.Errorf("telling the node to go ahead: %w", err)
	}
	return started, nil
}

// writeFiles writes the credentials, configuration files and spec of a node.
func (m Member) writeFiles(n network, found machine, programs map[string]string) error {
	if err := m.writeCredentials(n); err != nil {
		return err
	}
	if err := m.writeConfigs(m.configValues(n, found)); err != nil {
		return err
	}
	if err := os.MkdirAll(m.state.sharedFolder(), 0o755); err != nil {
		return fmt.Errorf("making the folder that the nodes share: %w", err)
	}
	spec, err := json.MarshalIndent(m.spec(n, programs), "", "  ")
	if err != nil {
		return fmt.Errorf("encoding what the node is made from: %w", err)
	}
	// The status of an earlier, dead node describes processes that no longer exist.
	if err := os.Remove(filepath.Join(m.folder(), statusFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the last status of the node: %w", err)
	}
	return writeFile(m.specFile(), spec, 0o600)
}

// launch starts process 1 of the node, which waits for a byte from the pipe.
func (m Member) launch() (int, *os.File, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return 0, nil, fmt.Errorf("making a pipe to the node: %w", err)
	}
	defer reader.Close() //nolint:errcheck // the node has its own
	logFile := m.Outside(nodeLogs + "/node.log")
	if err := writeFile(logFile, nil, 0o644); err != nil {
		return 0, nil, err
	}
	log, err := os.OpenFile(logFile, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, nil, fmt.Errorf("opening the log of the node: %w", err)
	}
	defer log.Close() //nolint:errcheck // the node has its own
	// The process outlives this program, so it has no context. /proc/self/exe works even if the program's file has been
	// deleted, as `go run` does.
	command := exec.Command("/proc/self/exe", NodeCommand, m.specFile()) //nolint:noctx // see above
	command.Dir = "/"
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{reader}
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: nodeNamespaces, Setsid: true}
	if err := command.Start(); err != nil {
		_ = writer.Close()
		return 0, nil, fmt.Errorf("starting the node in namespaces of its own: %w", err)
	}
	// Reap the process if it ends while this program runs.
	go command.Wait() //nolint:errcheck // its log and its status say why it ended
	return command.Process.Pid, writer, nil
}
