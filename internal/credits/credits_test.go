package credits_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/credits"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

func limits(baseline, burst, bucket, refill string) *v1alpha1.RateLimits {
	made := &v1alpha1.RateLimits{}
	for _, one := range []struct {
		text string
		into **resource.Quantity
	}{{baseline, &made.Baseline}, {burst, &made.Burst}, {bucket, &made.Bucket}, {refill, &made.Refill}} {
		if one.text != "" {
			quantity := resource.MustParse(one.text)
			*one.into = &quantity
		}
	}
	return made
}

func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		limits *v1alpha1.RateLimits
		want   credits.Bucket
		known  bool
	}{
		"all":              {limits("32M", "260M", "1Ti", "12Mi"), credits.Bucket{Baseline: 32e6, Burst: 260e6, Size: 1 << 40, Refill: 12 << 20}, true},
		"no refill":        {limits("100", "300", "1k", ""), credits.Bucket{Baseline: 100, Burst: 300, Size: 1000, Refill: 100}, true},
		"no burst at all":  {limits("100", "100", "1k", ""), credits.Bucket{Baseline: 100, Burst: 100, Size: 1000, Refill: 100}, true},
		"nothing":          {nil, credits.Bucket{}, false},
		"no bucket":        {limits("32M", "260M", "", ""), credits.Bucket{}, false},
		"no burst":         {limits("32M", "", "1Ti", ""), credits.Bucket{}, false},
		"no baseline":      {limits("", "260M", "1Ti", "12M"), credits.Bucket{}, false},
		"a plain baseline": {limits("32M", "", "", ""), credits.Bucket{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := credits.Of(test.limits)
			if known != test.known || known && got != test.want {
				t.Errorf("%v %v, want %v %v", got, known, test.want, test.known)
			}
		})
	}
	if got, known := credits.Of(limits("0", "10", "10", "")); known {
		t.Errorf("a baseline of zero is a bucket: %v", got)
	}
}

// hdd is FSx for Windows with 1 TiB of HDD storage. A full bucket lasts 15,420 s and refills in 87,381 s.
var hdd = credits.Bucket{Baseline: 12 << 20, Burst: 80 << 20, Size: 1 << 40, Refill: 12 << 20}

func TestKnownTimes(t *testing.T) {
	near(t, "a drain", hdd.DrainSeconds(hdd.Size), 15420, 1)
	near(t, "a refill", hdd.FillSeconds(100), 87381, 1)
	near(t, "half of it", hdd.FillSeconds(50), 87381.0/2, 1)
	near(t, "a minute of burst", hdd.Needs(60), 60*68*(1<<20), 1)
	if never := (credits.Bucket{Baseline: 5, Burst: 10, Size: 100, Refill: 10}); !math.IsInf(never.DrainSeconds(1), 1) || never.Drains() || never.Needs(9) != 0 {
		t.Error("a bucket that refills as fast as it drains must never be empty and must need no credits")
	}
}

func TestAccountOfADay(t *testing.T) {
	a := credits.Open(hdd)
	if a.Percent() != 100 || a.LeastPercent() != 0 {
		t.Errorf("at first it is between %g and %g %%", a.LeastPercent(), a.Percent())
	}
	near(t, "wait for 90 % of what nobody knows", a.SecondsTo(90), 0.9*87381, 1)
	near(t, "half a drain", a.Demand(math.Inf(1), 7710), 7710*(80<<20), 1)
	near(t, "fill then", a.Percent(), 50, 0.01)
	near(t, "the rest", a.SecondsToEmpty(math.Inf(1)), 7710, 1)
	near(t, "the rest at half of the speed", a.SecondsToEmpty(46<<20), 2*7710, 1)
	if !math.IsInf(a.SecondsToEmpty(12<<20), 1) {
		t.Error("a load below the refill empties the bucket")
	}
	near(t, "the rest and an hour", a.Demand(math.Inf(1), 7710+3600), 7710*(80<<20)+3600*(12<<20), 1e8)
	if a.Percent() != 0 || a.LeastPercent() != 0 {
		t.Errorf("after the drain it is between %g and %g %%", a.LeastPercent(), a.Percent())
	}
	a.Idle(3600)
	near(t, "after an hour", a.Percent(), 100*3600/87381.333, 0.001)
	near(t, "wait for 10 %", a.SecondsTo(10), 8738.13-3600, 0.01)
	if a.SecondsTo(1) != 0 {
		t.Error("it waits for what is there")
	}
	a.Load(20<<20, 60)
	near(t, "a load above the refill", a.Fill(), 3600*(12<<20)-60*(8<<20), 1)
	a.Idle(1e9)
	if a.Percent() != 100 || a.LeastPercent() != 100 {
		t.Errorf("full: %g %%", a.Percent())
	}
}

