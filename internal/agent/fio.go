package agent

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/process"
)

// fioRun is one fio process of one step: spawned ahead, fed its job at the start instant,
// supervised until it is gone.
type fioRun struct {
	step      *step
	directory *dataset.Dataset
	command   *exec.Cmd
	handle    *process.Handle
	stdin     io.WriteCloser
	stdout    io.Closer
	stderr    *tail
	exited    <-chan struct{}
	// output is closed when fio's standard output was read to its end.
	output chan struct{}
	feed   *feed
	cpu    cpuMeter
	// left names what could not be ended.
	left error
}

// spawnFio starts a fio that waits for its job on its standard input, with the client's own
// directory as working directory: the job names no path at all. The directory is the run's from
// here on, and is closed where there is none.
func spawnFio(s *step, working workingDirectory) (*fioRun, error) {
	run, err := startFio(s, working.dataset)
	if err != nil {
		_ = working.dataset.Close()
		return nil, refuse(ReasonTool, err)
	}
	if err := run.isIn(working.mount); err != nil {
		run.discard("")
		return nil, refuse(ReasonVolume, err)
	}
	return run, nil
}

func startFio(s *step, directory *dataset.Dataset) (*fioRun, error) {
	path, err := s.agent.fioPath()
	if err != nil {
		return nil, fmt.Errorf("find fio: %w", err)
	}
	interval := time.Duration(s.request.GetFio().GetSampleIntervalNanoseconds())
	run := &fioRun{
		step:      s,
		directory: directory,
		command:   exec.Command(path, fio.Arguments(interval)...),
		stderr:    &tail{limit: stderrBytes},
		output:    make(chan struct{}),
		feed:      newFeed(s),
	}
	run.command.Dir = directory.Path()
	run.command.Env = toolEnvironment()
	run.command.Stderr = run.stderr
	// What fio has left running may hold its standard error for ever.
	run.command.WaitDelay = s.agent.patient.gone / 2
	stdout, err := run.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe to fio: %w", err)
	}
	if run.stdin, err = run.command.StdinPipe(); err != nil {
		_ = stdout.Close()
		return nil, fmt.Errorf("make a pipe to fio: %w", err)
	}
	run.stdout = stdout
	run.cpu.begin(s.agent.clock)
	if run.handle, err = process.Start(run.command); err != nil {
		return nil, err
	}
	run.exited = run.handle.Exited()
	go func() {
		defer close(run.output)
		run.feed.read(stdout)
	}()
	return run, nil
}

func toolEnvironment() []string { return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"} }

// isIn proves that fio works on the file system that was proven, also when another was mounted or
// moved there between the proof and its start. fio keeps its working directory from here on.
func (r *fioRun) isIn(mount dataset.Mount) error {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", r.handle.PID()))
	if err != nil {
		// It is gone already, and did nothing.
		return nil //nolint:nilerr // Its end says why.
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Dev != mount.Device {
		return &dataset.Problem{
			Reason: dataset.ErrChanged, Path: r.directory.Path(),
			Detail: fmt.Sprintf("device %d when it was checked, device %d when fio was started in it", mount.Device, stat.Dev),
			Remedy: "look what was mounted there meanwhile, and start a new run",
		}
	}
	return nil
}

// discard ends a fio that was never given its job.
func (r *fioRun) discard(reason string) *agentapi.Ended {
	_ = r.stdin.Close()
	r.kill()
	r.reap(false)
	_ = r.directory.Close()
	return &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_STOPPED, Reason: "Stopped", Message: "before its start: " + reason}
}

// release gives fio its job, now, and stays until it has ended.
func (r *fioRun) release(given order) *agentapi.Ended {
	r.cpu.begin(r.step.agent.clock)
	r.step.write(&agentapi.Record{Entry: &agentapi.Record_Started{
		Started: &agentapi.Started{ReleasedNanoseconds: r.step.agent.clock.Monotonic()}}})
	// A fio that does not read must not keep us from its deadline.
	go func() {
		_, err := io.WriteString(r.stdin, r.step.request.GetFio().GetJob())
		if closeErr := r.stdin.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			// fio is gone already; its own words say why.
			r.stderr.note("its job could not be given to fio: " + err.Error())
		}
	}()
	return r.conclude(given)
}

// kill ends fio and all that it started, at once.
func (r *fioRun) kill() {
	if err := r.handle.Kill(); err != nil {
		r.stderr.note("kill fio: " + err.Error())
	}
}

// gone tells when a fio that is killed now will not be waited for any more.
func (r *fioRun) gone() <-chan time.Time { return time.After(r.step.agent.patient.gone) }

// reap waits for the end of the output, unless that was given up, and of the process, and leaves
// nothing of it behind that can be ended. The state is nil when fio did not end in time.
func (r *fioRun) reap(givenUp bool) *os.ProcessState {
	if !givenUp {
		select {
		case <-r.output:
		case <-r.gone():
		}
	}
	// Without effect where it was read to its end.
	_ = r.stdout.Close()
	<-r.output
	waited := make(chan struct{})
	go func() {
		// The exit status is read from the command's state.
		_ = r.handle.Wait()
		close(waited)
	}()
	var state *os.ProcessState
	select {
	case <-waited:
		state = r.command.ProcessState
	case <-r.gone():
	}
	// Jobs that survived their parent are still in its group, or below us.
	r.left = r.handle.Kill()
	return state
}
