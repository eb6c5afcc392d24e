package agent

import (
	"io"
	"os"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// fioRun is one fio process of one step. It is spawned in advance, gets its job at the start instant, and is
// supervised until all its processes have exited.
type fioRun struct {
	*waitingFio
	step      *step
	directory *dataset.Dataset
	// place replaces directory for several volumes or raw devices.
	place  *workplace
	exited <-chan struct{}
	// output is closed at the end of fio's standard output.
	output chan struct{}
	feed   *feed
	cpu    cpuMeter
	// left names processes that could not be killed.
	left error
}

// takeFio returns a fio that waits for its job on its standard input, in the client's own directory, so that the
// job contains no paths. It is the spare fio if suitable, else a new one. The returned run owns the directory; on
// an error takeFio closes it.
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

// follow starts reading the output of a waiting fio.
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

// fioFor returns the spare fio if suitable, else a new one.
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

// discard ends a fio that never received its job.
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

// release passes fio its job, and returns when fio has exited.
func (r *fioRun) release(given order) *agentapi.Ended {
	r.cpu.begin(r.step.agent.clock)
	r.step.write(&agentapi.Record{Entry: &agentapi.Record_Started{
		Started: &agentapi.Started{ReleasedNanoseconds: r.step.agent.clock.Monotonic()}}})
	// Do not wait for the write: a fio that does not read its input must not delay its deadline.
	go func() {
		_, err := io.WriteString(r.stdin, r.step.job())
		if closeErr := r.stdin.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			// fio has already exited; its own messages say why.
			r.stderr.note("its job could not be given to fio: " + err.Error())
		}
	}()
	ended := r.conclude(given)
	ended.Like = r.step.like
	return ended
}

// kill kills fio and all its descendants.
func (r *fioRun) kill() {
	if err := r.handle.Kill(); err != nil {
		r.stderr.note("kill fio: " + err.Error())
	}
}

// gone returns a channel that fires when the wait for a fio that is killed now times out.
func (r *fioRun) gone() <-chan time.Time { return time.After(r.step.agent.timeouts.gone) }

// reap waits for the end of the output (unless givenUp is set) and for fio to exit, and kills leftover descendants.
// The state is nil if fio did not exit in time.
func (r *fioRun) reap(givenUp bool) *os.ProcessState {
	if !givenUp {
		select {
		case <-r.output:
		case <-r.gone():
		}
	}
	// This has no effect if the output was read to its end.
	_ = r.stdout.Close()
	<-r.output
	waited := make(chan struct{})
	go func() {
		// Ignore the error: the exit status is read from the command's state.
		_ = r.handle.Wait()
		close(waited)
	}()
	var state *os.ProcessState
	select {
	case <-waited:
		state = r.command.ProcessState
	case <-r.gone():
	}
	// Jobs that survived their parent are still in its process group, or are our descendants.
	r.left = r.handle.Kill()
	return state
}
