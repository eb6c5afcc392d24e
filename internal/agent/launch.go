package agent

import (
	"context"
	"io"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// Launch implements agentapi.AgentServer.
func (a *Agent) Launch(request *agentapi.LaunchRequest, stream grpc.ServerStreamingServer[agentapi.LaunchOutput]) error {
	if err := checkDaemon(request.GetCommand()); err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	member, err := a.member(request.GetStep())
	if err != nil {
		return err
	}
	if err := member.checkLaunch(stream.Context(), request.GetCommand()); err != nil {
		return err
	}
	return member.launch(stream.Context(), request.GetCommand(), stream.Send)
}

// Release implements agentapi.AgentServer. It does not wait for the end of the step; Watch reports that.
func (a *Agent) Release(ctx context.Context, request *agentapi.ReleaseRequest) (*agentapi.ReleaseResponse, error) {
	// Ignore other steps: they have ended or were never loaded.
	if member, err := a.member(request.GetStep()); err == nil {
		if err := member.checkCaller(ctx); err != nil {
			return nil, err
		}
		member.release1()
	}
	return &agentapi.ReleaseResponse{}, nil
}

// member returns the live step's part in an MPI job, if the key names the live step.
func (a *Agent) member(key *agentapi.StepKey) (*mpiMember, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.live == nil || stepName(a.live.key) != stepName(key) || !a.live.isLoaded() {
		return nil, status.Errorf(codes.FailedPrecondition, "step %s is not loaded here", stepName(key))
	}
	member, ok := a.live.tool.(*mpiMember)
	if !ok {
		return nil, status.Errorf(codes.FailedPrecondition, "step %s is no part of a job of MPI that client 0 starts", stepName(key))
	}
	return member, nil
}

// launchOutput sends a daemon's output to its launcher.
type launchOutput struct {
	mu sync.Mutex
	// send is nil once the call has returned, because the stream is then closed.
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

// writer returns a writer that never fails: a launcher that disconnects must not end the daemon.
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

func (o *launchOutput) end(exit *Exit) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.send(&agentapi.LaunchOutput{Exit: &agentapi.LaunchExit{Code: exitCode(exit)}})
}

// exitCode returns the exit code, or 128 plus the number of the signal that killed the process. A process that did
// not exit counts as killed by SIGKILL.
func exitCode(exit *Exit) int32 {
	if exit == nil {
		return 128 + int32(syscall.SIGKILL)
	}
	if exit.Status.Signaled() {
		return 128 + int32(exit.Status.Signal()) //nolint:gosec // Below 65.
	}
	return int32(exit.Status.ExitStatus()) //nolint:gosec // Below 256.
}
