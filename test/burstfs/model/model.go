package model

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"syscall"
	"time"
)

// Request is what a client asks of the store.
type Request struct {
	Kind Kind // Read, Write or Sync
	// File is any number that tells files apart, Name what patterns of failures are matched with.
	File   uint64
	Name   string
	Offset int64
	Bytes  int64
	// Stored is what it takes behind the store's compression; Bytes where there is none.
	Stored int64
}

// Answer to a request.
type Answer struct {
	// ID is what Submit gave.
	ID uint64
	Request
	// Errno is 0 unless a failure hit it.
	Errno syscall.Errno
	// At is when it was answered, counted from the start of the store.
	At time.Duration
	// Cached tells that the server's cache answered.
	Cached bool
}

type request struct {
	Request
	id        uint64
	entered   float64 // when it was taken up
	notBefore float64
	finish    float64
	pending   int // buckets that have not let it through
	errno     syscall.Errno
	cached    bool
}

// Model is a store at work. Its times count from its start and never go back; a time before one that it
// has seen counts as that one. It is not safe for several goroutines at once.
type Model struct {
	config   Config
	buckets  []*bucket
	speed    *bucket // of the cache; nil without one
	cache    *cache
	failures []*failure
	random   *rand.Rand

	now      float64
	lastID   uint64
	waiting  []*request // for a place in the queue limit
	serving  int        // reads and writes that hold a place
	answers  answers    // through all buckets, by the time of the answer
	answered []Answer   // not collected yet

	tenantShare float64
	truth       truth
}

// New makes a store, or says all that is wrong with its configuration.
func New(config Config) (*Model, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("describing a store: %w", err)
	}
	m := &Model{random: rand.New(rand.NewPCG(config.Seed, 1))}
	for _, b := range config.Buckets {
		m.buckets = append(m.buckets, newBucket(b))
	}
	m.apply(config)
	return m, nil
}

// Reconfigure changes the store at a time. Buckets are known by their names, and there must be the same ones as
// before, which count the same; they keep their credits, up to the new size, unless StartFill is given and
// changed: then they are filled to it. Failures start anew, and those of Fail end.
func (m *Model) Reconfigure(now time.Duration, config Config) error {
	if err := config.Validate(); err != nil {
		return fmt.Errorf("describing a store anew: %w", err)
	}
	if len(config.Buckets) != len(m.buckets) {
		return fmt.Errorf("describing a store anew: buckets: it has %d, now %d; make another store for that",
			len(m.buckets), len(config.Buckets))
	}
	for i, b := range config.Buckets {
		if old := m.buckets[i]; old.Name != b.Name || old.Counts != b.Counts {
			return fmt.Errorf("describing a store anew: buckets[%d]: it is %q and counts %s, now %q and %s; make another store for that",
				i, old.Name, old.Counts, b.Name, b.Counts)
		}
	}
	if !reflect.DeepEqual(config.Compression, m.config.Compression) {
		return errors.New("describing a store anew: compression: what is there stays as it was stored; make another store for that")
	}
	m.advance(now.Seconds())
	for i, b := range config.Buckets {
		old := m.buckets[i]
		if b.StartFill != nil && !reflect.DeepEqual(b.StartFill, old.StartFill) {
			old.credits = b.Start()
		}
		old.Bucket = b
		old.credits = min(old.credits, b.Size)
	}
	m.apply(config)
	m.settle()
	return nil
}

// apply takes over everything but buckets.
func (m *Model) apply(config Config) {
	hadCache := m.config.Cache
	m.config = config
	m.failures = nil
	for _, f := range config.Failures {
		m.failures = append(m.failures, &failure{Failure: f})
	}
	if !reflect.DeepEqual(hadCache, config.Cache) {
		// What waits for the old cache's speed stays in its queue until it is through.
		m.cache = nil
		if config.Cache != nil {
			m.cache = newCache(*config.Cache)
			if m.speed == nil {
				m.speed = newBucket(Bucket{})
			}
			m.speed.Bucket = Bucket{Name: "cache", Counts: CountsBytes, BaselinePerSecond: config.Cache.BytesPerSecond}
		}
	}
	m.share()
}

// Config is the present one.
func (m *Model) Config() Config { return m.config }

// Submitted is a request that was handed in.
type Submitted struct {
	ID uint64
	// Errno is what it will be answered with, for those who have to know before whether it does anything.
	Errno syscall.Errno
}

// Submit hands in a request.
func (m *Model) Submit(now time.Duration, r Request) Submitted {
	m.advance(now.Seconds())
	m.lastID++
	if m.config.Compression == nil {
		r.Stored = r.Bytes
	}
	result := m.failing(r.Kind, r.Name)
	taken := &request{Request: r, id: m.lastID, errno: result.errno, notBefore: m.now + result.stall.Seconds()}
	m.truth.submitted(taken, m.moment())
	if result.errno != 0 || r.Kind == Sync {
		taken.entered = m.now
		m.through(taken)
	} else {
		m.waiting = append(m.waiting, taken)
	}
	m.settle()
	return Submitted{ID: taken.id, Errno: taken.errno}
}

// Advance moves on to a time and gives what has been answered since the last call, in order.
func (m *Model) Advance(now time.Duration) []Answer {
	m.advance(now.Seconds())
	collected := m.answered
	m.answered = nil
	return collected
}

