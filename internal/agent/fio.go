package agent

import (
	"fmt"
	"io"
	"os"
	"os/exec"
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
	stderr    *tail
	exited    <-chan struct{}
	// output is closed when fio's standard output was read to its end.
	output chan struct{}
	feed   *feed
	cpu    cpuMeter
}

// spawnFio starts a fio that waits for its job on its standard input, with the client's own
// directory as working directory: the job names no path at all.
func spawnFio(s *step, directory *dataset.Dataset) (*fioRun, error) {
	path, err := s.agent.fioPath()
	if err != nil {
		return nil, refuse(ReasonTool, fmt.Errorf("find fio: %w", err))
	}
	interval := time.Duration(s.request.GetFio().GetSampleIntervalNanoseconds())
	run := &fioRun{
		step:      s,
		directory: directory,
		command:   exec.Command(path, fio.Arguments(interval)...), //nolint:gosec // The path is the configuration's.
		stderr:    &tail{limit: stderrBytes},
		output:    make(chan struct{}),
		feed:      newFeed(s),
	}
	run.command.Dir = directory.Path()
	run.command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	run.command.Stderr = run.stderr
	stdout, err := run.command.StdoutPipe()
	if err == nil {
		run.stdin, err = run.command.StdinPipe()
	}
	if err == nil {
		run.cpu.begin(s.agent.clock)
		run.handle, err = process.Start(run.command)
	}
	if err != nil {
		return nil, refuse(ReasonTool, fmt.Errorf("start %s: %w", path, err))
	}
	run.exited = run.handle.Exited()
	go func() {
		defer close(run.output)
		run.feed.read(stdout)
	}()
	return run, nil
}

// discard ends a fio that was never given its job.
func (r *fioRun) discard(reason string) *agentapi.Ended {
	_ = r.stdin.Close()
	r.kill()
	r.reap()
	return &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_STOPPED, Reason: "Stopped", Message: "before its start: " + reason}
}

// release gives fio its job, now, and stays until it has ended.
func (r *fioRun) release(given order) *agentapi.Ended {
	r.cpu.begin(r.step.agent.clock)
	r.step.write(&agentapi.Record{Entry: &agentapi.Record_Started{
		Started: &agentapi.Started{ReleasedNanoseconds: r.step.agent.clock.Monotonic()}}})
	_, err := io.WriteString(r.stdin, r.step.request.GetFio().GetJob())
	if closeErr := r.stdin.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		// fio is gone already; its own words say why.
		r.stderr.note("its job could not be given to fio: " + err.Error())
	}
	return r.conclude(given)
}

// kill ends fio and all that it started, at once.
func (r *fioRun) kill() {
	if err := r.handle.Kill(); err != nil {
		r.stderr.note("kill fio: " + err.Error())
	}
}

// reap waits for the end of the output and of the process, and leaves nothing of it behind.
func (r *fioRun) reap() {
	<-r.output
	// The exit status is read from the command's state.
	_ = r.handle.Wait()
	// Jobs that survived their parent are still in its group, or below us.
	_ = r.handle.Kill()
}
