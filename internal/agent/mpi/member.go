package mpi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// member is a client's part of a job that client 0 started:
//
//	Run -> Launch (daemon starts) -> Release (job has ended) -> all processes have exited
//
// If several clients share an address, a daemon is launched only on the first one; the others only receive Release.
type member struct {
	*part

	// begun is closed by Run; no daemon may be launched earlier.
	begun chan struct{}
	// released is closed by Release; hungUp is closed if the launcher disconnects before its daemon has exited.
	released, hungUp chan struct{}
	release, hangUp  func()
	// launched is closed once a daemon runs.
	launched chan struct{}

	mu sync.Mutex
	// closed is true once no further daemon may be launched.
	closed bool
}

func newMember(p *part) *member {
	m := &member{
		part: p, begun: make(chan struct{}), released: make(chan struct{}), hungUp: make(chan struct{}), launched: make(chan struct{}),
	}
	m.release = sync.OnceFunc(func() { close(m.released) })
	m.hangUp = sync.OnceFunc(func() { close(m.hungUp) })
	for _, client := range p.load.GetClients() {
		if int(client.GetClient()) == p.env.Config.Client {
			m.ranks = int(p.load.GetProcessesPerClient())
		}
	}
	return m
}

// Discard implements tool.Load.
func (m *member) Discard() {
	m.shut()
	m.close()
}

// shut prevents start from starting further daemons.
func (m *member) shut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

// memberEnd describes how a client's part of a job ended.
type memberEnd struct {
	// stopped is the reason why the client's part of the job was ended early; overdue is true if the deadline was
	// exceeded.
	stopped string
	overdue bool
	// lost is the reason why client 0 is considered lost; hung is the reason for killing the ranks.
	lost, hung string
}

// Run implements tool.Load.
func (m *member) Run(deadline int64) *agentapi.Ended {
	m.begin()
	close(m.begun)
	end := m.wait(deadline)
	m.shut()
	m.clear()
	ended := &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_COMPLETE,
		ToolVersion: m.known.version(m.load.GetProgram())}
	switch {
	case end.hung != "":
		tool.Fail(ended, tool.ReasonHung, "the ranks were killed: %s", end.hung)
	case end.lost != "":
		tool.Fail(ended, agentapi.ReasonClientLost, "%s", end.lost)
	case end.overdue && m.load.GetDurationNanoseconds() == 0:
		tool.Fail(ended, tool.ReasonDeadline, "%s", end.stopped)
	case end.overdue && m.covered(): // The step was measured for its whole duration, so it is complete.
	case end.stopped != "":
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_STOPPED, tool.ReasonStopped, end.stopped
	}
	m.gather(ended)
	m.leave(ended, end.hung != "")
	return ended
}

// wait returns when the job has ended, or when this client's part of it must end.
func (m *member) wait(deadlineAt int64) memberEnd {
	var end memberEnd
	timeouts := &m.step.Timeouts
	deadline := time.NewTimer(time.Duration(deadlineAt - m.step.Clock.Monotonic()))
	defer deadline.Stop()
	giveUp := time.NewTimer(time.Duration(math.MaxInt64))
	defer giveUp.Stop()
	var giveUpAt time.Time
	// within ends this client's part of the job after the timeout, unless an earlier timeout is already set.
	within := func(timeout time.Duration) {
		if at := time.Now().Add(timeout); giveUpAt.IsZero() || at.Before(giveUpAt) {
			giveUpAt = at
			giveUp.Reset(timeout)
		}
	}
	// When the job must stop, client 0 ends it properly and then sends Release. A member that has launched no daemon waits
	// only briefly for the Release.
	stop := func(reason string) {
		end.stopped = cmp.Or(end.stopped, reason)
		if m.isLaunched() {
			within(timeouts.Terminate + timeouts.Release)
			return
		}
		within(timeouts.HangUp)
	}
	var daemonEnded <-chan struct{}
	var hung <-chan string
	stopped, hungUp, launched := m.step.Stopped.Done(), m.hungUp, m.launched
	for {
		select {
		case <-m.released:
			end.lost = ""
			return end
		case <-launched:
			launched, daemonEnded, hung = nil, m.running.ended, m.running.hung
		case <-stopped:
			stopped = nil
			stop(context.Cause(m.step.Stopped).Error())
		case <-deadline.C:
			end.overdue = end.stopped == ""
			stop("the step's deadline passed")
		case <-hungUp:
			hungUp = nil
			end.lost = "client 0 disconnected"
			within(timeouts.HangUp)
		case <-daemonEnded:
			daemonEnded = nil
			if end.lost == "" && end.stopped == "" {
				end.lost = fmt.Sprintf("MPI's daemon exited, but client 0 did not report the end of the job within %s",
					timeouts.Release)
			}
			within(timeouts.Release)
		case end.hung = <-hung:
			return end
		case <-m.step.Abandoned:
			end.hung = "the agent is exiting"
			return end
		case <-giveUp.C:
			return end
		}
	}
}

func (m *member) isLaunched() bool {
	select {
	case <-m.launched:
		return true
	default:
		return false
	}
}

// launch starts the daemon for client 0, passes its output to send, and returns when the daemon and all its descendants
// have exited. ctx is the context of the gRPC call.
func (m *member) launch(ctx context.Context, command []string, send func(*agentapi.LaunchOutput) error) error {
	select {
	case <-m.begun:
	case <-m.step.Ended:
		return status.Error(codes.FailedPrecondition, "the step has ended")
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	output := &launchOutput{send: send}
	defer output.close()
	daemon, err := m.start(command, output)
	if err != nil {
		return err
	}
	select {
	case <-daemon.ended:
	case <-ctx.Done():
		// The launcher has disconnected or this agent is stopping, so the launcher cannot be notified.
		_ = daemon.clear(m.step.Timeouts.Gone)
		m.hangUp()
		return status.FromContextError(ctx.Err()).Err()
	}
	// The daemon has exited, but call clear, because it also finds ranks that have left the daemon's process group.
	if err := daemon.clear(m.step.Timeouts.Gone); err != nil {
		m.stderr.Note(err.Error())
	}
	return output.end(daemon.exit)
}

// start starts the daemon. It returns an error if a daemon was already started.
func (m *member) start(command []string, output *launchOutput) (*mpiProcess, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.running != nil {
		return nil, status.Error(codes.FailedPrecondition, "the step has already ended or was already launched on this client")
	}
	path, err := m.find(command[0])
	if err != nil {
		return nil, tool.Refuse(tool.ReasonTool, errors.New(missingTool(command[0], err)))
	}
	if err := m.openShared(); err != nil {
		return nil, tool.Refuse(tool.ReasonOf(err), err)
	}
	where, err := m.rankWhere()
	if err != nil {
		return nil, tool.Refuse(tool.ReasonVolume, err)
	}
	daemon := exec.Command(path, command[1:]...)
	daemon.Dir = m.scratch
	daemon.Env = m.environment(m.scratch, where...)
	daemon.Stdout, daemon.Stderr = output.stdout(), output.stderr()
	daemon.WaitDelay = m.step.Timeouts.Gone / 2
	running, err := m.startMPI(daemon)
	if err != nil {
		return nil, tool.Refuse(tool.ReasonTool, err)
	}
	m.running = running
	close(m.launched)
	return running, nil
}
