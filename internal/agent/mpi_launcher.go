package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// mpiLauncher is client 0's part of a job: it runs mpirun, reads the tool's output, and notifies all other clients
// when the job has ended.
type mpiLauncher struct {
	*mpiPart
	job    mpiJob
	output *mpiOutput
	link   *launchLink
}

// newLauncher prepares everything that mpirun needs. mpirun itself is started only at the start instant, because no
// part of an MPI job can be started early and wait.
func newLauncher(part *mpiPart) (*mpiLauncher, error) {
	a := part.step.agent
	hosts, err := mpiHosts(part.tool)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	path, err := a.find("mpirun")
	if err != nil {
		return nil, refuse(ReasonTool, fmt.Errorf("%s", missingTool("mpirun", err)))
	}
	version, err := parseMPIVersion("mpirun (Open MPI) " + part.version("mpirun"))
	if err != nil {
		if version, err = a.askMPI(context.Background(), path); err != nil {
			return nil, refuse(ReasonTool, err)
		}
	}
	if _, err := a.find(version.daemon()); err != nil && len(hosts) > 1 {
		return nil, refuse(ReasonTool, fmt.Errorf("%s", missingTool(version.daemon(), err)))
	}
	agent, err := os.Executable()
	if err == nil && len(hosts) > 1 {
		err = checkAgentPath(agent)
	}
	if err != nil {
		return nil, refuse(ReasonTool, fmt.Errorf("find the agent's own program: %w", err))
	}
	l := &mpiLauncher{mpiPart: part, job: mpiJob{
		version: version, hosts: hosts, hostfile: filepath.Join(part.scratch, "hosts"), agent: agent, scratch: part.scratch,
		network: network(hosts), nic: interfaceOf(hosts[0].Name),
		program: part.tool.GetProgram(), arguments: part.tool.GetArguments(), more: a.moreMPI,
	}}
	l.ranks = hosts[0].Slots
	if err := os.WriteFile(l.job.hostfile, []byte(hostfile(hosts)), 0o600); err != nil {
		return nil, refuse(ReasonTool, fmt.Errorf("write the hosts of the job: %w", err))
	}
	if l.link, err = newLaunchLink(a, part.step.key, hosts, version.daemon()); err != nil {
		return nil, refuse(ReasonTool, err)
	}
	l.output = newMPIOutput(part)
	return l, nil
}

func (l *mpiLauncher) discard() {
	l.tellEnd()
	l.link.close()
	l.close()
}

// launcherEnd describes how a job ended.
type launcherEnd struct {
	// stopped is why mpirun was asked to stop; overdue is true if the job exceeded its deadline.
	stopped string
	overdue bool
	// hung is why the job was killed.
	hung string
	// lost names the lost client.
	lost string
}

func (l *mpiLauncher) release(given order) *agentapi.Ended {
	l.begin()
	var end launcherEnd
	where, err := l.rankWhere()
	if err == nil {
		err = l.start(where)
	}
	if err == nil {
		end = l.wait(given)
	}
	l.clear()
	unreachable := l.tellEnd()
	if end.lost == "" && end.stopped == "" && l.running != nil && exitCode(l.running.exit) != 0 {
		end.lost = firstOf(l.link.told(reportLost), unreachable)
	}
	var ended *agentapi.Ended
	if err != nil {
		ended = &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_FAILED, Reason: ReasonTool, Message: "mpirun could not be started: " + err.Error()}
	} else {
		ended = l.judge(end)
	}
	l.link.close()
	ended.ToolVersion = l.version(l.tool.GetProgram())
	l.gather(ended)
	l.leave(ended, end.hung != "")
	return ended
}

