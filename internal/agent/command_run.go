package agent

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// commandEnd describes how a run of a program ended.
type commandEnd struct {
	// start and flushed bound the run on the agent's clock; endedAt is when the program itself ended.
	start, endedAt, flushed int64
	// stopped is why the program was asked to stop; overdue is true if it exceeded its deadline.
	stopped string
	overdue bool
	// hung is why the program was killed; remains is true if it survived that.
	hung    string
	remains bool
	// exit is the exit status of `agent tend`; nil if it did not exit.
	exit *Exit
	done process.IO
	// unflushed is why written data may not be on the storage.
	unflushed error
	// unread is why the bytes read and written are unknown.
	unread error
}

func (r *commandRun) exitedEarly() <-chan struct{} { return r.handle.Exited() }

// concludeEarly returns the result of a run whose waiting process exited before the start signal.
func (r *commandRun) concludeEarly() *agentapi.Ended {
	end := commandEnd{exit: r.reap()}
	r.end()
	ended := &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_FAILED, Reason: reasonKilled,
		Message: "the process that was to start the program ended before its time"}
	if end.exit != nil {
		ended.Message += " (" + end.exit.String() + ")"
	}
	_ = r.directory.Close()
	return ended
}

// discard ends a run that was never started.
func (r *commandRun) discard() {
	r.end()
	_ = r.directory.Close()
}

// end ends the process and cleans up everything of the run except the directory.
func (r *commandRun) end() {
	_ = r.start.Close()
	r.kill()
	r.reap()
	_ = os.RemoveAll(r.scratch)
}

// release starts the program, and returns when all its processes have exited and its data is on the storage.
func (r *commandRun) release(given order) *agentapi.Ended {
	r.step.write(&agentapi.Record{Entry: &agentapi.Record_Started{
		Started: &agentapi.Started{ReleasedNanoseconds: r.step.agent.clock.Monotonic()}}})
	samples := &commandSamples{write: func(sample *agentapi.Sample) {
		r.step.write(&agentapi.Record{Entry: &agentapi.Record_Sample{Sample: sample}})
	}}
	end := r.carry(given, samples)
	ended := r.result(&end)
	r.step.inspect(ended, r.directory, witnessNone, end.hung != "" || end.remains)
	return ended
}

// runAlone runs a setup without logging its start and its samples, because its step is not loaded yet.
func (r *commandRun) runAlone() *agentapi.Ended {
	agent := r.step.agent
	limit := cmp.Or(r.step.request.GetLoadTimeoutNanoseconds(), int64(agent.timeouts.setup))
	given := order{deadline: agent.clock.Monotonic() + limit}
	end := r.carry(given, &commandSamples{write: func(*agentapi.Sample) {}})
	return r.result(&end)
}

// carry supervises the run from the start of the program until its data is on the storage.
func (r *commandRun) carry(given order, samples *commandSamples) commandEnd {
	clock := r.step.agent.clock
	r.cpu.begin(clock)
	r.sources.begin(r.step.agent.system, r.directory.Mount())
	end := commandEnd{unread: r.meter.begin()}
	end.start = clock.Monotonic()
	samples.begin(end.start)
	if _, err := r.start.Write([]byte{'g'}); err != nil {
		r.output.note("tell the program to start: " + err.Error())
	}
	_ = r.start.Close()
	r.watch(given, &end, samples)
	// The root's counters disappear when it is reaped, so read them before.
	var err error
	if end.done, err = r.meter.end(r.counted()); end.unread == nil {
		end.unread = err
	}
	end.exit = r.reap()
	end.remains = end.remains || end.exit == nil
	end.endedAt = clock.Monotonic()
	if !end.remains && r.told.endedAt != 0 {
		end.endedAt = r.told.endedAt
	}
	samples.add(end.endedAt, end.done)
	if !end.remains && end.hung == "" {
		end.unflushed = r.flush()
	}
	end.flushed = clock.Monotonic()
	samples.end(end.flushed, end.done)
	_ = os.RemoveAll(r.scratch)
	return end
}

// counted returns the bytes that the program and its descendants read and wrote, as reported by `agent tend`; nil
// without a report.
func (r *commandRun) counted() *process.IO {
	select {
	case <-r.news:
		return r.told.counted
	case <-time.After(newsTimeout):
		return nil
	}
}

// newsTimeout bounds the wait for the reports of a process that has exited; they are already in the pipe.
const newsTimeout = 2 * time.Second

