package burstfs

import (
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// store runs a model by the clock.
type store struct {
	start   time.Time
	sleeper *sleeper
	ended   chan struct{} // closed when run is over
	records *records      // nil without compression
	space   lateSpace
	names   *names
	noLocks bool

	mu       sync.Mutex
	model    *model.Model
	waiting  map[uint64]chan<- syscall.Errno
	sleeping time.Duration // until when run sleeps
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

// now is the time of the model.
func (s *store) now() time.Duration { return time.Since(s.start) }

// run answers requests when they are due.
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

// deliver answers what is due; with the lock.
func (s *store) deliver(now time.Duration) {
	for _, answer := range s.model.Advance(now) {
		if waiting, ok := s.waiting[answer.ID]; ok {
			delete(s.waiting, answer.ID)
			waiting <- answer.Errno
		}
	}
}

// changed answers what is due and makes run look again if something is due sooner than it sleeps; with the
// lock.
func (s *store) changed(now time.Duration) {
	s.deliver(now)
	if next := s.model.Next(); next < s.sleeping {
		s.sleeping = next
		s.sleeper.wake()
	}
}

// ticket is a request under way.
type ticket struct {
	// errno is not 0 if it will fail.
	errno  syscall.Errno
	answer <-chan syscall.Errno
}

// wait until it is answered.
func (t ticket) wait() syscall.Errno { return <-t.answer }

// submit hands in a request.
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

// metadata is the error of creating or changing a file now.
func (s *store) metadata(kind model.Kind, name string) syscall.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	errno := s.model.Metadata(now, kind, name)
	s.changed(now)
	return errno
}

// with does something to the model.
func (s *store) with(do func(m *model.Model, now time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	do(s.model, now)
	s.changed(now)
}

// close ends it. What is under way fails with EIO.
func (s *store) close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.deliver(s.now()) // so that the truth is complete
	for id, waiting := range s.waiting {
		delete(s.waiting, id)
		waiting <- syscall.EIO
	}
	s.sleeper.wake()
	s.mu.Unlock()
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleeping = 0 // nobody is to be woken any more
	s.sleeper.close()
}

// forget drops a file from the server's cache, and what was known of its records.
func (s *store) forget(file uint64) {
	s.records.forget(file)
	s.space.forget(file)
	s.with(func(m *model.Model, _ time.Duration) { m.Forget(file) })
}

// show puts what is reported of the space that a file takes into its attributes.
func (s *store) show(file uint64, behind string, attributes *fuse.Attr) {
	s.records.show(file, behind, attributes)
	s.space.show(file, attributes)
}
