package fio

import (
	"sync"

	"github.com/storagebench/storagebench/internal/agent/volumes"
)

// spareFio is a fio that waits for the job of the next step, so that loading that step need not wait for a fio to
// start. It has no job, so it touches no file.
//
// It is spawned when a step's load has ended. At that time nothing is being measured, and the step still waits for I/O
// in flight. Spawning it earlier would cost 100 ms of a step's loading or measurement (eight clients on two
// processors).
type spareFio struct {
	mu      sync.Mutex
	waiting *waitingFio
	// spawning is true while a spare fio is being spawned; closed is true once no further spare fio may be spawned.
	spawning, closed bool
}

// keep spawns a spare fio if there is none, and returns after the attempt. It returns no error: a step without a
// spare fio spawns its own and reports the problem.
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

// take returns the spare fio for a step. It returns nil unless the spare fio is still running, was spawned in the
// same way, and works in the given directory. It ends an unsuitable spare fio.
func (s *spareFio) take(how spawning, directory *volumes.Files) *waitingFio {
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

// close ends the spare fio and prevents further ones.
func (s *spareFio) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
}

// end stops the spare fio, if there is one.
func (s *spareFio) end() {
	s.mu.Lock()
	spare := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	if spare != nil {
		spare.discard()
	}
}
