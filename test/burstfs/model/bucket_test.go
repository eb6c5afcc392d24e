package model_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

const megabyte = 1e6

// facts returns a bucket of 200 MB with a burst of 60 MB/s and a baseline of 10 MB/s.
func facts() model.Bucket {
	return model.Bucket{Name: "volume", Counts: model.CountsBytes,
		BurstPerSecond: 60 * megabyte, BaselinePerSecond: 10 * megabyte, Size: 200 * megabyte}
}

func store(t testing.TB, config model.Config) *model.Model {
	t.Helper()
	m, err := model.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rate returns the rate of answers between two times, in bytes or operations per second.
func rate(answers []model.Answer, from, to time.Duration, operations bool) float64 {
	sum := 0.0
	for _, a := range answers {
		if a.At > from && a.At <= to {
			if operations {
				sum++
			} else {
				sum += float64(a.Bytes)
			}
		}
	}
	return sum / (to - from).Seconds()
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if math.Abs(got-want) > relative*math.Abs(want) {
		t.Errorf("%s: %.6g, want %.6g within %g", what, got, want, relative)
	}
}

func TestBucketBurstsThenSettles(t *testing.T) {
	for _, test := range []struct {
		name   string
		refill *float64
		burst  time.Duration
	}{
		{"refill is the baseline", nil, 4 * time.Second},
		{"refill below", model.Pointer(4 * megabyte), 3571428571},
		{"no refill", model.Pointer(0), 3333333333},
		{"refill above", model.Pointer(20 * megabyte), 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := facts()
			b.RefillPerSecond = test.refill
			m := store(t, model.Config{Buckets: []model.Bucket{b}})
			load := model.Load{Kind: model.Write, Bytes: 40000, Depth: 8}
			answers := load.Run(m, 0, 60*time.Second)
			near(t, "seconds of burst", b.SecondsOfBurst(), test.burst.Seconds(), 1e-6)
			near(t, "burst", rate(answers, 0, test.burst-time.Millisecond, false), 60*megabyte, 1e-3)
			near(t, "baseline", rate(answers, test.burst, 60*time.Second, false), 10*megabyte, 1e-4)
			if credits, _ := m.Credits("volume"); credits != 0 {
				t.Errorf("%g credits are left under steady demand", credits)
			}
		})
	}
}

func TestCreditsComeBackAtTheRefillRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := anyBucket(t, model.CountsBytes)
		m, err := model.New(model.Config{Buckets: []model.Bucket{b}})
		if err != nil {
			t.Fatal(err)
		}
		drained := time.Duration(b.SecondsOfBurst()*1.1*1e9) + time.Second
		load := model.Load{Kind: model.Write, Bytes: int64(b.BurstPerSecond*b.SecondsOfBurst()/500) + 1, Depth: 4}
		load.Run(m, 0, drained)
		// Wait until the requests in flight have passed, which takes at most Depth times as long as one.
		idle := drained + time.Second + time.Duration(float64(4*load.Bytes)/b.BaselinePerSecond*1e9)
		m.Advance(idle)
		before, _ := m.Credits(b.Name)
		wait := time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "wait"))
		m.Advance(idle + wait)
		after, _ := m.Credits(b.Name)
		if want := min(b.Size, before+b.Refill()*wait.Seconds()); math.Abs(after-want) > 1e-6*b.Size {
			t.Fatalf("%g credits after %s, want %g", after, wait, want)
		}
	})
}

// anyBucket returns an arbitrary bucket whose burst exceeds its baseline.
func anyBucket(t *rapid.T, counts model.Counts) model.Bucket {
	baseline := rapid.Float64Range(10, 1e8).Draw(t, "baseline")
	refill := baseline * rapid.SampledFrom([]float64{0, 0.2, 1, 1, 1.5}).Draw(t, "refill of baseline")
	burst := max(baseline, refill) * rapid.Float64Range(1.03, 20).Draw(t, "burst of baseline")
	return model.Bucket{
		Name: "volume", Counts: counts, BaselinePerSecond: baseline, BurstPerSecond: burst,
		RefillPerSecond: &refill, Size: burst * rapid.Float64Range(0.1, 100).Draw(t, "seconds in the bucket"),
		StartFill: model.Pointer(rapid.Float64Range(0, 1).Draw(t, "fill")),
	}
}

