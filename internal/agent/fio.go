package agent

import (
	"io"
	"os"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// fioRun is one fio process of one step: spawned ahead, fed its job at the start instant,
// supervised until it is gone.
type fioRun struct {
	*waitingFio
	step      *step
	directory *dataset.Dataset
	// place takes the directory's place where fio works on several volumes or on raw devices.
	place  *workplace
	exited <-chan struct{}
	// output is closed when fio's standard output was read to its end.
	output chan struct{}
	feed   *feed
	cpu    cpuMeter
	// left names what could not be ended.
	left error
}

// takeFio gives a fio that waits for its job on its standard input, with the client's own directory as
// working directory: the job names no path at all. It is the spare one where there is one that fits, else
// one that is spawned now. The directory is the run's from here on, and is closed where there is none.
func takeFio(s *step, working workingDirectory) (*fioRun, error) {
	waiting, err := s.agent.fioFor(s, working)
	if err != nil {
		_ = working.dataset.Close()
		return nil, err
	}
	run := s.follow(waiting)
	run.directory = working.dataset
	return run, nil
}

// follow reads what a waiting fio says.
func (s *step) follow(waiting *waitingFio) *fioRun {
	run := &fioRun{
		waitingFio: waiting,
		step:       s,
		exited:     waiting.handle.Exited(),
		output:     make(chan struct{}),
		feed:       newFeed(s),
	}
	run.cpu.begin(s.agent.clock)
	go func() {
		defer close(run.output)
		run.feed.read(waiting.stdout)
	}()
	return run
}

// fioFor spawns a fio, or takes the spare one.
func (a *Agent) fioFor(s *step, working workingDirectory) (*waitingFio, error) {
	how, err := a.howToSpawn(s, working)
	if err != nil {
		return nil, refuse(ReasonTool, err)
	}
	if spare := a.spare.take(how, working.dataset); spare != nil {
		return spare, nil
	}
	waiting, err := how.spawn()
	if err != nil {
		return nil, refuse(ReasonTool, err)
	}
	if err := waiting.isIn(working); err != nil {
		waiting.discard()
		return nil, refuse(ReasonVolume, err)
	}
	return waiting, nil
}

func (r *fioRun) exitedEarly() <-chan struct{} { return r.exited }

func (r *fioRun) concludeEarly() *agentapi.Ended { return r.conclude(order{}) }

// discard ends a fio that was never given its job.
func (r *fioRun) discard() {
	_ = r.stdin.Close()
	r.kill()
	r.reap(false)
	if r.place != nil {
		r.place.close()
		return
	}
	_ = r.directory.Close()
}

// release gives fio its job, now, and stays until it has ended.
func (r *fioRun) release(given order) *agentapi.Ended {
	r.cpu.begin(r.step.agent.clock)
	r.step.write(&agentapi.Record{Entry: &agentapi.Record_Started{
		Started: &agentapi.Started{ReleasedNanoseconds: r.step.agent.clock.Monotonic()}}})
	// A fio that does not read must not keep us from its deadline.
	go func() {
		_, err := io.WriteString(r.stdin, r.step.job())
		if closeErr := r.stdin.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			// fio is gone already; its own words say why.
			r.stderr.note("its job could not be given to fio: " + err.Error())
		}
	}()
	ended := r.conclude(given)
	ended.Like = r.step.like
	return ended
}

// kill ends fio and all that it started, at once.
func (r *fioRun) kill() {
	if err := r.handle.Kill(); err != nil {
		r.stderr.note("kill fio: " + err.Error())
	}
}

// gone tells when a fio that is killed now will not be waited for any more.
func (r *fioRun) gone() <-chan time.Time { return time.After(r.step.agent.timeouts.gone) }

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
