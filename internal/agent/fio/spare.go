package fio

import (
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/agent/volumes"
)

// spareFio holds a fio process that waits for the job of the next step, so that the step loads without waiting for fio
// to start. The process has no job yet, so it touches no file.
//
// The process is spawned when a step's load has ended. At that time nothing is being measured, and the step only waits
// for its I/O in flight. Spawning the process earlier would delay the loading of a step, or disturb its measurement, by
// 100 ms (measured with eight clients on two processors).
type spareFio struct {
	mu      sync.Mutex
	waiting *waitingFio
	// spawning is closed when the spawning of a spare process has ended. It is nil if none is being spawned.
	spawning chan struct{}
	// closed is true once no further spare process may be spawned.
	closed bool
}

// keep spawns a spare process, unless one already exists or is being spawned. It returns when the spawning has
// succeeded or failed. It does not report an error, because a step without a spare process spawns its own and then
// reports the problem.
func (s *spareFio) keep(how spawning) {
	s.mu.Lock()
	if s.closed || s.spawning != nil || s.waiting != nil {
		s.mu.Unlock()
		return
	}
	done := make(chan struct{})
	defer close(done)
	s.spawning = done
	s.mu.Unlock()
	spawned, err := how.spawn()
	s.mu.Lock()
	s.spawning = nil
	if err == nil && !s.closed {
		s.waiting, spawned = spawned, nil
	}
	s.mu.Unlock()
	if err == nil && spawned != nil {
		spawned.discard()
	}
}

// take returns the spare process for a step, or nil if there is none. If the spare process has exited, was spawned in a
// different way, or works in another directory, take ends it and returns nil.
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

// close ends the spare process, if there is one, and prevents new ones from being spawned. A process that is being
// spawned has inherited the lock on the directory, so close waits until that process is gone. The wait is limited to
// the given time, because spawning hangs if the file system hangs.
func (s *spareFio) close(patience time.Duration) {
	s.mu.Lock()
	s.closed = true
	spawning := s.spawning
	s.mu.Unlock()
	if spawning != nil {
		select {
		case <-spawning:
		case <-time.After(patience):
		}
	}
	s.end()
}

// end ends the spare process, if there is one.
func (s *spareFio) end() {
	s.mu.Lock()
	spare := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	if spare != nil {
		spare.discard()
	}
}
