package command

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/process"
)

// runEnd describes how the execution of a program ended.
type runEnd struct {
	// start, endedAt and flushed are times on the agent's clock: when the execution began, when the program itself exited,
	// and when all of its data was on the storage.
	start, endedAt, flushed int64
	// stopped is the reason for asking the program to stop; overdue is true if the reason is the program's deadline.
	stopped string
	overdue bool
	// hung is the reason for killing the program; remains is true if the program survived SIGKILL.
	hung    string
	remains bool
	// exit is the exit status of `agent supervise`, or nil if it did not exit.
	exit *tool.Exit
	done process.IO
	// unflushed is the reason why some written data may not have reached the storage.
	unflushed error
	// unread is the reason why the bytes read and written are unknown.
	unread error
}

// PID returns the PID of `agent supervise`.
func (r *run) PID() int { return r.handle.PID() }

// Exited implements tool.Waiting.
func (r *run) Exited() <-chan struct{} { return r.handle.Exited() }

// Conclude returns the result if `agent supervise` exited before the start signal.
func (r *run) Conclude() *agentapi.Ended {
	end := runEnd{exit: r.reap()}
	r.end()
	ended := &agentapi.Ended{}
	tool.Fail(ended, tool.ReasonKilled, "the process that supervises the program exited before the start")
	if end.exit != nil {
		ended.Message += " (" + end.exit.String() + ")"
	}
	r.files.Close()
	return ended
}

// Discard kills an `agent supervise` process that never received the start signal, and closes the step's files.
func (r *run) Discard() {
	r.end()
	r.files.Close()
}

// end kills `agent supervise` and all its descendants, and removes the program's scratch directory. It does not close
// the step's files.
func (r *run) end() {
	_ = r.start.Close()
	r.kill()
	r.reap()
	_ = dataset.RemoveDirectory(r.scratch)
}

// Run starts the program, and returns when all its processes have exited and its data is on the storage.
func (r *run) Run(deadline int64) *agentapi.Ended {
	r.step.Started()
	end := r.carry(deadline, &samples{write: r.step.Sample})
	ended := r.result(&end)
	r.files.Inspect(ended, volumes.WroteUnknown, end.hung != "" || end.remains)
	return ended
}

// runAlone runs a setup command while its step is still being loaded. It therefore logs neither the start nor samples
// of the command.
func (r *run) runAlone() *agentapi.Ended {
	limit := cmp.Or(r.step.Request.GetLoadTimeoutNanoseconds(), int64(r.step.Timeouts.Setup))
	end := r.carry(r.step.Clock.Monotonic()+limit, &samples{write: func(*agentapi.Sample) {}})
	return r.result(&end)
}

// carry supervises the program from its start until its data is on the storage.
func (r *run) carry(deadline int64, samples *samples) runEnd {
	clock := r.step.Clock
	r.cpu.Begin(clock)
	r.sources.begin(r.system, r.files.Mount())
	end := runEnd{unread: r.meter.begin()}
	end.start = clock.Monotonic()
	samples.begin(end.start)
	if _, err := r.start.Write([]byte{'g'}); err != nil {
		r.output.Note("signal the program to start: " + err.Error())
	}
	_ = r.start.Close()
	r.watch(deadline, &end, samples)
	// Read the counters of `agent supervise` before reaping it, because reaping removes them.
	var err error
	if end.done, err = r.meter.end(r.counted()); end.unread == nil {
		end.unread = err
	}
	end.exit = r.reap()
	end.remains = end.remains || end.exit == nil
	end.endedAt = clock.Monotonic()
	if !end.remains && r.reports.endedAt != 0 {
		end.endedAt = r.reports.endedAt
	}
	samples.add(end.endedAt, end.done)
	if !end.remains && end.hung == "" {
		end.unflushed = r.flush()
	}
	end.flushed = clock.Monotonic()
	samples.end(end.flushed, end.done)
	_ = dataset.RemoveDirectory(r.scratch)
	return end
}