// watch stops or kills the program when necessary. It returns when the program and `agent tend` have exited, or
// when they survive being killed.
func (r *commandRun) watch(given order, end *commandEnd, samples *commandSamples) {
	clock, timeouts := r.step.agent.clock, r.step.agent.timeouts
	interval := time.Duration(r.tool.GetSampleIntervalNanoseconds())
	if interval <= 0 {
		interval = time.Second
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var deadline, killing, gone <-chan time.Time
	if given.deadline > 0 {
		timer := time.NewTimer(time.Duration(given.deadline - clock.Monotonic()))
		defer timer.Stop()
		deadline = timer.C
	}
	kill := func(why string) {
		if end.hung == "" {
			end.hung = why
		}
		r.kill()
		if gone == nil {
			gone = time.After(timeouts.gone)
		}
	}
	stop := func(why string) {
		if end.stopped != "" {
			return
		}
		end.stopped = why
		if err := r.handle.Terminate(true); err != nil {
			r.output.note("tell the program to end: " + err.Error())
		}
		killing = time.After(timeouts.mpi)
	}
	watch := commandStall{run: r}
	stopped, abandoned := r.step.stopped.Done(), r.step.abandoned
	for {
		select {
		case <-r.handle.Exited():
			return
		case <-ticker.C:
			now, load := clock.Monotonic(), r.meter.look()
			samples.add(now, load)
			watch.look(time.Duration(now), load)
		case <-stopped:
			stopped = nil
			stop(context.Cause(r.step.stopped).Error())
		case <-deadline:
			end.overdue = end.stopped == ""
			stop("the time that its phase gives it was over")
		case <-killing:
			// The program did not exit within its time after SIGTERM. That is not the storage's fault, so hung
			// stays empty.
			killing = nil
			r.kill()
			gone = time.After(timeouts.stop)
		case <-abandoned:
			abandoned = nil
			kill("the agent could not wait for it any longer")
		case <-gone:
			end.remains = true
			return
		}
	}
}

// kill kills the program and all its descendants.
func (r *commandRun) kill() {
	if err := r.handle.Kill(); err != nil {
		r.output.note("kill the program: " + err.Error())
	}
}

// reap waits for the process to exit and kills its remaining descendants. The result is nil if it does not exit in
// time.
func (r *commandRun) reap() *Exit {
	waited := make(chan *Exit, 1)
	go func() {
		exit := r.handle.Wait()
		<-r.news
		waited <- exit
	}()
	select {
	case exit := <-waited:
		_ = r.handle.Kill()
		return exit
	case <-time.After(r.step.agent.timeouts.gone):
		return nil
	}
}

// flush makes the file system write out the program's dirty pages, and waits for that. Otherwise a writing program
// would show the rate of the client's memory.
func (r *commandRun) flush() error {
	flushed := make(chan error, 1)
	go func() { flushed <- r.step.agent.system.Sync(r.directory.Path()) }()
	timeouts := r.step.agent.timeouts
	limit := time.NewTimer(timeouts.hung)
	defer limit.Stop()
	abandoned := r.step.abandoned
	for {
		select {
		case err := <-flushed:
			return err
		case <-abandoned:
			abandoned = nil
			limit.Reset(timeouts.gone)
		case <-limit.C:
			return fmt.Errorf("the file system did not write out what the program had left in memory within %s", timeouts.hung)
		}
	}
}

func syncFileSystem(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write out what is in memory: %w", err)
	}
	defer func() { _ = directory.Close() }()
	if err := unix.Syncfs(int(directory.Fd())); err != nil {
		return fmt.Errorf("write out what is in memory: %w", err)
	}
	return nil
}

// commandStall warns about a program whose I/O does not complete. It does not kill the program; the phase's
// deadline does.
type commandStall struct {
	run     *commandRun
	load    process.IO
	since   time.Duration
	told    bool
	notices int
}

func (w *commandStall) look(now time.Duration, load process.IO) {
	if load != w.load || w.since == 0 {
		w.load, w.since, w.told = load, now, false
		return
	}
	timeouts := w.run.step.agent.timeouts
	if w.told || now-w.since < timeouts.stalled || w.notices >= maxStallNotices || !w.run.meter.stuck() {
		return
	}
	w.told = true
	w.notices++
	w.run.step.notice(noticeStalled, "the program has completed no I/O for %s, and is inside of one", timeouts.stalled)
}
