package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
)

// agentProcess is one agent that runs as a child of ours.
type agentProcess struct {
	command *exec.Cmd
	// lifeline is held open as long as the agent shall live.
	lifeline *os.File
	ready    *os.File
	exited   chan struct{}
}

// The file descriptors that an agent of a local run is given.
const (
	fdConfig   = 3
	fdReady    = 4
	fdLifeline = 5
	fdLock     = 6
)

// AgentFlags are the flags by which an agent finds those descriptors.
func AgentFlags() []string {
	fd := func(n int) string { return "/dev/fd/" + strconv.Itoa(n) }
	return []string{"--config=" + fd(fdConfig), "--ready=" + fd(fdReady), "--lifeline=" + fd(fdLifeline)}
}

// spawn starts an agent and hands it its configuration. lock keeps the target's directory ours for
// as long as any agent lives, even when we do not.
func spawn(command []string, config agent.Config, lock *os.File) (*agentProcess, error) {
	var parent, child [3]*os.File
	defer func() {
		for _, file := range child {
			_ = file.Close()
		}
	}()
	for i := range parent {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("make a pipe to an agent: %w", err)
		}
		parent[i], child[i] = write, read
		if i == fdReady-fdConfig {
			parent[i], child[i] = read, write
		}
	}
	spawned := &agentProcess{
		command:  exec.Command(command[0], append(command[1:], AgentFlags()...)...), //nolint:gosec // It is this program.
		lifeline: parent[fdLifeline-fdConfig],
		ready:    parent[fdReady-fdConfig],
		exited:   make(chan struct{}),
	}
	spawned.command.ExtraFiles = append(child[:], lock)
	spawned.command.Stderr = os.Stderr
	// A group of its own: Ctrl-C is the runner's to handle, and what it decides reaches the agent.
	spawned.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := spawned.command.Start(); err != nil {
		return nil, fmt.Errorf("start an agent: %w", err)
	}
	err := json.NewEncoder(parent[0]).Encode(config)
	if err = errors.Join(err, parent[0].Close()); err != nil {
		_ = spawned.command.Process.Kill()
		return nil, errors.Join(fmt.Errorf("configure an agent: %w", err), spawned.command.Wait())
	}
	return spawned, nil
}

// follow reports the end of the agent's process, once.
func (p *agentProcess) follow(ended func(message string)) {
	go func() {
		err := p.command.Wait()
		_ = p.lifeline.Close()
		close(p.exited)
		message := "its process ended"
		if err != nil {
			message += ": " + err.Error()
		}
		ended(message)
	}()
}

// locate waits for the agent to say where it listens.
func (p *agentProcess) locate(ctx context.Context) (string, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.ready.SetReadDeadline(time.Now()) })
	defer stop()
	defer func() { _ = p.ready.Close() }()
	line, err := bufio.NewReader(p.ready).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the agent did not say where it listens: %w", err)
	}
	return line[:len(line)-1], nil
}

// endpoint is how the conductor reaches the agent.
func (p *agentProcess) endpoint(key decide.ClientKey, runUID string, authority *identity.Authority) (conductor.Endpoint, error) {
	operator, err := authority.Operator()
	if err != nil {
		return conductor.Endpoint{}, err
	}
	config, err := operator.ClientTLS(identity.ClientOf(runUID, key.Target, key.Index))
	if err != nil {
		return conductor.Endpoint{}, err
	}
	return conductor.Endpoint{Key: key, Locate: p.locate, TLS: config}, nil
}