// TestNothingMoreThanTheBucketHolds checks that, for any requests, no interval passes more than the burst rate allows,
// nor more than the credits at its start and the income since then.
func TestNothingMoreThanTheBucketHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := anyBucket(t, model.CountsBytes)
		m, err := model.New(model.Config{Buckets: []model.Bucket{b}})
		if err != nil {
			t.Fatal(err)
		}
		type point struct{ at, through, credits float64 }
		points := []point{{0, 0, b.Start()}}
		largest, through := 0.0, 0.0
		note := func(now time.Duration) {
			for _, a := range m.Advance(now) {
				through += float64(a.Bytes)
			}
			credits, _ := m.Credits(b.Name)
			points = append(points, point{now.Seconds(), through, credits})
		}
		now := time.Duration(0)
		for range rapid.IntRange(10, 60).Draw(t, "requests") {
			bytes := int64(rapid.Float64Range(0, b.BurstPerSecond).Draw(t, "bytes"))
			largest = max(largest, float64(bytes))
			m.Submit(now, model.Request{Kind: model.Write, Bytes: bytes})
			pause := time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause"))
			for until := now + pause; ; {
				next := m.Next()
				if next > until {
					now = until
					note(now)
					break
				}
				now = next
				note(now)
			}
		}
		for i, start := range points {
			for _, end := range points[i+1:] {
				seconds, got := end.at-start.at, end.through-start.through
				// A request that completes within the interval may have started before it.
				if most := b.BurstPerSecond*seconds + largest; got > most*(1+1e-9)+1 {
					t.Fatalf("%g from %g to %g s, the burst rate allows %g", got, start.at, end.at, most)
				}
				income := max(b.Refill(), b.BaselinePerSecond) * seconds
				if most := start.credits + income + largest; got > most*(1+1e-9)+1 {
					t.Fatalf("%g from %g to %g s, credits and income allow %g", got, start.at, end.at, most)
				}
			}
		}
	})
}

// TestSettlesAtTheBaselineExactly checks that an empty bucket under steady demand passes its baseline, up to rounding,
// whatever its refill.
func TestSettlesAtTheBaselineExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := anyBucket(t, rapid.SampledFrom([]model.Counts{model.CountsBytes, model.CountsOperations}).Draw(t, "counts"))
		b.StartFill = model.Pointer(0)
		m, err := model.New(model.Config{Buckets: []model.Bucket{b}})
		if err != nil {
			t.Fatal(err)
		}
		load := model.Load{Kind: model.Read, Bytes: int64(b.BaselinePerSecond/20) + 1, Depth: rapid.IntRange(2, 40).Draw(t, "depth")}
		const requests = 1000
		answers := load.Run(m, 0, time.Duration(requests*b.Amount(load.Bytes)/b.BaselinePerSecond*1e9))
		first, last := answers[0], answers[len(answers)-1]
		took := (last.At - first.At).Seconds()
		want := b.Amount(load.Bytes) * float64(len(answers)-1) / b.BaselinePerSecond
		if math.Abs(took-want) > 2e-9+1e-9*want { // answer times are rounded to a nanosecond
			t.Fatalf("%d requests took %.12g s, at the baseline %.12g", len(answers)-1, took, want)
		}
	})
}

func TestLeastOfSeveralBuckets(t *testing.T) {
	network := model.Bucket{Name: "network", Counts: model.CountsBytes, BaselinePerSecond: 8 * megabyte,
		BurstPerSecond: 150 * megabyte, Size: 1000 * megabyte}
	disk := facts()
	operations := model.Bucket{Name: "operations", Counts: model.CountsOperations, BaselinePerSecond: 1000}
	m := store(t, model.Config{Buckets: []model.Bucket{network, disk, operations}})
	large := model.Load{Kind: model.Write, Bytes: 1e5, Depth: 32}
	answers := large.Run(m, 0, 60*time.Second)
	// The disk's credits last 4 s. After that, the network spends only 2 MB/s of its remaining 792 MB.
	near(t, "disk bursts", rate(answers, 0, 3900*time.Millisecond, false), 60*megabyte, 1e-2)
	near(t, "disk's baseline", rate(answers, 5*time.Second, 60*time.Second, false), 10*megabyte, 1e-3)
	credits, _ := m.Credits("network")
	near(t, "credits of the network", credits, (1000-4*52-56*2)*megabyte, 1e-2)

	m = store(t, model.Config{Buckets: []model.Bucket{network, disk, operations}})
	small := model.Load{Kind: model.Write, Bytes: 4096, Depth: 32}
	near(t, "operations", rate(small.Run(m, 0, 10*time.Second), 0, 10*time.Second, true), 1000, 1e-2)
}

func TestOperationsOfLargeRequests(t *testing.T) {
	b := model.Bucket{Counts: model.CountsOperations, OperationBytes: 256 << 10}
	for bytes, want := range map[int64]float64{0: 1, 1: 1, 256 << 10: 1, 256<<10 + 1: 2, 1 << 20: 4} {
		if got := b.Amount(bytes); got != want {
			t.Errorf("%d bytes: %g operations, want %g", bytes, got, want)
		}
	}
}

func TestCompression(t *testing.T) {
	b := model.Bucket{Name: "disk", Counts: model.CountsBytes, BaselinePerSecond: 10 * megabyte, CompressionRatio: 3.75}
	m := store(t, model.Config{Buckets: []model.Bucket{b}})
	load := model.Load{Kind: model.Write, Bytes: 1e5, Depth: 4}
	near(t, "rate", rate(load.Run(m, 0, 10*time.Second), 0, 10*time.Second, false), 37.5*megabyte, 1e-2)
}
