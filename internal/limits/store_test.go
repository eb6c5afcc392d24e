package limits

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// The store of this file is the model that the tests of whole runs mount. Requests wait in its buckets one by one, and
// the measured figures result from that. The real limits differ from the documented ones by some percent.

// queueing is a store and a load on it.
type queueing struct {
	config   model.Config
	load     model.Load
	computed Computed
	latency  time.Duration
	cached   bool
}

func newQueueing(random *rand.Rand) queueing {
	between := func(low, high float64) float64 { return low * math.Pow(high/low, random.Float64()) }
	q := queueing{load: model.Load{Kind: []model.Kind{model.Read, model.Write}[random.IntN(2)], Bytes: 1 << (14 + 2*random.IntN(3)), Depth: int(between(1, 64))},
		latency: time.Duration(between(1e6, 3e7))}
	q.config.Latency.Fixed = q.latency
	block := float64(q.load.Bytes)
	add := func(name string, layer Layer, dimension Dimension, operations float64, bursts bool) {
		limit := Limit{Name: name, Layer: layer, Dimension: dimension, Units: 1, CachedReadsPass: layer == LayerDisk, Baseline: operations}
		bucket := model.Bucket{Name: name, Counts: model.CountsOperations, ServesCache: layer != LayerDisk}
		if dimension == Bytes {
			limit.Baseline, bucket.Counts = operations*block, model.CountsBytes
		}
		honest := 0.96 + 0.06*random.Float64()
		bucket.BaselinePerSecond = limit.Baseline * honest
		if bursts {
			limit.Burst = limit.Baseline * between(2, 8)
			limit.Bucket, limit.Refill = limit.Burst*1000, limit.Baseline
			fill := float64(random.IntN(2))
			bucket.BurstPerSecond, bucket.Size, bucket.StartFill = limit.Burst*honest, limit.Bucket, &fill
		}
		q.computed.Limits = append(q.computed.Limits, limit)
		q.config.Buckets = append(q.config.Buckets, bucket)
	}
	add("disk throughput", LayerDisk, Bytes, between(60, 2000), random.IntN(2) == 0)
	add("disk operations", LayerDisk, Operations, between(60, 2000), random.IntN(2) == 0)
	add("server network", LayerNetwork, Bytes, between(120, 2500), random.IntN(3) == 0)
	add("instance network", LayerInstance, Bytes, between(120, 2500), false)
	add("one flow", LayerFlow, Bytes, between(120, 2500), false)
	if q.load.Kind == model.Read && random.IntN(2) == 0 {
		q.cached = true
		q.load.FileBytes = 40 * q.load.Bytes
		q.config.Cache = &model.Cache{Bytes: 8 * q.load.FileBytes, BytesPerSecond: between(800, 4000) * block, Latency: q.latency}
		q.computed.Cache = Cache{Bytes: float64(q.config.Cache.Bytes)}
	}
	return q
}

// run returns the operations per second at a queue depth, and the final state of the store.
func (q queueing) run(t *testing.T, depth int) (float64, *model.Model) {
	t.Helper()
	store, err := model.New(q.config)
	if err != nil {
		t.Fatal(err)
	}
	load := q.load
	load.Depth = depth
	begin := time.Duration(0)
	if q.cached { // fill the cache
		warm := load
		warm.Depth, begin = 1, 4*time.Second
		warm.Run(store, 0, 3*time.Second)
		store.Advance(begin) // no operation is in flight anymore
	}
	answers := load.Run(store, begin, begin+9*time.Second)
	// Within some seconds, a bucket spends what it gained before the load.
	settled := slices.DeleteFunc(answers, func(a model.Answer) bool { return a.At < begin+5*time.Second })
	last := len(settled) - 1
	return float64(last) / (settled[last].At - settled[0].At).Seconds(), store
}

// truth returns the cause of the store's lowest limit. If a much deeper queue yields a higher rate, it is the queue
// depth.
func (q queueing) truth(t *testing.T, rate float64) Cause {
	t.Helper()
	if most, _ := q.run(t, q.load.Depth+100); most >= gained*rate {
		return CauseQueueDepth
	}
	cause, least := CauseUnknown, math.Inf(1)
	lower := func(operations float64, by Cause) {
		if operations < least {
			cause, least = by, operations
		}
	}
	for index, bucket := range q.config.Buckets {
		limit := q.computed.Limits[index]
		if q.cached && limit.CachedReadsPass {
			continue
		}
		rate, by := bucket.BaselinePerSecond, causes[limit.Layer]
		if limit.Burst > 0 {
			if by = CauseCredits; *bucket.StartFill > 0 {
				rate, by = bucket.BurstPerSecond, causes[limit.Layer]
			}
		}
		if limit.Dimension == Bytes {
			rate /= float64(q.load.Bytes)
		}
		lower(rate, by)
	}
	if q.cached {
		lower(q.config.Cache.BytesPerSecond/float64(q.load.Bytes), CauseServerCache)
	}
	return cause
}

// TestStoreThatQueues checks the attribution with 60 stores whose rates and latencies result from waiting requests.
func TestStoreThatQueues(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 2026))
	all, table := tally{}, map[Cause]*tally{}
	for range 60 {
		q := newQueueing(random)
		rate, store := q.run(t, q.load.Depth)
		floor, _ := q.run(t, 1)
		deeper, _ := q.run(t, 2*q.load.Depth)
		measured := Measured{Load: Load{BlockBytes: float64(q.load.Bytes), Operation: map[model.Kind]Operation{model.Read: Read, model.Write: Write}[q.load.Kind]},
			Rate: Rate{BytesPerSecond: rate * float64(q.load.Bytes), OperationsPerSecond: rate}, LatencySeconds: float64(q.load.Depth) / rate, Outstanding: float64(q.load.Depth),
			FloorSeconds: 1 / floor, DeeperGain: deeper / rate, WorkingSetBytes: float64(q.load.FileBytes), Credits: map[string]Fill{}}
		for _, limit := range q.computed.Limits {
			if left, known := store.Credits(limit.Name); known && limit.Bucket > 0 {
				percent := 100 * left / limit.Bucket
				measured.Credits[limit.Name] = Fill{Most: percent, Least: percent}
			}
		}
		got, truth := q.computed.Attribute(measured), q.truth(t, rate)
		if table[truth] == nil {
			table[truth] = &tally{}
		}
		table[truth].count(got, truth)
		all.count(got, truth)
		if !slices.ContainsFunc(got.Suspects, func(s Suspect) bool { return s.Cause == truth }) {
			t.Logf("%s is not in the set: %s first, %q", truth, got.Suspects[0].Cause, got.Suspects[0].Evidence)
		}
	}
	for cause, of := range table {
		t.Logf("%-12s %+v", cause, *of)
	}
	t.Logf("in set %.1f %%, first %.1f %%, tied %.1f %%, %.2f causes in a set", all.percent(all.inSet), all.percent(all.first), all.percent(all.tied), all.percent(all.causes)/100)
	if all.percent(all.inSet) < 95 || all.percent(all.first) < 85 || all.percent(all.causes) > 200 {
		t.Error("that is less than 95 % and 85 %, or more than two causes")
	}
}
