package process

import "time"

// Progress remembers when each worker of a tool was last seen to have run. It is the watchdog's
// measure of the age of outstanding I/O: a tool's own dumps wait for a worker that is inside an
// I/O, the scheduler's counters do not. The zero value is ready. Not for concurrent use.
type Progress struct {
	workers map[workerKey]*advance
	// latest is in the order of Workers.
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

// Observe looks at a fio process at an instant of any clock that goes forward only. A worker that
// is new counts as having run now.
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

// Any is true when the last look found a worker at all.
func (p *Progress) Any() bool { return len(p.latest) > 0 }

// Stalled lists the workers of the last look that have not run for at least age.
func (p *Progress) Stalled(now, age time.Duration) []Worker {
	var stalled []Worker
	for _, key := range p.latest {
		if known := p.workers[key]; now-known.at >= age {
			stalled = append(stalled, known.worker)
		}
	}
	return stalled
}

// Oldest is how long the worker that ran least recently has not run; 0 without workers.
func (p *Progress) Oldest(now time.Duration) time.Duration {
	var oldest time.Duration
	for _, known := range p.workers {
		oldest = max(oldest, now-known.at)
	}
	return oldest
}