func TestEmptied(t *testing.T) {
	a := credits.Open(hdd)
	a.Emptied()
	if a.LeastPercent() != 0 || a.Fill() != 0 || a.SecondsToEmpty(math.Inf(1)) != 0 {
		t.Errorf("%g left", a.Fill())
	}
}

// TestKnownAfterAWhile checks that a bucket is known to be full once even an empty one would have refilled.
func TestKnownAfterAWhile(t *testing.T) {
	a := credits.Open(hdd)
	a.Demand(math.Inf(1), 7710)
	a.Idle(80000)
	if a.LeastPercent() >= 99 {
		t.Error("known to be full before an empty bucket could have refilled")
	}
	a.Idle(8000)
	if a.LeastPercent() != 100 || a.Percent() != 100 {
		t.Error("not known to be full when even an empty bucket has refilled")
	}
}

func TestWork(t *testing.T) {
	bucket := credits.Bucket{Baseline: 10, Burst: 60, Size: 200, Refill: 10}
	for _, test := range []struct {
		amount, demand, seconds, left float64
	}{
		{120, math.Inf(1), 2, 100},
		{240, math.Inf(1), 4, 0},
		{340, math.Inf(1), 14, 0},
		{40, 20, 2, 180},
		{40, 5, 8, 200},
		{0, math.Inf(1), 0, 200},
		{0, 0, 0, 200},
	} {
		a := credits.Open(bucket)
		near(t, fmt.Sprintf("seconds of %g", test.amount), a.Work(test.demand, test.amount), test.seconds, 1e-9)
		near(t, fmt.Sprintf("left after %g", test.amount), a.Fill(), test.left, 1e-9)
	}
}

// TestAgainstTheModel checks computed fill levels against a simulated store that serves requests one by one, over
// random days of unlimited load, paced load and pauses.
func TestAgainstTheModel(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 5))
		baseline := 3e5 * (1 + 9*random.Float64())
		bucket := credits.Bucket{Baseline: baseline, Refill: baseline * (0.3 + 1.2*random.Float64())}
		bucket.Burst = max(bucket.Baseline, bucket.Refill) * (1.1 + 8*random.Float64())
		bucket.Size = bucket.Burst * (2 + 30*random.Float64())
		fill := random.Float64()
		if seed%3 == 0 {
			fill = 1
		}
		store, err := model.New(model.Config{Buckets: []model.Bucket{{
			Name: "b", Counts: model.CountsBytes, BaselinePerSecond: bucket.Baseline, BurstPerSecond: bucket.Burst,
			Size: bucket.Size, RefillPerSecond: &bucket.Refill, StartFill: &fill,
		}}})
		if err != nil {
			t.Fatal(err)
		}
		a := credits.Open(bucket)
		if fill < 1 { // start both with the same fill
			a.Load(bucket.Refill+(1-fill)*bucket.Size, 1)
		}
		slack := 100 * 2 * depth * bytes / bucket.Size
		now := time.Duration(0)
		for part := range 6 {
			length := time.Duration(1+random.IntN(20)) * time.Second
			what, demand := "a pause", 0.0
			switch random.IntN(3) {
			case 0:
				what, demand = "unlimited demand", math.Inf(1)
			case 1:
				what, demand = "paced demand", bucket.Burst*random.Float64()
			}
			expected := a.Demand(demand, length.Seconds())
			through, waiting := serve(store, now, now+length, demand)
			now += length
			left, _ := store.Credits("b")
			label := fmt.Sprintf("seed %d, part %d, %s of %s", seed, part, what, length)
			near(t, label+": fill", a.Percent(), 100*left/bucket.Size, slack)
			near(t, label+": bytes", expected, through, 2*depth*bytes)
			if t.Failed() {
				t.Fatalf("bucket %+v", bucket)
			}
			// Wait until the store has completed the requests in flight.
			settled := now
			for waiting > 0 {
				settled = store.Next()
				waiting -= len(store.Advance(settled))
			}
			a.Demand(math.Inf(1), (settled - now).Seconds())
			now = settled
		}
	}
}

