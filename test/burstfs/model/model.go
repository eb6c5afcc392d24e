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

// Request is a client's request to the store.
type Request struct {
	Kind Kind // Read, Write or Sync
	// File is a number that identifies the file. Name is matched with the patterns of failures.
	File   uint64
	Name   string
	Offset int64
	Bytes  int64
	// Stored is the number of bytes after the store's compression. Without compression, it equals Bytes.
	Stored int64
}

// Answer is the answer to a request.
type Answer struct {
	// ID is the ID that Submit returned.
	ID uint64
	Request
	// Errno is 0 unless a failure affected the request.
	Errno syscall.Errno
	// At is the time of the answer since the start of the store.
	At time.Duration
	// Cached is true if the server's cache answered.
	Cached bool
}

type request struct {
	Request
	id        uint64
	entered   float64 // when the store began to serve it
	notBefore float64
	finish    float64
	pending   int // number of buckets that it has not passed yet
	errno     syscall.Errno
	cached    bool
}

// Model is the state of a store. Its times count from its start and never go back: a time before the latest one counts
// as the latest one. It is not safe for concurrent use.
type Model struct {
	config   Config
	buckets  []*bucket
	speed    *bucket // limits the rate of the cache; nil without a cache
	cache    *cache
	failures []*failure
	random   *rand.Rand

	now      float64
	lastID   uint64
	waiting  []*request // because of the queue limit
	serving  int        // number of reads and writes that count for the queue limit
	answers  answers    // requests that have passed all buckets, by the time of the answer
	answered []Answer   // not yet returned by Advance

	tenantShare float64
	truth       truth
}

// New returns a store. Its error lists everything that is wrong with the configuration.
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

// Reconfigure changes the configuration at a time. The buckets must have the same names and units as before. They keep
// their credits, up to the new size, unless StartFill is set and has changed: then they are filled to it. The failures
// of the configuration start again, and those added by Fail end.
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

// apply applies everything in a configuration except buckets.
func (m *Model) apply(config Config) {
	hadCache := m.config.Cache
	m.config = config
	m.failures = nil
	for _, f := range config.Failures {
		m.failures = append(m.failures, &failure{Failure: f})
	}
	if !reflect.DeepEqual(hadCache, config.Cache) {
		// Requests in the queue of the old cache stay there until they have passed.
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

// Config returns the current configuration.
func (m *Model) Config() Config { return m.config }

// Submitted identifies a submitted request.
type Submitted struct {
	ID uint64
	// Errno is the error with which the request will be answered, for callers that must know in advance whether to carry
	// it out.
	Errno syscall.Errno
}

// Submit submits a request.
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

// Advance advances the store to a time and returns the answers since the last call, in order.
func (m *Model) Advance(now time.Duration) []Answer {
	m.advance(now.Seconds())
	collected := m.answered
	m.answered = nil
	return collected
}

// Next returns the time of the next event, unless a request or a change of the configuration comes first. It is at most
// a second ahead, when the next line of the record is due.
func (m *Model) Next() time.Duration {
	event := m.event()
	next := time.Duration(math.Ceil(event * 1e9))
	if next.Seconds() < event { // rounded down: the caller would advance too little, again and again
		next++
	}
	return next
}

// Forget removes a file from the cache, after the file was removed or truncated.
func (m *Model) Forget(file uint64) {
	if m.cache != nil {
		m.cache.forget(file)
	}
}

// Credits returns the current credits of a bucket. ok is false if there is no such bucket.
func (m *Model) Credits(name string) (credits float64, ok bool) {
	for _, b := range m.buckets {
		if b.Name == name {
			return b.credits, true
		}
	}
	return 0, false
}

// moment returns the current time as a duration, rounded to a nanosecond.
func (m *Model) moment() time.Duration { return time.Duration(math.Round(m.now * 1e9)) }

// each calls do for all buckets, including the cache's.
func (m *Model) each(do func(*bucket)) {
	for _, b := range m.buckets {
		do(b)
	}
	if m.speed != nil {
		do(m.speed)
	}
}

// busy reports whether a bucket contains requests.
func (m *Model) busy() (busy bool) {
	m.each(func(b *bucket) { busy = busy || len(b.queue) > 0 })
	return busy
}

// event returns the time of the next change.
func (m *Model) event() float64 {
	next := min(m.nextSchedule(), m.truth.boundary())
	if len(m.answers) > 0 {
		next = min(next, m.answers[0].finish)
	}
	m.each(func(b *bucket) { next = min(next, m.now+b.untilChange(b.flow())) })
	return next
}

// advance steps from change to change up to a time.
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

// step advances to a time before which nothing changes, and processes what is due at that time.
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

// settle answers requests that are due, and starts to serve waiting requests up to the queue limit.
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

// enter starts to serve a read or write: the request enters all buckets that apply to it.
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

// through schedules the answer of a request that has passed all buckets: it is due after the latency.
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

// remember updates the cache after a request.
func (m *Model) remember(r *request) {
	switch {
	case m.cache == nil:
	case r.Kind == Write && m.config.Cache.IgnoresWrites:
		m.cache.drop(r.File, r.Offset, r.Bytes)
	default:
		m.cache.keep(r.File, r.Offset, r.Bytes)
	}
}

// answers is a heap of requests by the time of the answer, then by the order of submission.
type answers []*request

func (a answers) Len() int { return len(a) }
func (a answers) Less(i, j int) bool {
	if a[i].finish != a[j].finish {
		return a[i].finish < a[j].finish
	}
	return a[i].id < a[j].id
}
func (a answers) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements container/heap.
func (a *answers) Push(x any) { *a = append(*a, x.(*request)) }

// Pop implements container/heap.
func (a *answers) Pop() any {
	last := len(*a) - 1
	r := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return r
}