// start starts mpirun; where holds the environment variables that name the ranks' directory.
func (l *mpiLauncher) start(where []string) error {
	path, err := l.step.agent.find("mpirun")
	if err != nil {
		return err
	}
	command := exec.Command(path, l.job.command()...)
	command.Dir = l.scratch
	environment := append(l.job.environment(), launchFile+"="+l.link.path())
	command.Env = l.step.agent.mpiEnvironment(l.scratch, append(environment, where...)...)
	command.Stdout, command.Stderr = l.output, io.MultiWriter(l.stderr, otherRanks{l.output})
	// Leftover processes of a job may keep its output open.
	command.WaitDelay = l.step.agent.timeouts.gone / 2
	l.running, err = l.startMPI(command)
	if err == nil {
		l.output.meter.Store(l.running.meter)
	}
	return err
}

// wait returns when mpirun has exited, or when it must be killed.
func (l *mpiLauncher) wait(given order) launcherEnd {
	var end launcherEnd
	timeouts := l.step.agent.timeouts
	deadline := time.NewTimer(time.Duration(given.deadline - l.step.agent.clock.Monotonic()))
	defer deadline.Stop()
	look := time.NewTicker(linkInterval)
	defer look.Stop()
	stopped := l.step.stopped.Done()
	var giveUp <-chan time.Time
	tell := func(reason string) {
		if end.stopped != "" || end.lost != "" {
			return
		}
		end.stopped = reason
		giveUp = time.After(timeouts.mpi)
		// Signal only mpirun: it forwards the signal to its daemons and ranks, which would otherwise receive it
		// twice.
		if err := l.running.handle.Terminate(false); err != nil {
			l.stderr.note("stop mpirun: " + err.Error())
		}
	}
	for {
		select {
		case <-l.running.handle.Exited():
			<-l.running.ended
			return end
		case <-stopped:
			stopped = nil
			tell(context.Cause(l.step.stopped).Error())
		case <-deadline.C:
			end.overdue = end.stopped == ""
			tell("the step's deadline passed")
		case end.hung = <-l.running.hung:
			return end
		case <-l.step.abandoned:
			end.hung = "the agent could not wait for it any longer"
			return end
		case <-look.C:
			if end.lost == "" && end.stopped == "" {
				if end.lost = l.link.told(reportLost); end.lost != "" {
					giveUp = time.After(timeouts.hangUp)
				}
			}
		case <-giveUp:
			if end.lost == "" {
				l.stderr.note(fmt.Sprintf("mpirun was told to end and did not within %s", timeouts.mpi))
			}
			return end
		}
	}
}

// launchersSaid returns the first problem that a launcher reported. MPI's own message does not give the cause.
func (l *mpiLauncher) launchersSaid() string {
	for line := range strings.Lines(l.stderr.String()) {
		if _, said, found := strings.Cut(line, launchSays); found {
			return "a launcher said: " + strings.TrimSpace(said)
		}
	}
	return ""
}

// judge assembles the result of a job.
func (l *mpiLauncher) judge(end launcherEnd) *agentapi.Ended {
	var ending *Exit
	select {
	case <-l.running.ended:
		ending = l.running.exit
	default:
	}
	how := exitOf(ending)
	exit := ior.Exit{Code: how.Code, Signal: how.Signal, Stopped: end.stopped != ""}
	if exit.Stopped && exit.Signal == syscall.SIGKILL {
		exit.Signal, exit.Code = 0, 1 // We killed it.
	}
	ended := l.output.judge(exit, l.stderr.String(), l.job)
	switch {
	case end.hung != "":
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonHung, "mpirun was killed: "+end.hung
	case end.lost != "":
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, agentapi.ReasonClientLost, end.lost
	case end.stopped == "" && l.link.told(reportRefused) != "":
		ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, string(ior.FailureMPI)
		ended.Message = "MPI could not start the ranks: " + l.link.told(reportRefused)
	case end.stopped == "" && ended.GetOutcome() == agentapi.Outcome_OUTCOME_FAILED && l.launchersSaid() != "":
		ended.Message += "; " + l.launchersSaid()
	case end.overdue && l.tool.GetDurationNanoseconds() == 0:
		// A job of fixed work has no result if only part of the work is done.
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonDeadline, end.stopped
	case ended.GetOutcome() == agentapi.Outcome_OUTCOME_STOPPED:
		ended.Reason, ended.Message = reasonStopped, end.stopped
	}
	return ended
}
