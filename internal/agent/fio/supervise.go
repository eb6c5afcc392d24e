package fio

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

const (
	// earlyStop is the time after fio's start during which fio has no results worth waiting for. earlyPatience limits how
	// long to wait for fio to exit if it is asked to stop during that time, because a fio process that receives SIGINT
	// while it starts may deadlock in its signal handler (seen with 3.33).
	earlyStop     = 2 * time.Second
	earlyPatience = 3 * time.Second
	// jobKilled is part of fio's message about a job that a signal has killed.
	jobKilled = ", got signal="
	// jobStart is an upper bound on the time that fio takes from reading the job to its first I/O, including a sleep of
	// 100 ms.
	jobStart = 250 * time.Millisecond
)

// supervision is the watchdog's state for a running fio process.
//
// A fio process that prints no status dump is not necessarily dead, because a dump waits for each job that is blocked
// on an I/O. So the watchdog checks the CPU time of fio's workers: a worker that has not run since the last check has
// completed no I/O.
type supervision struct {
	run      *run
	begun    int64
	progress process.Progress

	// ending is the reason for asking fio to stop. It is empty if fio was not asked to stop.
	ending   string
	endingAt int64
	// early is true if fio was asked to stop soon after its start, before it had any results.
	early bool
	// overdue is true if fio was asked to stop because of its deadline.
	overdue bool
	// broken is true if one of fio's jobs was killed. fio itself reports that the job was killed, but then waits for the
	// job forever, and its statistics still include the other jobs (seen with 3.33).
	broken bool
	// hung is the reason for killing fio.
	hung string
	// gone fires once killed processes have had enough time to exit. remains is true if fio's output has still not ended
	// one second later, which means that a killed process is still running.
	gone    <-chan time.Time
	remains bool

	stalling bool
	notices  int
}

// supervise stops or kills fio when necessary. It returns when fio's output has ended, or when fio survives SIGKILL.
// deadlineAt is 0 if fio exited before the start of the step.
func (r *run) supervise(deadlineAt int64) *supervision {
	watch := &supervision{run: r, begun: r.step.Clock.Monotonic()}
	ticker := time.NewTicker(r.step.Timeouts.Look)
	defer ticker.Stop()
	deadline := time.NewTimer(time.Duration(deadlineAt - r.step.Clock.Monotonic()))
	defer deadline.Stop()
	loadEnd := r.plannedLoadEnd()
	stopped, abandoned, exited := r.step.Stopped.Done(), r.step.Abandoned, r.exited
	if deadlineAt == 0 { // fio has exited, so only its output is left to read.
		deadline.Stop()
	}
	for {
		select {
		case <-r.output:
			return watch
		case <-exited:
			// Kill jobs that outlive the main process: they can no longer report to it, and some wait for it forever.
			exited = nil
			watch.clear()
		case <-stopped:
			stopped = nil
			watch.end(context.Cause(r.step.Stopped).Error())
			r.loadEnded()
		case <-loadEnd:
			r.loadEnded()
		case <-deadline.C:
			watch.overdue = watch.ending == ""
			watch.end("the step's deadline passed")
		case <-abandoned:
			abandoned = nil
			watch.kill("the agent is exiting")
		case <-watch.gone:
			watch.giveUp()
			return watch
		case <-ticker.C:
			watch.look()
		}
	}
}

// plannedLoadEnd returns a channel that fires at the time by which fio should have issued its last I/O. Call it when
// fio receives its job. It returns nil for a step with a fixed amount of work.
func (r *run) plannedLoadEnd() <-chan time.Time {
	load := r.step.Request.GetFio()
	if load.GetDurationNanoseconds() == 0 {
		return nil
	}
	return time.After(jobStart + time.Duration(load.GetWarmUpNanoseconds()+load.GetDurationNanoseconds()))
}

// giveUp waits one more second for the end of fio's output, and then stops waiting for fio.
func (w *supervision) giveUp() {
	select {
	case <-w.run.output:
	case <-time.After(time.Second):
		w.remains = true
	}
}

// end asks fio to stop and to print its results so far.
func (w *supervision) end(reason string) {
	if w.ending != "" {
		// Do not send a second signal, because fio could then print into the middle of its result.
		return
	}
	w.ending = reason
	w.endingAt = w.run.step.Clock.Monotonic()
	w.run.feed.stopped()
	// Signal only the main process: it stops its jobs through shared memory.
	if err := syscall.Kill(w.run.handle.PID(), syscall.SIGINT); err != nil {
		w.run.stderr.Note("stop fio: " + err.Error())
	}
}

// look checks the progress of the workers. It logs a notice if they are stalled, and kills fio if it hangs.
func (w *supervision) look() {
	now := time.Duration(w.run.step.Clock.Monotonic())
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
		// Ignore the error: fio is exiting, and the result comes from its output.
		return
	}
	timeouts := w.run.step.Timeouts
	stalled := w.progress.Stalled(now, timeouts.Stalled)
	if len(stalled) > 0 && !w.stalling && w.notices < tool.MaxStallNotices {
		w.notices++
		w.run.step.Notice(tool.NoticeStalled, "%d of fio's jobs completed no I/O for %s",
			len(stalled), timeouts.Stalled)
	}
	w.stalling = len(stalled) > 0
	limit := w.stallTimeout()
	if len(w.progress.Stalled(now, limit)) > 0 {
		w.kill(fmt.Sprintf("one job completed no I/O for %s", limit))
	}
	if w.ending == "" {
		return
	}
	waited := now - time.Duration(w.endingAt)
	switch {
	case waited > timeouts.Stop && (len(w.progress.Stalled(now, timeouts.Stop)) > 0 || !w.progress.Any()):
		w.kill(fmt.Sprintf("it was asked to stop (%s) but completed no I/O for %s", w.ending, timeouts.Stop))
	case waited > max(limit, timeouts.Stop):
		w.kill(fmt.Sprintf("it was asked to stop (%s) but continued for %s", w.ending, waited.Round(time.Second)))
	}
}

// endedEarly reports whether fio was asked to stop within earlyStop of its start, has printed no results, and is still
// running earlyPatience after the request. It returns false once early is set.
func (w *supervision) endedEarly(now time.Duration) bool {
	return w.ending != "" && !w.early && now-time.Duration(w.endingAt) > earlyPatience &&
		time.Duration(w.endingAt-w.begun) < earlyStop && w.run.feed.documents.Load() == 0
}

func (w *supervision) stallTimeout() time.Duration {
	if given := w.run.step.Request.GetStallTimeoutNanoseconds(); given > 0 {
		return time.Duration(given)
	}
	return w.run.step.Timeouts.Hung
}

func (w *supervision) kill(reason string) {
	if w.hung == "" {
		w.hung = reason
	}
	w.clear()
}

// clear kills leftover processes of fio, and limits how long to wait for them to exit.
func (w *supervision) clear() {
	w.run.kill()
	if w.gone == nil {
		w.gone = w.run.gone()
	}
}

// conclude supervises fio until it has exited, and returns its result.
func (r *run) conclude(deadline int64) *agentapi.Ended {
	watch := r.supervise(deadline)
	state := r.reap(watch.remains)
	if state == nil && watch.hung == "" {
		watch.hung = "it did not exit"
	}
	if watch.hung != "" && r.left != nil {
		watch.hung += "; " + r.left.Error()
	}
	ended := r.feed.result(state, r.stderr.String(), watch)
	ended.Cpu = r.cpu.End(r.step.Clock, tool.ExitOf(state))
	r.files.Inspect(ended, wrote(r.step, ended), watch.hung != "")
	r.loadEnded()
	return ended
}
