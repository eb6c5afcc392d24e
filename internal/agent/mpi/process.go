package mpi

import (
	"cmp"
	"fmt"
	"os/exec"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// mpiProcess is mpirun or an MPI daemon, with all its descendants and the I/O counters of its ranks.
type mpiProcess struct {
	step    *tool.Step
	handle  tool.Program
	meter   *rankMeter
	samples *rankSamples
	// ended is closed after the process has exited, its counters were read one last time, and it was reaped.
	ended chan struct{}
	exit  *tool.Exit
	// hung receives the reason for killing the process; firstRank and lastRank are the times at which ranks were
	// first and last seen.
	hung                chan string
	firstRank, lastRank int64
}

func (p *part) startMPI(command *exec.Cmd) (*mpiProcess, error) {
	handle, err := p.system.Start(command)
	if err != nil {
		return nil, err
	}
	started := &mpiProcess{
		step: p.step, handle: handle, samples: p.samples,
		meter: newRankMeter(p.system, handle.PID(), p.load.GetProgram(), p.files.Path(), p.ranks),
		ended: make(chan struct{}), hung: make(chan string, 1),
	}
	// Record zeros as the first reading, because a new process has done no I/O. On a busy machine, all I/O may be over
	// before follow reads the counters for the first time.
	p.samples.add(p.step.Clock.Monotonic(), process.IO{})
	go started.follow()
	return started, nil
}

// follow reads the ranks' counters until the process exits, and once more before it reaps the process. Until then the
// process still has its own counters, which include the I/O of ranks that exited between two readings.
func (m *mpiProcess) follow() {
	defer close(m.ended)
	ticker := time.NewTicker(m.meter.interval())
	defer ticker.Stop()
	var stall tool.StallWatch
	for running := true; running; {
		select {
		case <-ticker.C:
		case <-m.handle.Exited():
			running = false
		}
		now := m.step.Clock.Monotonic()
		load := m.meter.look(time.Duration(now))
		m.samples.add(now, load)
		if m.meter.alive() > 0 {
			m.lastRank = now
			if m.firstRank == 0 {
				m.firstRank = now
			}
		}
		if idle := stall.Look(m.step, time.Duration(now), load, m.meter.stuck, "the ranks"); idle > m.stallTimeout() {
			select {
			case m.hung <- fmt.Sprintf("the ranks completed no I/O for %s", m.stallTimeout()):
			default:
			}
		}
	}
	m.samples.close()
	m.exit = m.handle.Wait()
}

// stallTimeout returns how long ranks may be blocked on an I/O before the process is killed.
func (m *mpiProcess) stallTimeout() time.Duration {
	return cmp.Or(time.Duration(m.step.Request.GetStallTimeoutNanoseconds()), m.step.Timeouts.Hung)
}

// clear kills leftover processes. Its error names the processes that did not exit in time. A rank that is killed during
// an I/O exits only when the storage has answered, so the timeout must allow for that. If the agent must exit, clear
// waits no longer than Timeouts.Gone.
func (m *mpiProcess) clear(timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	abandoned := m.step.Abandoned
	for {
		left := m.handle.Kill()
		wait := min(time.Until(deadline), m.step.Timeouts.Look)
		if wait <= 0 {
			if left == nil {
				left = fmt.Errorf("process %d was killed but did not exit", m.handle.PID())
			}
			return left
		}
		if left != nil {
			wait = 0 // Kill has already waited for the processes to exit, so do not wait again here.
		}
		select {
		case <-m.ended:
			if left == nil {
				// The process has exited and cannot start another process, so this Kill is final.
				left = m.handle.Kill()
				process.Collect(m.meter.pids())
				return left
			}
		case <-abandoned:
			abandoned = nil
			if sooner := time.Now().Add(m.step.Timeouts.Gone); sooner.Before(deadline) {
				deadline = sooner
			}
		case <-time.After(wait):
		}
	}
}

// cpu returns the CPU time of the process and of all children that it reaped.
func (m *mpiProcess) cpu(meter *tool.CPUMeter) *agentapi.CPUUse {
	select {
	case <-m.ended:
		return meter.End(m.step.Clock, m.exit)
	default:
		return meter.End(m.step.Clock, nil)
	}
}
