package process

import "time"

// Progress records when each worker of a tool last ran. The watchdog uses it to measure the age of outstanding I/O. It
// cannot use a tool's status dumps, because they wait for a worker that is blocked on an I/O; the scheduler's counters
// do not. The zero value is ready to use. It is not safe for concurrent use.
type Progress struct {
	workers map[workerKey]*advance
	// latest lists the workers of the last observation, in the order in which Workers returns them.
	latest []workerKey
}

type workerKey struct {
	tid   int
	start uint64
}

type advance struct {
	worker Worker
	at     time.Duration
}

// Observe reads the workers of a fio process; now is an instant of a monotonic clock. A worker that is observed for the
// first time counts as having just run.
func (p *Progress) Observe(pid int, now time.Duration) error {
	workers, err := Workers(pid)
	if err != nil {
		return err
	}
	p.observe(workers, now)
	return nil
}

func (p *Progress) observe(workers []Worker, now time.Duration) {
	before := p.workers
	p.workers = make(map[workerKey]*advance, len(workers))
	p.latest = p.latest[:0]
	for _, worker := range workers {
		key := workerKey{tid: worker.TID, start: worker.startTicks}
		at := now
		if known, ok := before[key]; ok && known.worker.OnCPU == worker.OnCPU && known.worker.Turns == worker.Turns {
			at = known.at
		}
		p.workers[key] = &advance{worker: worker, at: at}
		p.latest = append(p.latest, key)
	}
}

// Any reports whether the last observation found workers.
func (p *Progress) Any() bool { return len(p.latest) > 0 }

// Stalled lists the workers of the last observation that have not run for at least the duration `age`.
func (p *Progress) Stalled(now, age time.Duration) []Worker {
	var stalled []Worker
	for _, key := range p.latest {
		if known := p.workers[key]; now-known.at >= age {
			stalled = append(stalled, known.worker)
		}
	}
	return stalled
}
