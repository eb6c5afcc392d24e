package agent

import (
	"sync"

	"github.com/storagebench/storagebench/internal/dataset"
)

// spareFio is a fio that waits for the job of the step after the one that is loaded, so that a step that
// is loaded need not wait for its start. It has no job, so it touches nothing.
//
// It is spawned when the load of a step has ended: nothing is measured any more, and what is in flight takes its
// time. Earlier, with eight clients on two processors, it would take 100 ms from the start of the very step that
// is loaded, or from what that measures.
type spareFio struct {
	mu      sync.Mutex
	waiting *waitingFio
	// spawning says that one is on its way; closed that none is wanted any more.
	spawning, closed bool
}

// keep sees to it that there is one. It returns when that was tried: a step whose Load finds none spawns
// its own and says what is wrong.
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

// take gives the spare fio to a step; nil where there is none that lives, was spawned in that way and is in
// this very directory. One that does not fit is ended.
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

// close ends the spare fio; there will be no other.
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