// Next is when something happens next if nobody asks or changes anything. That is a second from now at most,
// when a line of the truth is due.
func (m *Model) Next() time.Duration {
	event := m.event()
	next := time.Duration(math.Ceil(event * 1e9))
	if next.Seconds() < event { // by rounding; the caller would come back too early again and again
		next++
	}
	return next
}

// Forget drops a file from the cache, after it was removed or truncated.
func (m *Model) Forget(file uint64) {
	if m.cache != nil {
		m.cache.forget(file)
	}
}

// Credits of a bucket now; false where there is no such bucket.
func (m *Model) Credits(name string) (credits float64, ok bool) {
	for _, b := range m.buckets {
		if b.Name == name {
			return b.credits, true
		}
	}
	return 0, false
}

// moment is the present time as a duration, exact to the nanosecond.
func (m *Model) moment() time.Duration { return time.Duration(math.Round(m.now * 1e9)) }

// all buckets, with the cache's own.
func (m *Model) each(do func(*bucket)) {
	for _, b := range m.buckets {
		do(b)
	}
	if m.speed != nil {
		do(m.speed)
	}
}

// busy reports whether a bucket has something to let through.
func (m *Model) busy() (busy bool) {
	m.each(func(b *bucket) { busy = busy || len(b.queue) > 0 })
	return busy
}

// event is the time of the next change.
func (m *Model) event() float64 {
	next := min(m.nextSchedule(), m.truth.boundary())
	if len(m.answers) > 0 {
		next = min(next, m.answers[0].finish)
	}
	m.each(func(b *bucket) { next = min(next, m.now+b.untilChange(b.flow())) })
	return next
}

// advance moves from change to change up to a time.
func (m *Model) advance(to float64) {
	for {
		next := m.event()
		if next > to {
			break
		}
		m.step(max(next, m.now))
	}
	if to > m.now {
		m.step(to)
	}
}

// step moves on to a time before which nothing changes, and does what is due then.
func (m *Model) step(to float64) {
	seconds := to - m.now
	m.truth.tenantSeconds += m.tenantShare * seconds
	if m.busy() {
		m.truth.busySeconds += seconds
	}
	if m.truth.loading > 0 {
		m.truth.loadedSeconds += seconds
	}
	m.now = to
	m.each(func(b *bucket) {
		if r := b.advance(seconds); r != nil {
			r.pending--
			if r.pending == 0 {
				m.through(r)
			}
		}
	})
	m.settle()
	m.share()
	if m.now >= m.truth.boundary() {
		m.truth.record(m)
	}
}

// settle answers what is due and takes up what waits and now has a place.
func (m *Model) settle() {
	for len(m.answers) > 0 && m.answers[0].finish <= m.now {
		m.answer(heap.Pop(&m.answers).(*request))
	}
	for len(m.waiting) > 0 && (m.config.QueueLimit == 0 || m.serving < m.config.QueueLimit) {
		r := m.waiting[0]
		m.waiting[0] = nil
		m.waiting = m.waiting[1:]
		m.enter(r)
	}
}

// enter takes a read or write up: it gets into all buckets that apply to it.
func (m *Model) enter(r *request) {
	m.serving++
	r.entered = m.now
	r.cached = r.Kind == Read && m.cache != nil && m.cache.holds(r.File, r.Offset, r.Bytes)
	for _, b := range m.buckets {
		if b.Applies(r.Kind) && (!r.cached || b.ServesCache) {
			r.pending++
			b.add(r)
		}
	}
	if r.cached {
		r.pending++
		m.speed.add(r)
	}
	if r.pending == 0 {
		m.through(r)
	}
}

// through is when all buckets let a request pass: its answer is due after the latency.
func (m *Model) through(r *request) {
	l := m.config.Latency
	if r.cached && m.config.Cache != nil {
		l = Latency{Fixed: m.config.Cache.Latency}
	}
	delay := l.Fixed.Seconds()
	if l.Jitter > 0 {
		delay += l.Jitter.Seconds() * m.random.Float64()
	}
	r.finish = max(m.now+delay, r.entered+l.Floor.Seconds(), r.notBefore)
	heap.Push(&m.answers, r)
}

func (m *Model) answer(r *request) {
	if r.errno == 0 && r.Kind != Sync {
		m.serving--
		m.remember(r)
	}
	m.truth.answered(r, m.moment())
	m.answered = append(m.answered, Answer{
		ID: r.id, Request: r.Request, Errno: r.errno, At: m.moment(), Cached: r.cached,
	})
}

// remember does to the cache what a request does to it.
func (m *Model) remember(r *request) {
	switch {
	case m.cache == nil:
	case r.Kind == Write && m.config.Cache.IgnoresWrites:
		m.cache.drop(r.File, r.Offset, r.Bytes)
	default:
		m.cache.keep(r.File, r.Offset, r.Bytes)
	}
}

// answers is a heap by the time of the answer, and in order of submission where that is the same.
type answers []*request

func (a answers) Len() int { return len(a) }
func (a answers) Less(i, j int) bool {
	if a[i].finish != a[j].finish {
		return a[i].finish < a[j].finish
	}
	return a[i].id < a[j].id
}
func (a answers) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push is for container/heap.
func (a *answers) Push(x any) { *a = append(*a, x.(*request)) }

// Pop is for container/heap.
func (a *answers) Pop() any {
	last := len(*a) - 1
	r := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return r
}