// counted returns the bytes that the program and its descendants read and wrote, as reported by `agent supervise`, or
// nil if there is no report.
func (r *run) counted() *process.IO {
	select {
	case <-r.reported:
		return r.reports.counted
	case <-time.After(reportTimeout):
		return nil
	}
}

// reportTimeout limits how long to wait for the reports of a process that has exited. Its reports are already in the
// pipe, so reading them takes little time.
const reportTimeout = 2 * time.Second

// watch stops or kills the program when necessary. It returns when the program and `agent supervise` have exited, or
// when they survive SIGKILL.
func (r *run) watch(deadlineAt int64, end *runEnd, samples *samples) {
	clock, timeouts := r.step.Clock, &r.step.Timeouts
	interval := time.Duration(r.load.GetSampleIntervalNanoseconds())
	if interval <= 0 {
		interval = time.Second
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var killing, gone <-chan time.Time
	timer := time.NewTimer(time.Duration(deadlineAt - clock.Monotonic()))
	defer timer.Stop()
	kill := func(why string) {
		if end.hung == "" {
			end.hung = why
		}
		r.kill()
		if gone == nil {
			gone = time.After(timeouts.Gone)
		}
	}
	stop := func(why string) {
		if end.stopped != "" {
			return
		}
		end.stopped = why
		if err := r.handle.Terminate(true); err != nil {
			r.output.Note("signal the program to exit: " + err.Error())
		}
		killing = time.After(timeouts.Terminate)
	}
	var stall tool.StallWatch
	ended := r.reports.ended
	stopped, abandoned := r.step.Stopped.Done(), r.step.Abandoned
	for {
		select {
		case <-r.handle.Exited():
			return
		case <-ticker.C:
			now, load := clock.Monotonic(), r.meter.look()
			samples.add(now, load)
			// Only log that the program is stuck. If it stays stuck, the phase's deadline ends it.
			_ = stall.Look(r.step, time.Duration(now), load, r.meter.stuck, "the program")
		case <-ended:
			// `agent supervise` now kills leftover processes, and reads /proc to find them. Do not count these reads as
			// the program's I/O.
			ended = nil
			ticker.Stop()
		case <-stopped:
			stopped = nil
			stop(context.Cause(r.step.Stopped).Error())
		case <-timer.C:
			end.overdue = end.stopped == ""
			stop("the phase's time limit was reached")
		case <-killing:
			// The program did not exit in time after SIGTERM. Leave hung empty, because the storage is not to blame.
			killing = nil
			r.kill()
			gone = time.After(timeouts.Stop)
		case <-abandoned:
			abandoned = nil
			kill("the agent is exiting")
		case <-gone:
			end.remains = true
			return
		}
	}
}

// kill kills the program and all its descendants.
func (r *run) kill() {
	if err := r.handle.Kill(); err != nil {
		r.output.Note("kill the program: " + err.Error())
	}
}

// reap waits for the process to exit and kills its remaining descendants. It returns nil if the process does not exit
// in time.
func (r *run) reap() *tool.Exit {
	waited := make(chan *tool.Exit, 1)
	go func() {
		exit := r.handle.Wait()
		<-r.reported
		waited <- exit
	}()
	select {
	case exit := <-waited:
		_ = r.handle.Kill()
		return exit
	case <-time.After(r.step.Timeouts.Gone):
		return nil
	}
}

// flush makes the file system write the program's dirty pages and waits until they are written. Otherwise the
// measured write rate would be the rate of the client's memory.
func (r *run) flush() error {
	flushed, path := make(chan error, 1), r.files.Path()
	go func() { flushed <- r.system.Sync(path) }()
	timeouts := &r.step.Timeouts
	limit := time.NewTimer(timeouts.Hung)
	defer limit.Stop()
	abandoned := r.step.Abandoned
	for {
		select {
		case err := <-flushed:
			return err
		case <-abandoned:
			abandoned = nil
			limit.Reset(timeouts.Gone)
		case <-limit.C:
			return fmt.Errorf("the file system did not write the program's dirty pages within %s",
				timeouts.Hung)
		}
	}
}
