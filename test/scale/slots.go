package scale

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/storagebench/storagebench/test/hang"
)

// slots keeps a constant number of runs live: each slot has one run, and when it ends, the next begins.
type slots struct {
	*world

	clients int32
	// shortest and longest are the minimum and maximum duration of a run's load.
	shortest, longest time.Duration

	random  *rand.Rand
	stopped chan struct{}
	all     sync.WaitGroup

	mu   sync.Mutex
	live []*state
	// begun and complete are the numbers of runs that have begun and completed.
	begun, complete int
}

func (w *world) newSlots(seed uint64, clients int32, shortest, longest time.Duration) *slots {
	s := &slots{world: w, clients: clients, shortest: shortest, longest: longest, stopped: make(chan struct{}),
		random: rand.New(rand.NewPCG(seed, 0))} // #nosec G404 -- lengths of runs
	w.Cleanup(func() {
		s.stop()
		s.all.Wait()
	})
	return s
}

// namespaces is the number of namespaces that the runs are spread over.
const namespaces = 10

// grow adds slots up to the given number, and returns when the run of each slot is in its load phase.
func (s *slots) grow(runs int) {
	s.Helper()
	for slot := len(s.live); slot < runs; slot++ {
		namespace := fmt.Sprintf("tenant-%d", slot%namespaces)
		// The durations of the first runs vary widely, so that later runs begin and end at different times.
		first := s.begin(namespace, slot, s.between(s.shortest/4, s.longest))
		s.mu.Lock()
		s.live = append(s.live, first)
		s.mu.Unlock()
		s.all.Go(func() { s.keepLive(namespace, slot, first) })
	}
	s.mu.Lock()
	all := append([]*state(nil), s.live...)
	s.mu.Unlock()
	for _, one := range all {
		hang.Until(s, "all runs load", func() bool { return isClosed(one.loading) })
	}
}

func (s *slots) between(least, most time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (least + time.Duration(s.random.Int64N(int64(most-least)))).Round(time.Second)
}

func (s *slots) begin(namespace string, slot int, length time.Duration) *state {
	s.mu.Lock()
	s.begun++
	name := fmt.Sprintf("b%d-%d", slot, s.begun)
	s.mu.Unlock()
	return s.benchmark(namespace, name, fmt.Sprintf("claim-%d", slot), s.clients, length)
}

// keepLive starts a new run whenever the slot's run has ended, until the slots are stopped.
func (s *slots) keepLive(namespace string, slot int, live *state) {
	for {
		select {
		case <-live.ended:
		case <-s.Context().Done():
			return
		}
		if live.failure != "" {
			s.Error(live.failure)
			return
		}
		s.mu.Lock()
		s.complete++
		s.mu.Unlock()
		if isClosed(s.stopped) {
			return
		}
		live = s.begin(namespace, slot, s.between(s.shortest, s.longest))
	}
}

// stop prevents further runs from beginning.
func (s *slots) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	shut(s.stopped)
}
