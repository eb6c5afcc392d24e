package agent

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

const (
	// lookInterval is how often the tool's workers are looked at.
	lookInterval = time.Second
	// stallNotice is the age of an outstanding I/O at which it is worth a word.
	stallNotice = 5 * time.Second
	// defaultStallTimeout is the age at which the tool counts as hung. Network file systems come
	// back after minutes.
	defaultStallTimeout = 10 * time.Minute
	// stopGrace is how long a tool that was told to stop may take without any I/O completing.
	stopGrace = 30 * time.Second
	// maxStallNotices bounds the log of a store that stalls all the time.
	maxStallNotices = 100
)

// supervision is what is known of a running fio.
//
// A fio without a dump is not dead: a dump waits for each job that is inside an I/O. So what
// counts is whether its workers run: one that has not been on a CPU has completed nothing since.
type supervision struct {
	run      *fioRun
	given    order
	progress process.Progress

	// ending says why fio was told to stop; empty while it may run.
	ending   string
	endingAt int64
	// overdue says that it was told to stop because its time was over.
	overdue bool
	// hung says why it was killed.
	hung     string
	stalling bool
	notices  int
}

// supervise returns when fio's output has ended, having stopped or killed it where it had to.
func (r *fioRun) supervise(given order) *supervision {
	watch := &supervision{run: r, given: given}
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	deadline := time.NewTimer(time.Duration(given.deadline - r.step.agent.clock.Monotonic()))
	defer deadline.Stop()
	stopped, exited := r.step.stopped.Done(), r.exited
	if given.deadline == 0 {
		// It ended before it was started; only its output is left to read.
		deadline.Stop()
	}
	for {
		select {
		case <-r.output:
			return watch
		case <-exited:
			// Jobs that outlive their parent have nobody left to report to; some wait for it for ever.
			exited = nil
			r.kill()
		case <-stopped:
			stopped = nil
			watch.end(context.Cause(r.step.stopped).Error())
		case <-deadline.C:
			watch.overdue = watch.ending == ""
			watch.end("the step's deadline passed")
		case <-ticker.C:
			watch.look()
		}
	}
}

// end tells fio to stop and to print what it has.
func (w *supervision) end(reason string) {
	if w.ending == "" {
		w.ending = reason
		w.endingAt = w.run.step.agent.clock.Monotonic()
	}
	// The main process tells its jobs, by the memory that they share.
	if err := syscall.Kill(w.run.handle.PID(), syscall.SIGINT); err != nil {
		w.run.stderr.note("stop fio: " + err.Error())
	}
}

// look checks on the workers and acts on those that do not move.
func (w *supervision) look() {
	now := time.Duration(w.run.step.agent.clock.Monotonic())
	if err := w.progress.Observe(w.run.handle.PID(), now); err != nil {
		// It is just ending; its output says the rest.
		return
	}
	stalled := w.progress.Stalled(now, stallNotice)
	if len(stalled) > 0 && !w.stalling && w.notices < maxStallNotices {
		w.notices++
		w.run.step.notice("IOStalled", "%d of fio's jobs have completed no I/O for %s", len(stalled), stallNotice)
	}
	w.stalling = len(stalled) > 0
	if limit := w.stallTimeout(); len(w.progress.Stalled(now, limit)) > 0 {
		w.kill(fmt.Sprintf("no I/O completed on a job for %s", limit))
	}
	if w.ending == "" {
		return
	}
	waited := now - time.Duration(w.endingAt)
	switch {
	case waited > stopGrace && (len(w.progress.Stalled(now, stopGrace)) > 0 || !w.progress.Any()):
		w.kill(fmt.Sprintf("it was told to stop (%s) and completed no I/O for %s", w.ending, stopGrace))
	case waited > w.stallTimeout():
		w.kill(fmt.Sprintf("it was told to stop (%s) and went on for %s", w.ending, waited.Round(time.Second)))
	}
}

func (w *supervision) stallTimeout() time.Duration {
	if given := w.run.step.request.GetStallTimeoutNanoseconds(); given > 0 {
		return time.Duration(given)
	}
	return defaultStallTimeout
}

func (w *supervision) kill(reason string) {
	if w.hung == "" {
		w.hung = reason
	}
	w.run.kill()
}

// conclude stays with fio until it is gone and makes its result.
func (r *fioRun) conclude(given order) *agentapi.Ended {
	watch := r.supervise(given)
	r.reap()
	ended := r.feed.result(r.command.ProcessState, r.stderr.String(), watch)
	ended.Cpu = r.cpu.end(r.step.agent.clock, r.command.ProcessState)
	r.inspect(ended)
	return ended
}
