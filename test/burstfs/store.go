package burstfs

import (
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// store runs a model in real time.
type store struct {
	start   time.Time
	sleeper *sleeper
	ended   chan struct{} // closed when run returns
	records *records      // nil without compression
	space   lateSpace
	names   *names
	noLocks bool

	mu       sync.Mutex
	model    *model.Model
	waiting  map[uint64]chan<- syscall.Errno
	sleeping time.Duration // time until which run sleeps
	closed   bool
}

func newStore(config model.Config) (*store, error) {
	m, err := model.New(config)
	if err != nil {
		return nil, err
	}
	sleeper, err := newSleeper()
	if err != nil {
		return nil, err
	}
	s := &store{
		start: time.Now(), sleeper: sleeper, ended: make(chan struct{}),
		model: m, waiting: map[uint64]chan<- syscall.Errno{}, records: newRecords(config.Compression),
		noLocks: config.NoLocks, space: lateSpace{delay: config.SpaceLate}, names: newNames(config.NamesPerSecond),
	}
	go s.run()
	return s, nil
}

// now returns the current time of the model.
func (s *store) now() time.Duration { return time.Since(s.start) }

// run answers requests at their due times.
func (s *store) run() {
	defer close(s.ended)
	s.sleeper.prepare()
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		s.deliver(s.now())
		s.sleeping = s.model.Next()
		until := s.sleeping
		s.mu.Unlock()
		if d := until - s.now(); d > 0 {
			s.sleeper.sleep(d)
		}
	}
}

// deliver delivers due answers. The caller must hold the lock.
func (s *store) deliver(now time.Duration) {
	for _, answer := range s.model.Advance(now) {
		if waiting, ok := s.waiting[answer.ID]; ok {
			delete(s.waiting, answer.ID)
			waiting <- answer.Errno
		}
	}
}

// changed delivers due answers, and wakes run if the next event is before the end of its sleep. The caller must hold
// the lock.
func (s *store) changed(now time.Duration) {
	s.deliver(now)
	if next := s.model.Next(); next < s.sleeping {
		s.sleeping = next
		s.sleeper.wake()
	}
}

// ticket is an outstanding request.
type ticket struct {
	// errno is not 0 if the request will fail.
	errno  syscall.Errno
	answer <-chan syscall.Errno
}

// wait waits for the answer.
func (t ticket) wait() syscall.Errno { return <-t.answer }

// submit submits a request.
func (s *store) submit(r model.Request) ticket {
	answer := make(chan syscall.Errno, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		answer <- syscall.EIO
		return ticket{errno: syscall.EIO, answer: answer}
	}
	now := s.now()
	submitted := s.model.Submit(now, r)
	s.waiting[submitted.ID] = answer
	s.changed(now)
	return ticket{errno: submitted.Errno, answer: answer}
}

// metadata returns the error of creating or changing a file now.
func (s *store) metadata(kind model.Kind, name string) syscall.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	errno := s.model.Metadata(now, kind, name)
	s.changed(now)
	return errno
}

// with calls do with the model and its current time.
func (s *store) with(do func(m *model.Model, now time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	do(s.model, now)
	s.changed(now)
}

// close ends the store. Outstanding requests fail with EIO.
func (s *store) close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.deliver(s.now()) // so that the record is complete
	for id, waiting := range s.waiting {
		delete(s.waiting, id)
		waiting <- syscall.EIO
	}
	s.sleeper.wake()
	s.mu.Unlock()
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleeping = 0 // so that changed no longer wakes run
	s.sleeper.close()
}

// forget removes a file from the server's cache, and the sizes of its records.
func (s *store) forget(file uint64) {
	s.records.forget(file)
	s.space.forget(file)
	s.with(func(m *model.Model, _ time.Duration) { m.Forget(file) })
}

// show sets the space in a file's attributes to the reported value.
func (s *store) show(file uint64, behind string, attributes *fuse.Attr) {
	s.records.show(file, behind, attributes)
	s.space.show(file, attributes)
}
