package agent

import (
	"sync"

	"github.com/storagebench/storagebench/internal/dataset"
)

// spareFio is a fio that waits for the job of the step after the loaded one, so that loading that step need not wait
// for a fio to start. It has no job, so it touches nothing.
//
// It is spawned when the load of a step has ended: nothing is measured any more, and I/O in flight still takes time
// to complete. Spawned earlier, with eight clients on two processors, it would take 100 ms from the start of the step
// that is loaded, or from its measurement.
type spareFio struct {
	mu      sync.Mutex
	waiting *waitingFio
	// spawning is true while one is being spawned; closed is true once none is wanted any more.
	spawning, closed bool
}

// keep spawns a spare fio if there is none. It returns when it has tried, without an error: a step that finds no
// spare fio spawns its own and reports what is wrong.
func (s *spareFio) keep(how spawning) {
	s.mu.Lock()
	wanted := !s.closed && !s.spawning && s.waiting == nil
	s.spawning = s.spawning || wanted
	s.mu.Unlock()
	if !wanted {
		return
	}
	spawned, err := how.spawn()
	s.mu.Lock()
	s.spawning = false
	if err == nil && !s.closed {
		s.waiting, spawned = spawned, nil
	}
	s.mu.Unlock()
	if err == nil && spawned != nil {
		spawned.discard()
	}
}

// take returns the spare fio for a step; nil if there is none that lives, was spawned in the same way, and is in this
// very directory. A spare fio that does not fit is ended.
func (s *spareFio) take(how spawning, directory *dataset.Dataset) *waitingFio {
	s.mu.Lock()
	spare := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	if spare == nil {
		return nil
	}
	if where, err := spare.worksIn(); err == nil && spare.lives() && spare.how.equals(how) && directory.Is(where) {
		return spare
	}
	spare.discard()
	return nil
}

// close ends the spare fio; no other will be spawned.
func (s *spareFio) close() {
	s.mu.Lock()
	s.closed = true
	spare := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	if spare != nil {
		spare.discard()
	}
}
