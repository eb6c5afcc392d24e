package sim

import (
	"math/rand/v2"
	"time"
)

// openLoop simulates fio with rate_process=poisson: each job has its own random arrivals. An operation that is due
// while its job waits for the previous one is submitted late, and its latency does not include that wait.
type openLoop struct {
	perSecond float64
	jobs      int
	seed      uint64

	random *rand.Rand
	next   time.Duration
	// busy is true for jobs that wait for an answer. late is the number of operations of a job that have become due
	// meanwhile.
	busy []bool
	late []int
}

func (o *openLoop) begin(now time.Duration) {
	o.random = rand.New(rand.NewPCG(o.seed, 2))
	o.busy, o.late = make([]bool, o.jobs), make([]int, o.jobs)
	o.next = now + o.gap()
}

// gap returns the time until the next arrival at any job.
func (o *openLoop) gap() time.Duration {
	return time.Duration(o.random.ExpFloat64() / o.perSecond * float64(time.Second))
}

// arrival returns the open loop in which an operation is due next, or nil if there is none. The caller must hold mu.
func (s *Store) arrival() (next *flow) {
	for _, f := range s.open {
		if next == nil || f.open.next < next.open.next {
			next = f
		}
	}
	return next
}

// arrive submits the operation that is due now, unless its job is busy.
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

// freed marks a job as idle, and submits an operation that has become due meanwhile, if any.
func (f *flow) freed(job int, now time.Duration) {
	o := f.open
	if o.busy[job] = false; f.over || o.late[job] == 0 {
		return
	}
	o.late[job]--
	o.busy[job] = true
	f.ask(now, job)
}
