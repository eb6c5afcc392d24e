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

// Agent is an agent that runs as a child process.
type Agent struct {
	command *exec.Cmd
	// lifeline is the writing end of a pipe to the agent. Closing it makes the agent exit.
	lifeline *os.File
	ready    *os.File
	exited   chan struct{}
}

// The file descriptors that an agent of a local run inherits.
const (
	fdConfig   = 3
	fdReady    = 4
	fdLifeline = 5
)

// AgentFlags returns the command-line flags that make an agent use the inherited file descriptors.
func AgentFlags() []string {
	fd := func(n int) string { return "/dev/fd/" + strconv.Itoa(n) }
	return []string{"--config=" + fd(fdConfig), "--ready=" + fd(fdReady), "--lifeline=" + fd(fdLifeline)}
}

// StartAgent starts an agent and sends it its configuration. The agent inherits locks, so that the target's
// directories remain locked while any agent is alive, even if this process dies.
func StartAgent(command []string, config agent.Config, locks ...*os.File) (_ *Agent, err error) {
	var parent, child [3]*os.File
	defer func() {
		for i := range child {
			_ = child[i].Close()
			if err != nil {
				_ = parent[i].Close()
			}
		}
	}()
	for i := range parent {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("create a pipe to an agent: %w", err)
		}
		parent[i], child[i] = write, read
		if i == fdReady-fdConfig {
			parent[i], child[i] = read, write
		}
	}
	spawned := &Agent{
		command:  exec.Command(command[0], append(command[1:], AgentFlags()...)...),
		lifeline: parent[fdLifeline-fdConfig],
		ready:    parent[fdReady-fdConfig],
		exited:   make(chan struct{}),
	}
	spawned.command.ExtraFiles = child[:]
	spawned.command.ExtraFiles = append(spawned.command.ExtraFiles, locks...)
	spawned.command.Stderr = os.Stderr
	// A separate process group keeps Ctrl-C from reaching the agent directly: the runner handles it and stops the
	// agent.
	spawned.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := spawned.command.Start(); err != nil {
		return nil, fmt.Errorf("start an agent: %w", err)
	}
	err = json.NewEncoder(parent[0]).Encode(config)
	if err = errors.Join(err, parent[0].Close()); err != nil {
		_ = spawned.command.Process.Kill()
		return nil, errors.Join(fmt.Errorf("configure an agent: %w", err), spawned.command.Wait())
	}
	return spawned, nil
}

// Leave closes the lifeline. The agent then stops its load, removes its data and exits.
func (p *Agent) Leave() { _ = p.lifeline.Close() }

// Kill kills the agent's process if it is alive, and returns when it has exited. Call it only after Follow; otherwise
// it never returns.
func (p *Agent) Kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}

// Exited returns a channel that is closed when the agent's process has exited. The channel is closed only if Follow
// was called.
func (p *Agent) Exited() <-chan struct{} { return p.exited }

// Follow waits for the agent's process in the background. It calls `ended` exactly once, when the process exits.
func (p *Agent) Follow(ended func(message string)) {
	go func() {
		err := p.command.Wait()
		_ = p.lifeline.Close()
		close(p.exited)
		message := "its process exited"
		if err != nil {
			message += ": " + err.Error()
		}
		ended(message)
	}()
}

// locate waits until the agent reports its address.
func (p *Agent) locate(ctx context.Context) (string, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.ready.SetReadDeadline(time.Now()) })
	defer stop()
	defer func() { _ = p.ready.Close() }()
	line, err := bufio.NewReader(p.ready).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the agent did not report its address: %w", err)
	}
	return line[:len(line)-1], nil
}

// Endpoint returns the agent's address, and the credentials with which the conductor connects to the agent. They
// identify the conductor as the operator.
func (p *Agent) Endpoint(key decide.ClientKey, runUID string, authority *identity.Authority) (conductor.Endpoint, error) {
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
