package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// Store is the storage of a target: a model of test/burstfs that all loads on the target share.
//
// Twelve hours at 12 GB/s are half a billion requests of 1 MiB. So a store can combine several blocks of a load into
// one request. Its buckets of operations count such a request as one, and their limits are reduced by the same factor.
type Store struct {
	// Blocks is the number of blocks of a load that form one request.
	Blocks int64
	config model.Config
	start  time.Time

	mu    sync.Mutex
	model *model.Model
	asked map[uint64]request
	// open lists the running open loops.
	open []*flow
	// answered lists all answers in order.
	answered []answered
}

// answered is an answered request.
type answered struct {
	at        time.Duration
	operation measure.Operation
	bytes     uint64
}

// Between returns exactly what was answered after from, up to and including to.
func (s *Store) Between(from, to time.Time) (sum [measure.NumOperations]measure.Counter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	for _, one := range s.answered {
		if at := s.start.Add(one.at); at.After(from) && !at.After(to) {
			sum[one.operation].Bytes += one.bytes
			sum[one.operation].Operations += uint64(s.Blocks)
		}
	}
	return sum
}

// request is an outstanding request.
type request struct {
	of        *flow
	operation measure.Operation
	at        time.Duration
	// job is the job of an open loop to which the request belongs.
	job int
}

// NewStore returns a store whose time begins now.
func NewStore(config model.Config, blocks int64) (*Store, error) {
	scaled := config
	scaled.Buckets = nil
	for _, bucket := range config.Buckets {
		if bucket.Counts == model.CountsOperations {
			each := float64(blocks)
			refill := bucket.Refill() / each
			bucket.BaselinePerSecond /= each
			bucket.BurstPerSecond /= each
			bucket.Size /= each
			bucket.RefillPerSecond = &refill
			bucket.OperationBytes *= blocks
		}
		scaled.Buckets = append(scaled.Buckets, bucket)
	}
	made, err := model.New(scaled)
	if err != nil {
		return nil, err
	}
	return &Store{Blocks: blocks, config: config, start: time.Now(), model: made, asked: map[uint64]request{}}, nil
}

// Record returns the store's record. Its operations are blocks of the loads.
func (s *Store) Record() truth.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	record := truth.Record{Start: s.start, Seconds: s.model.Truth(0)}
	for i := range record.Seconds {
		second := &record.Seconds[i]
		for _, counts := range []*model.Answered{&second.Answered, &second.BeforePause} {
			counts.ReadOperations *= s.Blocks
			counts.WriteOperations *= s.Blocks
		}
		for j, bucket := range s.config.Buckets {
			if bucket.Counts == model.CountsOperations {
				second.Credits[j] *= float64(s.Blocks)
			}
		}
	}
	for _, bucket := range s.config.Buckets {
		record.Buckets = append(record.Buckets, bucket.Name)
	}
	return record
}

// Config returns the configuration with which the store was created.
func (s *Store) Config() model.Config { return s.config }

// demand describes the load of a fio process, a rank or a command.
type demand struct {
	// readPercent is the percentage of reads. The other operations are writes.
	readPercent int
	blockBytes  int64
	// depth is the number of outstanding blocks.
	depth int64
	// work is the number of bytes after which the load ends. It is 0 for a load that ends at a set time.
	work int64
	// open makes the load an open loop. It is nil for a closed loop.
	open *openLoop
}

// flow is a running load on a store. Only the store changes it.
type flow struct {
	demand
	store *Store
	// requests is the number of outstanding requests. latency is the ratio of a block's latency to a request's, by
	// Little's law.
	requests int64
	latency  float64

	over        bool
	turn        int
	submitted   int64 // bytes
	outstanding int
	lastDone    time.Duration
	// done and sum count what was answered since the last take.
	done [measure.NumOperations]measure.Latency
	sum  [measure.NumOperations]uint64
	// moved counts everything that was answered.
	moved [measure.NumOperations]measure.Counter
}

