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

// Process is how an agent is started.
type Process struct {
	Config Config
	// Ready is told the address that the agent listens at, on a line; may be nil.
	Ready io.WriteCloser
	// Lifeline ends when whoever started the agent is gone; may be nil.
	Lifeline io.Reader
	// Said gets the one line that an agent prints when it had to leave by itself.
	Said io.Writer
}

const (
	// minKeepAlive is how often a conductor may ask whether the connection lives.
	minKeepAlive = 5 * time.Second
	// keepAlive is after how much silence the agent asks, and how long it waits for an answer: an
	// open connection keeps it from counting as abandoned, so it must be a living one.
	keepAlive = 20 * time.Second
	// leaveTimeout bounds the end of what a tool may have left below us.
	leaveTimeout = 10 * time.Second
)

// Serve runs the agent until it is told to finish, is abandoned, or gets SIGTERM or SIGINT. When it
// returns, no process of the tool is left.
func Serve(p Process) error {
	// A reader of our standard error that has gone away must not keep us from tidying up.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := process.SetSubreaper(); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	served := New(p.Config, SystemClock{})
	server, err := served.newServer()
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
	// The answer to Finish is still on its way; a conductor that hangs up later is not waited for.
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
		return fmt.Errorf("say where the agent listens: %w", err)
	}
	return nil
}

// stay waits for the end of the agent, whatever it is.
func (a *Agent) stay(p Process, failed <-chan error, signals <-chan os.Signal) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	orphaned := make(chan string, 2)
	if p.Lifeline != nil {
		go func() {
			_, _ = io.Copy(io.Discard, p.Lifeline)
			orphaned <- "whoever started it is gone"
		}()
	}
	go func() {
		if a.WatchOrphaned(ctx) == nil {
			orphaned <- fmt.Sprintf("nobody has spoken to it for %s", a.config.OrphanTimeout)
		}
	}()
	var why string
	select {
	case <-a.Finished():
		return a.leftData()
	case err := <-failed:
		why = fmt.Sprintf("its server failed: %v", err)
	case got := <-signals:
		why = fmt.Sprintf("it was told to end (%s)", got)
	case why = <-orphaned:
	}
	select {
	case <-a.Finished():
		return a.leftData()
	default:
	}
	_, err := fmt.Fprintln(p.Said, a.Abandon(why))
	return errors.Join(err, a.leftData())
}

// leftData is an error when data is left that should have gone, so that the exit code says so to whom
// the answer to Finish did not reach. It is for use when the agent has finished.
func (a *Agent) leftData() error {
	if a.outcome.problem == "" {
		return nil
	}
	return fmt.Errorf("data is left: %s", a.outcome.problem)
}
