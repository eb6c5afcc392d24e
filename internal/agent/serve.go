package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/process"
)

// Process holds an agent's configuration and the files that it was started with.
type Process struct {
	Config Config
	// Ready receives one line with the address at which the agent listens. It is optional.
	Ready io.WriteCloser
	// Lifeline reaches end of file when the process that started the agent exits. It is optional.
	Lifeline io.Reader
	// Stderr receives the one line that an agent prints when it exits on its own.
	Stderr io.Writer
}

const (
	// minKeepAlive is the shortest keepalive interval that a conductor may use.
	minKeepAlive = 5 * time.Second
	// keepAlive is the time without messages after which the agent checks the connection, and also the time that it waits
	// for an answer. An agent with an open connection does not count as orphaned, so dead connections must be detected.
	keepAlive = 20 * time.Second
	// leaveTimeout limits the time for killing processes that a tool left running.
	leaveTimeout = 10 * time.Second
)

// Serve runs the agent until its conductor calls Finish, the agent is orphaned, or the process receives SIGTERM, SIGINT
// or SIGHUP. When it returns without an error, all processes of the tool have exited.
func Serve(p Process) error {
	// Ignore SIGPIPE, because the agent must remove its data even if nothing reads its standard error.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := process.SetSubreaper(); err != nil {
		return fmt.Errorf("adopt orphaned processes: %w", err)
	}
	served := New(p.Config, SystemClock{})
	server, err := served.NewServer()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", p.Config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := announce(p.Ready, listener.Addr()); err != nil {
		server.Stop()
		return err
	}
	reaping, stopReaping := context.WithCancel(context.Background())
	defer stopReaping()
	go process.Reap(reaping)
	err = served.stay(p, failed, signals)
	// Let the response to Finish reach the conductor, but wait at most a second for the conductor to disconnect.
	stopped := make(chan struct{})
	go func() { server.GracefulStop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(time.Second):
		server.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	return errors.Join(err, process.KillDescendants(ctx, os.Getpid()))
}

func announce(ready io.WriteCloser, address net.Addr) error {
	if ready == nil {
		return nil
	}
	_, err := fmt.Fprintln(ready, address)
	if err = errors.Join(err, ready.Close()); err != nil {
		return fmt.Errorf("write the agent's address: %w", err)
	}
	return nil
}

// stay waits until the agent has finished or must exit for another reason.
func (a *Agent) stay(p Process, failed <-chan error, signals <-chan os.Signal) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	orphaned := make(chan string, 2)
	if p.Lifeline != nil {
		go func() {
			_, _ = io.Copy(io.Discard, p.Lifeline)
			orphaned <- "the process that started it has exited"
		}()
	}
	go func() {
		if a.WatchOrphaned(ctx) == nil {
			orphaned <- fmt.Sprintf("no contact with its conductor for %s", a.env.Config.OrphanTimeout)
		}
	}()
	var why string
	select {
	case <-a.Finished():
		return a.leftData()
	case err := <-failed:
		why = fmt.Sprintf("its server failed: %v", err)
	case got := <-signals:
		why = fmt.Sprintf("it received a signal (%s)", got)
	case why = <-orphaned:
	}
	select {
	case <-a.Finished():
		return a.leftData()
	default:
	}
	_, err := fmt.Fprintln(p.Stderr, a.Abandon(why))
	return errors.Join(err, a.leftData())
}

// leftData returns an error if data remains that should have been removed, so that the exit code reports it even if
// the answer to Finish was lost. Call it only after the agent has finished.
func (a *Agent) leftData() error {
	if a.outcome.Problem == "" {
		return nil
	}
	return fmt.Errorf("data is left: %s", a.outcome.Problem)
}