func (s *Store) begin(d demand) *flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.advance()
	f := &flow{demand: d, store: s, requests: max(1, d.depth/s.Blocks)}
	if s.Blocks > 1 {
		f.requests = max(2, f.requests)
	}
	f.latency = float64(d.depth) / float64(f.requests*s.Blocks)
	if d.open != nil {
		f.latency = 1
		d.open.begin(now)
		s.open = append(s.open, f)
		return f
	}
	for range f.requests {
		f.submit(now)
	}
	return f
}

// advance advances the model to the current time. Closed loops submit a new request for each answer. The caller must
// hold mu.
func (s *Store) advance() time.Duration {
	now := time.Since(s.start)
	for {
		next := s.model.Next()
		arrives := s.arrival()
		if next > now && (arrives == nil || arrives.open.next > now) {
			break
		}
		if arrives != nil && arrives.open.next < next {
			next = arrives.open.next
		}
		s.answer(s.model.Advance(next), next)
		if arrives != nil && arrives.open.next == next {
			arrives.arrive(next)
		}
	}
	s.answer(s.model.Advance(now), now)
	return now
}

func (s *Store) answer(answers []model.Answer, now time.Duration) {
	for _, answer := range answers {
		asked := s.asked[answer.ID]
		delete(s.asked, answer.ID)
		f := asked.of
		f.outstanding--
		f.lastDone = answer.At
		latency := uint64(float64(answer.At-asked.at) * f.latency)
		f.done[asked.operation].AddNanoseconds(latency, uint64(s.Blocks))
		f.sum[asked.operation] += uint64(answer.Bytes)
		f.moved[asked.operation].Bytes += uint64(answer.Bytes)
		f.moved[asked.operation].Operations += uint64(s.Blocks)
		s.answered = append(s.answered, answered{at: answer.At, operation: asked.operation, bytes: uint64(answer.Bytes)})
		if f.open != nil {
			f.freed(asked.job, now)
		} else {
			f.submit(now)
		}
	}
}

// submit submits a request, unless the load has ended. The caller must hold the store's mu.
func (f *flow) submit(now time.Duration) {
	if f.over || f.work > 0 && f.submitted >= f.work {
		return
	}
	f.ask(now, 0)
}

func (f *flow) ask(now time.Duration, job int) {
	bytes := f.blockBytes * f.store.Blocks
	operation, kind := measure.Write, model.Write
	// Mix reads and writes evenly, as fio does over time.
	if f.turn += f.readPercent; f.turn >= 100 {
		f.turn -= 100
		operation, kind = measure.Read, model.Read
	}
	asked := f.store.model.Submit(now, model.Request{Kind: kind, File: 1, Offset: f.submitted, Bytes: bytes})
	f.store.asked[asked.ID] = request{of: f, operation: operation, at: now, job: job}
	f.submitted += bytes
	f.outstanding++
}

// stop ends the load: no further requests are submitted, but outstanding ones are still answered.
func (f *flow) stop() {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.advance()
	f.over = true
	f.store.open = slices.DeleteFunc(f.store.open, func(other *flow) bool { return other == f })
}

// progress is the current state of a load.
type progress struct {
	// ended is true if no request is outstanding. last is the time of the last answer.
	ended bool
	last  time.Time
	// next is the earliest time at which the state may change.
	next time.Time
}

func (f *flow) look() progress {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.advance()
	return progress{
		ended: f.outstanding == 0,
		last:  f.store.start.Add(f.lastDone),
		next:  f.store.start.Add(f.store.model.Next()),
	}
}

// take returns what was answered since the last take.
func (f *flow) take() (done [measure.NumOperations]measure.Latency, bytes [measure.NumOperations]uint64) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.advance()
	done, bytes = f.done, f.sum
	f.done, f.sum = [measure.NumOperations]measure.Latency{}, [measure.NumOperations]uint64{}
	return done, bytes
}
