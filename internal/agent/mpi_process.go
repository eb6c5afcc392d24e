package agent

import (
	"fmt"
	"os/exec"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// mpiProcess is mpirun or an MPI daemon, with all its descendants and the I/O counters of its ranks.
type mpiProcess struct {
	step    *step
	handle  Program
	meter   *rankMeter
	samples *rankSamples
	// ended is closed after the process has exited, its counters were read a last time, and it was reaped.
	ended chan struct{}
	exit  *Exit
	// hung receives the reason for killing the process; firstRank and lastRank are the times at which ranks were
	// first and last seen.
	hung                chan string
	firstRank, lastRank int64
}

func (p *mpiPart) startMPI(command *exec.Cmd) (*mpiProcess, error) {
	system := p.step.agent.system
	handle, err := system.Start(command)
	if err != nil {
		return nil, err
	}
	tool := p.step.request.GetMpi()
	started := &mpiProcess{
		step: p.step, handle: handle, samples: p.samples,
		meter: newRankMeter(system, handle.PID(), tool.GetProgram(), p.working, p.ranks),
		ended: make(chan struct{}), hung: make(chan string, 1),
	}
	go started.follow()
	return started, nil
}

// follow reads the ranks' counters until the process exits, and then once more: the process's counters include the
// I/O of ranks that exited between two readings, until the process is reaped.
func (m *mpiProcess) follow() {
	defer close(m.ended)
	ticker := time.NewTicker(m.meter.interval())
	defer ticker.Stop()
	watch := stallWatch{process: m}
	for running := true; running; {
		select {
		case <-ticker.C:
		case <-m.handle.Exited():
			running = false
		}
		now := m.step.agent.clock.Monotonic()
		load := m.meter.look(time.Duration(now))
		m.samples.add(now, load)
		if m.meter.alive() > 0 {
			m.lastRank = now
			if m.firstRank == 0 {
				m.firstRank = now
			}
		}
		watch.look(time.Duration(now), load)
	}
	m.samples.close()
	m.exit = m.handle.Wait()
}

// stallWatch warns about ranks whose I/O does not complete, and reports them as hung after a timeout.
type stallWatch struct {
	process *mpiProcess
	load    process.IO
	since   time.Duration
	told    bool
	notices int
}

func (w *stallWatch) look(now time.Duration, load process.IO) {
	if load != w.load || w.since == 0 {
		w.load, w.since, w.told = load, now, false
		return
	}
	timeouts := w.process.step.agent.timeouts
	idle := now - w.since
	if idle < timeouts.stalled || !w.process.meter.stuck() {
		return
	}
	if !w.told && w.notices < maxStallNotices {
		w.told = true
		w.notices++
		w.process.step.notice(noticeStalled, "ranks have completed no I/O for %s", timeouts.stalled)
	}
	limit := timeouts.hung
	if given := w.process.step.request.GetStallTimeoutNanoseconds(); given > 0 {
		limit = time.Duration(given)
	}
	if idle > limit {
		select {
		case w.process.hung <- fmt.Sprintf("no I/O of its ranks completed for %s", limit):
		default:
		}
	}
}

// clear kills leftover processes. Its error names those that did not exit in time. A rank that is killed during an
// I/O exits only when the storage has answered, which can take as long as any stop; if the agent has to exit, clear
// waits a shorter time.
func (m *mpiProcess) clear(timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	abandoned := m.step.abandoned
	for {
		left := m.handle.Kill()
		wait := min(time.Until(deadline), m.step.agent.timeouts.look)
		if wait <= 0 {
			if left == nil {
				left = fmt.Errorf("process %d was killed and is not gone", m.handle.PID())
			}
			return left
		}
		if left != nil {
			wait = 0 // Kill has waited already.
		}
		select {
		case <-m.ended:
			if left == nil {
				// The process has exited and can start nothing more, so this Kill is final.
				left = m.handle.Kill()
				process.Collect(m.meter.pids())
				return left
			}
		case <-abandoned:
			abandoned = nil
			if sooner := time.Now().Add(m.step.agent.timeouts.gone); sooner.Before(deadline) {
				deadline = sooner
			}
		case <-time.After(wait):
		}
	}
}

// cpu returns the CPU time of the process and of all children that it reaped.
func (m *mpiProcess) cpu(meter *cpuMeter) *agentapi.CPUUse {
	select {
	case <-m.ended:
		return meter.end(m.step.agent.clock, m.exit)
	default:
		return meter.end(m.step.agent.clock, nil)
	}
}