// bytes is the size of a request; depth is the maximum number of requests in flight.
const (
	bytes = 10000
	depth = 4
)

// serve loads a store at the given rate. It returns the bytes completed and the number of requests still in flight.
// Requests that are late because of a full queue are not made up for.
func serve(store *model.Model, from, to time.Duration, demand float64) (through float64, waiting int) {
	if math.IsInf(demand, 1) {
		for _, answer := range (model.Load{Kind: model.Write, Bytes: bytes, Depth: depth}).Run(store, from, to) {
			through += float64(answer.Bytes)
		}
		return through, depth
	}
	collect := func(at time.Duration) {
		for _, answer := range store.Advance(at) {
			through += float64(answer.Bytes)
			waiting--
		}
	}
	if demand > 0 {
		for now := from; now < to; now += time.Duration(bytes / demand * 1e9) {
			collect(now)
			if waiting < depth {
				store.Submit(now, model.Request{Kind: model.Write, Bytes: bytes})
				waiting++
			}
		}
	}
	collect(to)
	return through, waiting
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within || math.IsNaN(got) {
		t.Errorf("%s: %.6g, want %.6g", what, got, want)
	}
}

// TestBounds checks invariants under random load: a bucket is never below empty or above full, the lower bound of the
// fill never exceeds the fill, throughput never exceeds the burst rate, and no more credits are spent than bytes are
// transferred.
func TestBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		bucket := credits.Bucket{Baseline: 1 + 99*random.Float64(), Burst: 1 + 999*random.Float64(), Refill: 1 + 99*random.Float64(), Size: 1 + 1e4*random.Float64()}
		a := credits.Open(bucket)
		for range 20 {
			before, seconds := a, 100*random.Float64()
			switch random.IntN(5) {
			case 0:
				a.Idle(seconds)
			case 1:
				a.Load(500*random.Float64(), seconds)
			case 2:
				through := a.Demand(math.Inf(1), seconds)
				if most := min(bucket.Burst, max(bucket.Baseline, bucket.Burst)) * seconds; through > most*(1+1e-9) {
					t.Fatalf("%+v lets %g through in %g s", bucket, through, seconds)
				}
				if gone := before.Fill() - a.Fill(); gone > through*(1+1e-9)+1e-6 {
					t.Fatalf("%+v spends %g credits on %g", bucket, gone, through)
				}
			case 3:
				a.Demand(500*random.Float64(), seconds)
			case 4:
				amount := 1e4 * random.Float64()
				took := a.Work(math.Inf(1), amount)
				if through := before.Demand(math.Inf(1), took); math.Abs(through-amount) > 1e-6*amount+1e-6 {
					t.Fatalf("%+v: %g in %g s, which lets %g through", bucket, amount, took, through)
				}
			}
			if a.Percent() < 0 || a.Percent() > 100+1e-9 || a.LeastPercent() < 0 || a.LeastPercent() > a.Percent()+1e-9 {
				t.Fatalf("%+v: %g to %g %%", bucket, a.LeastPercent(), a.Percent())
			}
			if wait := a.SecondsTo(80); wait < 0 || wait > bucket.FillSeconds(80)+1e-9 {
				t.Fatalf("%+v waits %g s", bucket, wait)
			}
		}
	}
}
