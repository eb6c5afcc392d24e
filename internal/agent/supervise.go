package agent

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

const (
	// earlyStop is how soon after its release fio counts as not having measured anything worth
	// waiting for, and earlyPatience how long it is waited for all the same. A fio that gets its
	// SIGINT while it starts may deadlock in its handler (seen with 3.33).
	earlyStop     = 2 * time.Second
	earlyPatience = 3 * time.Second
	// jobKilled is what fio says of a job that was ended by a signal.
	jobKilled = ", got signal="
	// jobStart is longer than fio takes from reading its job to its first I/O, 100 ms of which it sleeps.
	jobStart = 250 * time.Millisecond
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
	begun    int64
	progress process.Progress

	// ending says why fio was told to stop; empty while it may run.
	ending   string
	endingAt int64
	// early says that it was told so soon that nothing was lost when it was killed.
	early bool
	// overdue says that it was told to stop because its time was over.
	overdue bool
	// broken says that one of its jobs was killed. It says so itself and waits for that job for ever,
	// with others in its statistics (seen with 3.33).
	broken bool
	// hung says why it was killed.
	hung string
	// gone fires when what was killed should have ended; remains says that it has not.
	gone    <-chan time.Time
	remains bool

	stalling bool
	notices  int
}

// supervise returns when fio's output has ended, having stopped or killed it where it had to, or
// when what was killed does not go.
func (r *fioRun) supervise(given order) *supervision {
	watch := &supervision{run: r, given: given, begun: r.step.agent.clock.Monotonic()}
	ticker := time.NewTicker(r.step.agent.timeouts.look)
	defer ticker.Stop()
	deadline := time.NewTimer(time.Duration(given.deadline - r.step.agent.clock.Monotonic()))
	defer deadline.Stop()
	loadEnd := r.plannedLoadEnd()
	stopped, abandoned, exited := r.step.stopped.Done(), r.step.abandoned, r.exited
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
			watch.clear()
		case <-stopped:
			stopped = nil
			watch.end(context.Cause(r.step.stopped).Error())
			r.step.loadEnded()
		case <-loadEnd:
			r.step.loadEnded()
		case <-deadline.C:
			watch.overdue = watch.ending == ""
			watch.end("the step's deadline passed")
		case <-abandoned:
			abandoned = nil
			watch.kill("the agent could not wait for it any longer")
		case <-watch.gone:
			watch.giveUp()
			return watch
		case <-ticker.C:
			watch.look()
		}
	}
}

// plannedLoadEnd fires when fio, released now, should have begun its last I/O; never for one that is bound by work.
func (r *fioRun) plannedLoadEnd() <-chan time.Time {
	tool := r.step.request.GetFio()
	if tool.GetDurationNanoseconds() == 0 {
		return nil
	}
	return time.After(jobStart + time.Duration(tool.GetWarmUpNanoseconds()+tool.GetDurationNanoseconds()))
}

// giveUp ends the waiting, but not for an output that we only had no time to read.
func (w *supervision) giveUp() {
	select {
	case <-w.run.output:
	case <-time.After(time.Second):
		w.remains = true
	}
}

// end tells fio to stop and to print what it has.
func (w *supervision) end(reason string) {
	if w.ending != "" {
		// The words with which fio answers a signal may fall into the result that it is printing.
		return
	}
	w.ending = reason
	w.endingAt = w.run.step.agent.clock.Monotonic()
	w.run.feed.stopped()
	// The main process tells its jobs, by the memory that they share.
	if err := syscall.Kill(w.run.handle.PID(), syscall.SIGINT); err != nil {
		w.run.stderr.note("stop fio: " + err.Error())
	}
}

// look checks on the workers and acts on those that do not move.
func (w *supervision) look() {
	now := time.Duration(w.run.step.agent.clock.Monotonic())
	if w.endedEarly(now) {
		w.early = true
		w.clear()
		return
	}
	if !w.broken && strings.Contains(w.run.stderr.String(), jobKilled) {
		w.broken = true
		w.clear()
		return
	}
	if err := w.progress.Observe(w.run.handle.PID(), now); err != nil {
		// It is just ending; its output says the rest.
		return
	}
	timeouts := w.run.step.agent.timeouts
	stalled := w.progress.Stalled(now, timeouts.stalled)
	if len(stalled) > 0 && !w.stalling && w.notices < maxStallNotices {
		w.notices++
		w.run.step.notice("IOStalled", "%d of fio's jobs have completed no I/O for %s", len(stalled), timeouts.stalled)
	}
	w.stalling = len(stalled) > 0
	limit := w.stallTimeout()
	if len(w.progress.Stalled(now, limit)) > 0 {
		w.kill(fmt.Sprintf("no I/O completed on a job for %s", limit))
	}
	if w.ending == "" {
		return
	}
	waited := now - time.Duration(w.endingAt)
	switch {
	case waited > timeouts.stop && (len(w.progress.Stalled(now, timeouts.stop)) > 0 || !w.progress.Any()):
		w.kill(fmt.Sprintf("it was told to stop (%s) and completed no I/O for %s", w.ending, timeouts.stop))
	case waited > max(limit, timeouts.stop):
		w.kill(fmt.Sprintf("it was told to stop (%s) and went on for %s", w.ending, waited.Round(time.Second)))
	}
}

// endedEarly is true for a fio that was told to stop before it had printed anything, and does not.
func (w *supervision) endedEarly(now time.Duration) bool {
	return w.ending != "" && !w.early && now-time.Duration(w.endingAt) > earlyPatience &&
		time.Duration(w.endingAt-w.begun) < earlyStop && w.run.feed.documents.Load() == 0
}

func (w *supervision) stallTimeout() time.Duration {
	if given := w.run.step.request.GetStallTimeoutNanoseconds(); given > 0 {
		return time.Duration(given)
	}
	return w.run.step.agent.timeouts.hung
}

func (w *supervision) kill(reason string) {
	if w.hung == "" {
		w.hung = reason
	}
	w.clear()
}

// clear kills what there is of fio, and does not wait for it for ever.
func (w *supervision) clear() {
	w.run.kill()
	if w.gone == nil {
		w.gone = w.run.gone()
	}
}

// conclude stays with fio until it is gone and makes its result.
func (r *fioRun) conclude(given order) *agentapi.Ended {
	watch := r.supervise(given)
	state := r.reap(watch.remains)
	if state == nil && watch.hung == "" {
		watch.hung = "it did not end"
	}
	if watch.hung != "" && r.left != nil {
		watch.hung += "; " + r.left.Error()
	}
	ended := r.feed.result(state, r.stderr.String(), watch)
	ended.Cpu = r.cpu.end(r.step.agent.clock, state)
	if r.place != nil {
		r.place.inspect(ended, r.step.toolWrote(ended), watch.hung != "")
	} else {
		r.step.inspect(ended, r.directory, r.step.toolWrote(ended), watch.hung != "")
	}
	return ended
}
