package sim

import (
	"math/rand/v2"
	"time"
)

// openLoop is what fio does with rate_process=poisson: each job has arrivals of its own at random. An operation that is
// due while its job waits for the one before is handed in late, and that wait is in no latency.
type openLoop struct {
	perSecond float64
	jobs      int
	seed      uint64

	random *rand.Rand
	next   time.Duration
	// busy jobs wait for an answer; late is how many operations of a job are due meanwhile.
	busy []bool
	late []int
}

func (o *openLoop) begin(now time.Duration) {
	o.random = rand.New(rand.NewPCG(o.seed, 2))
	o.busy, o.late = make([]bool, o.jobs), make([]int, o.jobs)
	o.next = now + o.gap()
}

// gap is the time to the next arrival at any job.
func (o *openLoop) gap() time.Duration {
	return time.Duration(o.random.ExpFloat64() / o.perSecond * float64(time.Second))
}

// arrival is the open loop in which an operation is due next; nil if there is none. Callers hold the store's mu.
func (s *Store) arrival() (next *flow) {
	for _, f := range s.open {
		if next == nil || f.open.next < next.open.next {
			next = f
		}
	}
	return next
}

// arrive hands in the operation that is due now, unless its job is busy.
func (f *flow) arrive(now time.Duration) {
	o := f.open
	o.next = now + o.gap()
	job := o.random.IntN(o.jobs)
	if o.busy[job] {
		o.late[job]++
		return
	}
	o.busy[job] = true
	f.ask(now, job)
}

// freed lets a job go on, with what was due meanwhile first.
func (f *flow) freed(job int, now time.Duration) {
	o := f.open
	if o.busy[job] = false; f.over || o.late[job] == 0 {
		return
	}
	o.late[job]--
	o.busy[job] = true
	f.ask(now, job)
}
