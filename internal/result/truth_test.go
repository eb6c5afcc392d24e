package result_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// trial is a store with known limits, and a load.
type trial struct {
	bucket  model.Bucket
	clients int
	load    model.Load
}

func anyTrial(random *rand.Rand) trial {
	between := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	baseline := between(20e6, 200e6)
	refill := baseline * []float64{0.4, 1, 1, 1.6}[random.IntN(4)]
	burst := max(baseline, refill) * between(2, 10)
	return trial{
		bucket: model.Bucket{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: baseline, BurstPerSecond: burst,
			RefillPerSecond: &refill, Size: (burst - refill) * between(150, 400)},
		clients: 1 + random.IntN(4),
		load:    model.Load{Kind: model.Write, Bytes: 4 << 20, Depth: 1 + random.IntN(32)},
	}
}

// run loads the store from one time to another and waits for the operations in flight. It returns what the clients
// report, in samples of about a second, and the time at which the last operation completed.
func (one trial) run(store *model.Model, from, to time.Duration, random *rand.Rand) ([]result.Client, time.Duration) {
	answers := one.load.Run(store, from, to)
	last := to
	// Nothing is submitted any more, so these are the operations in flight.
	for range one.load.Depth {
		for _, answer := range store.Advance(store.Next()) {
			answers = append(answers, answer)
			last = answer.At
		}
	}
	clients := make([]*builders.ClientBuilder, one.clients)
	edges := make([][]time.Duration, one.clients)
	for i := range clients {
		clients[i] = builders.Client("data", i).Later(from)
		for at := from; at < last; {
			at = min(at+time.Second+time.Duration(random.Int64N(4e6)), last)
			edges[i] = append(edges[i], at)
		}
	}
	counts, at := make([]measure.Counter, one.clients), make([]int, one.clients)
	flush := func(i int) {
		start := from
		if at[i] > 0 {
			start = edges[i][at[i]-1]
		}
		clients[i].Sample(edges[i][at[i]]-start, measure.Write, counts[i], 10*ms)
		counts[i] = measure.Counter{}
		at[i]++
	}
	for turn, answer := range answers {
		i := turn % one.clients
		for at[i] < len(edges[i])-1 && answer.At > edges[i][at[i]] {
			flush(i)
		}
		counts[i].Bytes += uint64(answer.Bytes)
		counts[i].Operations++
	}
	var all []result.Client
	for i := range clients {
		for at[i] < len(edges[i]) {
			flush(i)
		}
		all = append(all, clients[i].Obj())
	}
	return all, last
}

// TestTruth checks that a drain and a redrain of a simulated store find its burst, baseline, time to baseline, credits
// spent and refill to within 1.5 %, whatever the ratio of refill to baseline.
func TestTruth(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 11))
		one := anyTrial(random)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			store, err := model.New(model.Config{Buckets: []model.Bucket{one.bucket}})
			if err != nil {
				t.Fatal(err)
			}
			lasts := one.bucket.SecondsOfBurst()
			end := time.Duration(lasts * 1.8 * 1e9)
			clients, last := one.run(store, 0, end, random)
			drain := drainStep(0)
			drain.Duration = end
			first := result.Target(drain, "data", clients, result.History{}).Burst
			if first == nil || !first.Exhausted || len(first.Bytes.Drops) != 1 {
				t.Fatalf("%+v", first)
			}
			near(t, "burst", first.Bytes.Burst, one.bucket.BurstPerSecond, 0.015)
			near(t, "baseline", first.Bytes.Baseline, one.bucket.BaselinePerSecond, 0.015)
			near(t, "time to baseline", first.NanosecondsToBaseline, lasts*1e9, 0.015)

			idle := time.Duration(one.bucket.Size * (0.3 + 0.5*random.Float64()) / one.bucket.Refill() * 1e9)
			again := last + idle
			store.Advance(again)
			back, _ := store.Credits("volume")
			burst := back / (one.bucket.BurstPerSecond - one.bucket.Refill())
			clients, _ = one.run(store, again, again+time.Duration(burst*2.5*1e9), random)
			redrain := redrainStep(0)
			redrain.Duration = time.Duration(burst * 2.5 * 1e9)
			second := result.Target(redrain, "data", clients, result.History{BucketEmpty: true,
				Earlier: []result.Span{{Start: builders.Start, End: builders.Start.Add(last), Bytes: 1}}}).Burst
			if second == nil || !second.Exhausted || second.Bytes.RefillSource != "Measured" {
				t.Fatalf("%+v", second)
			}
			near(t, "refill", second.Bytes.Refill, one.bucket.Refill(), 0.015)
			near(t, "spent again", second.Bytes.Drops[0].Spent, back, 0.015)
			// Computed with the measured refill, the first drain spent the whole bucket.
			refill := float64(second.Bytes.Refill.Value)
			known := result.Target(drain, "data", firstClients(t, one, end, seed), result.History{MeasuredRefill: &refill}).Burst
			near(t, "spent", known.Bytes.Drops[0].Spent, one.bucket.Size, 0.015)
		})
	}
}

// firstClients simulates the first drain again, on a new store.
func firstClients(t *testing.T, one trial, end time.Duration, seed uint64) []result.Client {
	t.Helper()
	store, err := model.New(model.Config{Buckets: []model.Bucket{one.bucket}})
	if err != nil {
		t.Fatal(err)
	}
	clients, _ := one.run(store, 0, end, rand.New(rand.NewPCG(seed, 12)))
	return clients
}
