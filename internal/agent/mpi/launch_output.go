package mpi

import (
	"io"
	"sync"
	"syscall"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// launchOutput sends a daemon's output to its launcher.
type launchOutput struct {
	mu sync.Mutex
	// send is nil once the Launch call has returned, because its stream is then closed.
	send func(*agentapi.LaunchOutput) error
}

func (o *launchOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.send = nil
}

// writerFunc is a function that implements io.Writer.
type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func (o *launchOutput) stdout() io.Writer {
	return o.writer(func(p []byte) *agentapi.LaunchOutput { return &agentapi.LaunchOutput{Stdout: p} })
}

func (o *launchOutput) stderr() io.Writer {
	return o.writer(func(p []byte) *agentapi.LaunchOutput { return &agentapi.LaunchOutput{Stderr: p} })
}

// writer returns a writer that never fails, so that a launcher that disconnects does not end the daemon.
func (o *launchOutput) writer(message func([]byte) *agentapi.LaunchOutput) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.send != nil {
			_ = o.send(message(p))
		}
		return len(p), nil
	})
}

func (o *launchOutput) end(exit *tool.Exit) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.send(&agentapi.LaunchOutput{Exit: &agentapi.LaunchExit{Code: exitCode(exit)}})
}

// exitCode returns the exit code, or 128 plus the number of the signal that killed the process. A process that did
// not exit counts as killed by SIGKILL.
func exitCode(exit *tool.Exit) int32 {
	if exit == nil {
		return 128 + int32(syscall.SIGKILL)
	}
	if exit.Status.Signaled() {
		return 128 + int32(exit.Status.Signal()) //nolint:gosec // Below 65.
	}
	return int32(exit.Status.ExitStatus()) //nolint:gosec // Below 256.
}
