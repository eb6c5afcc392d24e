package fio

import (
	"io"
	"os"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// run is one fio process of one step. It is spawned in advance, gets its job at the start instant, and is
// supervised until all its processes have exited.
type run struct {
	*waitingFio

	step  *tool.Step
	files files
	like  *agentapi.DataSample
	// loadEnded spawns the fio process of the next step in the background. It may be called several times.
	loadEnded func()
	exited    <-chan struct{}
	// output is closed at the end of fio's standard output.
	output chan struct{}
	feed   *feed
	cpu    tool.CPUMeter
	// left names processes that could not be killed.
	left error
}

var _ tool.Waiting = (*run)(nil)

// follow starts reading the output of a waiting fio process.
func follow(step *tool.Step, waiting *waitingFio) *run {
	r := &run{
		waitingFio: waiting,
		step:       step,
		exited:     waiting.handle.Exited(),
		output:     make(chan struct{}),
		feed:       newFeed(step),
	}
	r.cpu.Begin(step.Clock)
	go func() {
		defer close(r.output)
		r.feed.read(waiting.stdout)
	}()
	return r
}

// PID returns fio's PID.
func (r *run) PID() int { return r.handle.PID() }

// Documents returns the number of JSON documents read from fio's output so far.
func (r *run) Documents() int64 { return r.feed.documents.Load() }

// Exited implements tool.Waiting.
func (r *run) Exited() <-chan struct{} { return r.exited }

// Conclude implements tool.Waiting.
func (r *run) Conclude() *agentapi.Ended { return r.conclude(0) }

// Discard ends a fio process that never received its job.
func (r *run) Discard() {
	_ = r.stdin.Close()
	r.kill()
	r.reap(false)
	r.files.Close()
	r.loadEnded()
}

// Run passes fio its job, and returns when fio has exited.
func (r *run) Run(deadline int64) *agentapi.Ended {
	r.cpu.Begin(r.step.Clock)
	r.step.Started()
	// Write in the background, because the step's deadline must take effect even if fio does not read its input.
	go func() {
		_, err := io.WriteString(r.stdin, r.job())
		if closeErr := r.stdin.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			// fio has already exited, and its own messages explain why.
			r.stderr.Note("pass the job to fio: " + err.Error())
		}
	}()
	ended := r.conclude(deadline)
	ended.Like = r.like
	return ended
}

// job returns fio's job. If user data was sampled, the job writes data that compresses equally well.
func (r *run) job() string { return jobLike(r.step.Request.GetFio().GetJob(), r.like) }

func jobLike(job string, like *agentapi.DataSample) string {
	if like == nil {
		return job
	}
	return fio.WithCompressPercentage(job, int(like.GetPercent()))
}

// kill kills fio and all its descendants.
func (r *run) kill() {
	if err := r.handle.Kill(); err != nil {
		r.stderr.Note("kill fio: " + err.Error())
	}
}

// gone returns a channel that fires after Timeouts.Gone. A killed fio process should exit within this time.
func (r *run) gone() <-chan time.Time { return time.After(r.step.Timeouts.Gone) }

// reap waits for the output to end (unless givenUp is set) and for fio to exit, and kills leftover descendants. It
// returns nil if fio did not exit in time.
func (r *run) reap(givenUp bool) *os.ProcessState {
	if !givenUp {
		select {
		case <-r.output:
		case <-r.gone():
		}
	}
	// Closing the pipe ends a read that is still waiting, and has no effect if the output was already read to its end.
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
	// Jobs that survived their parent can still be found and killed, because they are in the parent's process group or are
	// descendants of the agent.
	r.left = r.handle.Kill()
	return state
}
