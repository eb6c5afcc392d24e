package mpi

import (
	"cmp"
	"context"
	"errors"
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

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// launcher is client 0's part of a job: it runs mpirun, reads the tool's output, and notifies all other clients
// when the job has ended.
type launcher struct {
	*part

	job    job
	output *output
	link   *launchLink
}

// newLauncher prepares everything that mpirun needs. mpirun itself is started only at the start instant, because no
// part of an MPI job can be started early and then held back.
func newLauncher(p *part) (*launcher, error) {
	hosts, err := hostsOf(p.load)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	path, err := p.find("mpirun")
	if err != nil {
		return nil, tool.Refuse(tool.ReasonTool, errors.New(missingTool("mpirun", err)))
	}
	version, err := parseVersion("mpirun (Open MPI) " + p.known.version("mpirun"))
	if err != nil {
		if version, err = p.askMPI(context.Background(), path); err != nil {
			return nil, tool.Refuse(tool.ReasonTool, err)
		}
	}
	if _, err := p.find(version.daemon()); err != nil && len(hosts) > 1 {
		return nil, tool.Refuse(tool.ReasonTool, errors.New(missingTool(version.daemon(), err)))
	}
	agent, err := os.Executable()
	if err == nil && len(hosts) > 1 {
		err = checkAgentPath(agent)
	}
	if err != nil {
		return nil, tool.Refuse(tool.ReasonTool, fmt.Errorf("find the agent's own program: %w", err))
	}
	l := &launcher{part: p, job: job{
		version: version, hosts: hosts, hostfile: filepath.Join(p.scratch, "hosts"), agent: agent, scratch: p.scratch,
		network: network(hosts), nic: interfaceOf(hosts[0].Name),
		program: p.load.GetProgram(), arguments: p.load.GetArguments(), more: p.Settings,
	}}
	l.ranks = hosts[0].Slots
	if err := os.WriteFile(l.job.hostfile, []byte(hostfile(hosts)), 0o600); err != nil {
		return nil, tool.Refuse(tool.ReasonTool, fmt.Errorf("write the job's hostfile: %w", err))
	}
	if l.link, err = newLaunchLink(p.step, hosts, version.daemon()); err != nil {
		return nil, tool.Refuse(tool.ReasonTool, err)
	}
	l.output = newOutput(p)
	return l, nil
}

// Discard implements tool.Load.
func (l *launcher) Discard() {
	l.tellEnd()
	l.link.close()
	l.close()
}

// launcherEnd describes how a job ended.
type launcherEnd struct {
	// stopped is the reason for asking mpirun to stop; overdue is true if the job exceeded its deadline.
	stopped string
	overdue bool
	// hung is the reason for killing the job.
	hung string
	// lost is a message that names the lost client.
	lost string
}

// Run implements tool.Load.
func (l *launcher) Run(deadline int64) *agentapi.Ended {
	l.begin()
	var end launcherEnd
	where, err := l.rankWhere()
	if err == nil {
		err = l.start(where)
	}
	if err == nil {
		end = l.wait(deadline)
	}
	l.clear()
	unreachable := l.tellEnd()
	if end.lost == "" && end.stopped == "" && l.running != nil && exitCode(l.running.exit) != 0 {
		end.lost = cmp.Or(l.link.firstReport(reportLost), unreachable)
	}
	var ended *agentapi.Ended
	if err != nil {
		ended = &agentapi.Ended{}
		tool.Fail(ended, tool.ReasonTool, "cannot start mpirun: %s", err)
	} else {
		ended = l.judge(end)
	}
	l.link.close()
	ended.ToolVersion = l.known.version(l.load.GetProgram())
	l.gather(ended)
	l.leave(ended, end.hung != "")
	return ended
}

// start starts mpirun. The variables in `where` name the directory of the ranks.
func (l *launcher) start(where []string) error {
	path, err := l.find("mpirun")
	if err != nil {
		return err
	}
	command := exec.Command(path, l.job.command()...)
	command.Dir = l.scratch
	more := append(l.job.environment(), launchFile+"="+l.link.path())
	command.Env = l.environment(l.scratch, append(more, where...)...)
	command.Stdout, command.Stderr = l.output, io.MultiWriter(l.stderr, otherRanks{l.output})
	// Leftover processes of a job may keep its output open, so limit how long Wait waits for the output to be closed.
	command.WaitDelay = l.step.Timeouts.Gone / 2
	l.running, err = l.startMPI(command)
	if err == nil {
		l.output.meter.Store(l.running.meter)
	}
	return err
}

// wait returns when mpirun has exited, or when it must be killed.
func (l *launcher) wait(deadlineAt int64) launcherEnd {
	var end launcherEnd
	timeouts := &l.step.Timeouts
	deadline := time.NewTimer(time.Duration(deadlineAt - l.step.Clock.Monotonic()))
	defer deadline.Stop()
	look := time.NewTicker(linkInterval)
	defer look.Stop()
	stopped := l.step.Stopped.Done()
	var giveUp <-chan time.Time
	stop := func(reason string) {
		if end.stopped != "" || end.lost != "" {
			return
		}
		end.stopped = reason
		giveUp = time.After(timeouts.Terminate)
		// Signal only mpirun: it forwards the signal to its daemons and ranks, which would otherwise receive it
		// twice.
		if err := l.running.handle.Terminate(false); err != nil {
			l.stderr.Note("stop mpirun: " + err.Error())
		}
	}
	for {
		select {
		case <-l.running.handle.Exited():
			<-l.running.ended
			return end
		case <-stopped:
			stopped = nil
			stop(context.Cause(l.step.Stopped).Error())
		case <-deadline.C:
			end.overdue = end.stopped == ""
			stop("the step's deadline passed")
		case end.hung = <-l.running.hung:
			return end
		case <-l.step.Abandoned:
			end.hung = "the agent is exiting"
			return end
		case <-look.C:
			if end.lost == "" && end.stopped == "" {
				if end.lost = l.link.firstReport(reportLost); end.lost != "" {
					giveUp = time.After(timeouts.HangUp)
				}
			}
		case <-giveUp:
			if end.lost == "" {
				l.stderr.Note(fmt.Sprintf("mpirun did not exit within %s of SIGTERM", timeouts.Terminate))
			}
			return end
		}
	}
}

// Repetitions returns how many repetitions IOR has printed so far.
func (l *launcher) Repetitions() int {
	l.output.mu.Lock()
	defer l.output.mu.Unlock()
	return len(l.output.ends)
}

// launcherProblem returns the first problem that a launcher reported. MPI's own message does not contain this cause.
func (l *launcher) launcherProblem() string {
	for line := range strings.Lines(l.stderr.String()) {
		if _, problem, found := strings.Cut(line, launchPrefix); found {
			return "a launcher reported: " + strings.TrimSpace(problem)
		}
	}
	return ""
}

// judge assembles the result of a job.
func (l *launcher) judge(end launcherEnd) *agentapi.Ended {
	var exited *tool.Exit
	select {
	case <-l.running.ended:
		exited = l.running.exit
	default:
	}
	code, signal := exited.Result()
	exit := ior.Exit{Code: code, Signal: signal, Stopped: end.stopped != ""}
	if exit.Stopped && exit.Signal == syscall.SIGKILL {
		exit.Signal, exit.Code = 0, 1 // The agent itself sent the SIGKILL, so treat the kill as an exit with code 1.
	}
	ended := l.output.judge(exit, l.stderr.String(), l.job)
	switch {
	case end.hung != "":
		tool.Fail(ended, tool.ReasonHung, "mpirun was killed: %s", end.hung)
	case end.lost != "":
		tool.Fail(ended, agentapi.ReasonClientLost, "%s", end.lost)
	case end.stopped == "" && l.link.firstReport(reportRefused) != "":
		tool.Fail(ended, string(ior.FailureMPI), "MPI could not start the ranks: %s", l.link.firstReport(reportRefused))
	case end.stopped == "" && ended.GetOutcome() == agentapi.Outcome_OUTCOME_FAILED && l.launcherProblem() != "":
		ended.Message += "; " + l.launcherProblem()
	case end.overdue && l.load.GetDurationNanoseconds() == 0:
		// A job with a fixed amount of work has no result if only part of the work is done.
		tool.Fail(ended, tool.ReasonDeadline, "%s", end.stopped)
	case end.overdue && l.covered() && ended.GetOutcome() == agentapi.Outcome_OUTCOME_STOPPED:
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_COMPLETE, "", ""
	case ended.GetOutcome() == agentapi.Outcome_OUTCOME_STOPPED:
		ended.Reason, ended.Message = tool.ReasonStopped, end.stopped
	}
	return ended
}
