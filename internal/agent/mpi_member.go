package agent

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// mpiMember is a client's part of a job that client 0 started:
//
//	release -> Launch (daemon starts) -> Release (job has ended) -> all processes have exited
//
// If several clients share an address, only the first one is launched; the others only get Release.
type mpiMember struct {
	*mpiPart
	// begun is closed by release; no daemon may be launched before.
	begun chan struct{}
	// released is closed by Release; hungUp is closed if the launcher disconnects before its daemon has exited.
	released, hungUp chan struct{}
	release1, hangUp func()
	// launched is closed once a daemon runs.
	launched chan struct{}

	mu sync.Mutex
	// closed is true once no further daemon may be launched.
	closed bool
}

func newMember(part *mpiPart) *mpiMember {
	m := &mpiMember{
		mpiPart: part, begun: make(chan struct{}), released: make(chan struct{}), hungUp: make(chan struct{}), launched: make(chan struct{}),
	}
	m.release1 = sync.OnceFunc(func() { close(m.released) })
	m.hangUp = sync.OnceFunc(func() { close(m.hungUp) })
	for _, client := range part.tool.GetClients() {
		if int(client.GetClient()) == part.step.agent.config.Client {
			m.ranks = int(part.tool.GetProcessesPerClient())
		}
	}
	return m
}

func (m *mpiMember) discard() {
	m.shut()
	m.close()
}

// shut refuses daemons from now on.
func (m *mpiMember) shut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

// memberEnd describes how a member's part ended.
type memberEnd struct {
	// stopped is why the part was asked to stop; overdue is true if it exceeded its deadline.
	stopped string
	overdue bool
	// lost is why client 0 is considered lost; hung is why the ranks were killed.
	lost, hung string
}

func (m *mpiMember) release(given order) *agentapi.Ended {
	m.begin()
	close(m.begun)
	end := m.wait(given)
	m.shut()
	m.clear()
	ended := &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_COMPLETE, ToolVersion: m.version(m.tool.GetProgram())}
	switch {
	case end.hung != "":
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonHung, "the ranks were killed: "+end.hung
	case end.lost != "":
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, agentapi.ReasonClientLost, end.lost
	case end.overdue && m.tool.GetDurationNanoseconds() == 0:
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonDeadline, end.stopped
	case end.stopped != "":
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_STOPPED, reasonStopped, end.stopped
	}
	m.gather(ended)
	m.leave(ended, end.hung != "")
	return ended
}

// wait returns when the job has ended, or when this part of it must end.
func (m *mpiMember) wait(given order) memberEnd {
	var end memberEnd
	timeouts := m.step.agent.timeouts
	deadline := time.NewTimer(time.Duration(given.deadline - m.step.agent.clock.Monotonic()))
	defer deadline.Stop()
	giveUp := time.NewTimer(time.Duration(math.MaxInt64))
	defer giveUp.Stop()
	var giveUpAt time.Time
	// The earliest timeout ends the part.
	within := func(timeout time.Duration) {
		if at := time.Now().Add(timeout); giveUpAt.IsZero() || at.Before(giveUpAt) {
			giveUpAt = at
			giveUp.Reset(timeout)
		}
	}
	// Client 0 ends the job properly and then sends Release. Without a launched daemon, there is no need to wait
	// for that.
	stop := func(reason string) {
		end.stopped = firstOf(end.stopped, reason)
		if m.isLaunched() {
			within(timeouts.mpi + timeouts.release)
			return
		}
		within(timeouts.hangUp)
	}
	var daemonEnded <-chan struct{}
	var hung <-chan string
	stopped, hungUp, launched := m.step.stopped.Done(), m.hungUp, m.launched
	for {
		select {
		case <-m.released:
			end.lost = ""
			return end
		case <-launched:
			launched, daemonEnded, hung = nil, m.running.ended, m.running.hung
		case <-stopped:
			stopped = nil
			stop(context.Cause(m.step.stopped).Error())
		case <-deadline.C:
			end.overdue = end.stopped == ""
			stop("the step's deadline passed")
		case <-hungUp:
			hungUp = nil
			end.lost = "client 0 hung up"
			within(timeouts.hangUp)
		case <-daemonEnded:
			daemonEnded = nil
			if end.lost == "" && end.stopped == "" {
				end.lost = fmt.Sprintf("the daemon of MPI ended, and client 0 has not said within %s that the job has", timeouts.release)
			}
			within(timeouts.release)
		case end.hung = <-hung:
			return end
		case <-m.step.abandoned:
			end.hung = "the agent could not wait for them any longer"
			return end
		case <-giveUp.C:
			return end
		}
	}
}

func (m *mpiMember) isLaunched() bool {
	select {
	case <-m.launched:
		return true
	default:
		return false
	}
}

// launch starts the daemon for client 0, passes its output to said, and returns when the daemon and all its
// descendants have exited. The context ends with the call.
func (m *mpiMember) launch(ctx context.Context, command []string, said func(*agentapi.LaunchOutput) error) error {
	select {
	case <-m.begun:
	case <-m.step.ended:
		return status.Error(codes.FailedPrecondition, "the step has ended")
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	output := &launchOutput{send: said}
	defer output.close()
	daemon, err := m.start(command, output)
	if err != nil {
		return err
	}
	select {
	case <-daemon.ended:
	case <-ctx.Done():
		// The stream also breaks when this agent stops. In either case the launcher can no longer be notified.
		_ = daemon.clear(m.step.agent.timeouts.gone)
		m.hangUp()
		return status.FromContextError(ctx.Err()).Err()
	}
	// clear also finds ranks that have left the daemon's process group.
	if err := daemon.clear(m.step.agent.timeouts.gone); err != nil {
		m.stderr.note(err.Error())
	}
	return output.end(daemon.exit)
}

// start starts the daemon; it refuses a second one.
func (m *mpiMember) start(command []string, output *launchOutput) (*mpiProcess, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.running != nil {
		return nil, status.Error(codes.FailedPrecondition, "the step has ended here, or was launched before")
	}
	path, err := m.step.agent.find(command[0])
	if err != nil {
		return nil, refuse(ReasonTool, fmt.Errorf("%s", missingTool(command[0], err)))
	}
	if err := m.openShared(); err != nil {
		return nil, refuse(reasonOf(err), err)
	}
	where, err := m.rankWhere()
	if err != nil {
		return nil, refuse(ReasonVolume, err)
	}
	daemon := exec.Command(path, command[1:]...)
	daemon.Dir = m.scratch
	daemon.Env = m.step.agent.mpiEnvironment(m.scratch, where...)
	daemon.Stdout, daemon.Stderr = output.stdout(), output.stderr()
	daemon.WaitDelay = m.step.agent.timeouts.gone / 2
	running, err := m.startMPI(daemon)
	if err != nil {
		return nil, refuse(ReasonTool, err)
	}
	m.running = running
	close(m.launched)
	return running, nil
}
