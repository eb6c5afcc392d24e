package agent

import (
	"context"
	"io"
	"os"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// Launch implements agentapi.AgentServer. Who may call it, newServer has seen to.
func (a *Agent) Launch(request *agentapi.LaunchRequest, stream grpc.ServerStreamingServer[agentapi.LaunchOutput]) error {
	if err := checkDaemon(request.GetCommand()); err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	member, err := a.member(request.GetStep())
	if err != nil {
		return err
	}
	return member.launch(stream.Context(), request.GetCommand(), stream.Send)
}

// Release implements agentapi.AgentServer. It does not wait for the end; Watch tells of it.
func (a *Agent) Release(_ context.Context, request *agentapi.ReleaseRequest) (*agentapi.ReleaseResponse, error) {
	// A step that is not live has ended, or never came so far.
	if member, err := a.member(request.GetStep()); err == nil {
		member.release1()
	}
	return &agentapi.ReleaseResponse{}, nil
}

// member gives the live step's part in a job of MPI, if that is the step.
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

// launchOutput sends what a daemon prints to its launcher.
type launchOutput struct {
	mu sync.Mutex
	// send is nil when the call has returned: then nothing may be sent any more.
	send func(*agentapi.LaunchOutput) error
}

func (o *launchOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.send = nil
}

// writerFunc is an io.Writer.
type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func (o *launchOutput) stdout() io.Writer {
	return o.writer(func(p []byte) *agentapi.LaunchOutput { return &agentapi.LaunchOutput{Stdout: p} })
}

func (o *launchOutput) stderr() io.Writer {
	return o.writer(func(p []byte) *agentapi.LaunchOutput { return &agentapi.LaunchOutput{Stderr: p} })
}

// writer never fails: a daemon must not be ended by a caller that is slow to go.
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

func (o *launchOutput) end(state *os.ProcessState) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.send(&agentapi.LaunchOutput{Exit: &agentapi.LaunchExit{Code: exitCode(state)}})
}

// exitCode is 128 and the signal where one killed the process.
func exitCode(state *os.ProcessState) int32 {
	if state == nil {
		return 128 + int32(syscall.SIGKILL)
	}
	if how, ok := state.Sys().(syscall.WaitStatus); ok && how.Signaled() {
		return 128 + int32(how.Signal()) //nolint:gosec // Below 65.
	}
	return int32(state.ExitCode()) //nolint:gosec // Below 256.
}
