package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// Store is the storage of a target: the model of test/burstfs, which all loads on the target share.
//
// Twelve hours at 12 GB/s are half a billion requests of 1 MiB. So a store may take several blocks of a load as one
// request; its buckets of operations count that one as one, and have limits that are so much smaller.
type Store struct {
	// Blocks of a load are one request.
	Blocks int64
	config model.Config
	start  time.Time

	mu    sync.Mutex
	model *model.Model
	asked map[uint64]request
	// open are the open loops at work.
	open []*flow
	// answered are all answers, in order.
	answered []answered
}

// answered is one request that was answered.
type answered struct {
	at        time.Duration
	operation measure.Operation
	bytes     uint64
}

// Between is what was answered after an instant and up to another, exactly.
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

// request is one that is under way.
type request struct {
	of        *flow
	operation measure.Operation
	at        time.Duration
	// job is that of an open loop.
	job int
}

// NewStore makes a store whose time begins now.
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

// Record is what the store did, in the blocks of the loads.
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

// Config is what the store was made of.
func (s *Store) Config() model.Config { return s.config }

// demand is what a fio, a rank or a command asks of a store.
type demand struct {
	// reads of a hundred operations; the others write.
	readPercent int
	blockBytes  int64
	// depth is how many blocks are under way at once.
	depth int64
	// work is the bytes after which it ends; 0 for a load that ends by time.
	work int64
	// open makes it an open loop; nil for a load that asks again as soon as it is answered.
	open *openLoop
}

// flow is a demand at work on a store. It is the store's to change.
type flow struct {
	demand
	store *Store
	// requests are under way at once; latency is what share of a request's time one block takes, by Little's law.
	requests int64
	latency  float64

	over        bool
	turn        int
	submitted   int64 // bytes
	outstanding int
	lastDone    time.Duration
	// done since the last take.
	done [measure.NumOperations]measure.Latency
	sum  [measure.NumOperations]uint64
	// moved is all that was done.
	moved [measure.NumOperations]measure.Counter
}

// begin starts a load now.
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

// advance moves the model on to the present, with each load asking again as soon as it is answered.
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

// submit asks for one more request, if the load still wants one. Callers hold the store's mu.
func (f *flow) submit(now time.Duration) {
	if f.over || f.work > 0 && f.submitted >= f.work {
		return
	}
	f.ask(now, 0)
}

// ask hands a request in.
func (f *flow) ask(now time.Duration, job int) {
	bytes := f.blockBytes * f.store.Blocks
	operation, kind := measure.Write, model.Write
	// Evenly mixed, as fio does over time.
	if f.turn += f.readPercent; f.turn >= 100 {
		f.turn -= 100
		operation, kind = measure.Read, model.Read
	}
	asked := f.store.model.Submit(now, model.Request{Kind: kind, File: 1, Offset: f.submitted, Bytes: bytes})
	f.store.asked[asked.ID] = request{of: f, operation: operation, at: now, job: job}
	f.submitted += bytes
	f.outstanding++
}

// stop ends the load: nothing more is asked for, what is under way comes back.
func (f *flow) stop() {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.advance()
	f.over = true
	f.store.open = slices.DeleteFunc(f.store.open, func(other *flow) bool { return other == f })
}

// progress is a look at a load.
type progress struct {
	// ended says that nothing is under way and nothing more will be, and last when the last answer came.
	ended bool
	last  time.Time
	// next is when something may happen.
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

// take gives what was done until now and was not taken before.
func (f *flow) take() (done [measure.NumOperations]measure.Latency, bytes [measure.NumOperations]uint64) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.advance()
	done, bytes = f.done, f.sum
	f.done, f.sum = [measure.NumOperations]measure.Latency{}, [measure.NumOperations]uint64{}
	return done, bytes
}
