package model_test

import (
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

func TestLatencyAndFloor(t *testing.T) {
	for _, test := range []struct {
		name    string
		latency model.Latency
		depth   int
		want    float64 // operations per second
	}{
		{"fixed", model.Latency{Fixed: 2 * time.Millisecond}, 1, 500},
		{"floor above fixed", model.Latency{Fixed: time.Millisecond, Floor: 4 * time.Millisecond}, 1, 250},
		{"a deep queue hides it", model.Latency{Floor: 4 * time.Millisecond}, 8, 2000},
		{"jitter is half of its bound on average", model.Latency{Fixed: time.Millisecond, Jitter: 2 * time.Millisecond}, 1, 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := store(t, model.Config{Latency: test.latency, Seed: 7})
			load := model.Load{Kind: model.Read, Bytes: 4096, Depth: test.depth}
			near(t, "operations", rate(load.Run(m, 0, 20*time.Second), 0, 20*time.Second, true), test.want, 0.02)
		})
	}
}

func TestQueueLimit(t *testing.T) {
	m := store(t, model.Config{QueueLimit: 2, Latency: model.Latency{Fixed: 7 * time.Millisecond}})
	load := model.Load{Kind: model.Write, Bytes: 4096, Depth: 16}
	near(t, "operations", rate(load.Run(m, 0, 10*time.Second), 0, 10*time.Second, true), 2/0.007, 0.01)
	last := m.Truth(0)[8]
	if last.InFlight != 16 || last.Waiting != 14 || last.InFlightBytes != 16*4096 {
		t.Errorf("in flight %d with %d bytes, waiting %d", last.InFlight, last.InFlightBytes, last.Waiting)
	}
}

func TestCacheServesWhatItHolds(t *testing.T) {
	disk := model.Bucket{Name: "disk", Counts: model.CountsBytes, BaselinePerSecond: 10 * megabyte}
	network := model.Bucket{Name: "network", Counts: model.CountsBytes, BaselinePerSecond: 50 * megabyte, ServesCache: true}
	config := model.Config{
		Buckets: []model.Bucket{disk, network},
		Cache:   &model.Cache{Bytes: 64 << 20, BytesPerSecond: 100 * megabyte},
	}
	read := func(config model.Config, file int64) float64 {
		m := store(t, config)
		load := model.Load{Kind: model.Read, Bytes: 1 << 20, Depth: 4, FileBytes: file}
		return rate(load.Run(m, 0, 60*time.Second), 20*time.Second, 60*time.Second, false)
	}
	near(t, "a file that fits, through the network", read(config, 32<<20), 50*megabyte, 0.01)
	config.Buckets[1].BaselinePerSecond = 500 * megabyte
	near(t, "a file that fits, at the cache's speed", read(config, 32<<20), 100*megabyte, 0.01)
	near(t, "a larger file, round and round", read(config, 80<<20), 10*megabyte, 0.01)

	m := store(t, config)
	one := func(kind model.Kind, now time.Duration) bool {
		m.Submit(now, model.Request{Kind: kind, File: 5, Bytes: 1 << 20})
		return m.Advance(now + time.Second)[0].Cached
	}
	if one(model.Read, 0) || !one(model.Read, time.Second) {
		t.Error("the second read alone is cached")
	}
	m.Forget(5)
	if one(model.Write, 2*time.Second) || !one(model.Read, 3*time.Second) {
		t.Error("a write enters the cache and is not cached itself")
	}
}

func TestTenantTakesItsShare(t *testing.T) {
	config := model.Config{
		Buckets: []model.Bucket{facts()},
		Tenants: []model.Tenant{{Name: "neighbour", Share: 0.5, Buckets: []string{"volume"},
			Schedule: model.Schedule{At: 10 * time.Second, For: 5 * time.Second, Every: 20 * time.Second}}},
	}
	m := store(t, config)
	load := model.Load{Kind: model.Write, Bytes: 10000, Depth: 4}
	answers := load.Run(m, 0, 60*time.Second)
	near(t, "alone", rate(answers, 5*time.Second, 10*time.Second, false), 10*megabyte, 1e-2)
	near(t, "with it", rate(answers, 10*time.Second, 15*time.Second, false), 5*megabyte, 1e-2)
	near(t, "alone again", rate(answers, 15*time.Second, 30*time.Second, false), 10*megabyte, 1e-2)
	near(t, "with it again", rate(answers, 30*time.Second, 35*time.Second, false), 5*megabyte, 1e-2)
	for _, s := range m.Truth(0) {
		want := 0.0
		if s.Index >= 10 && (s.Index-10)%20 < 5 {
			want = 0.5
		}
		if s.TenantShare < want-1e-9 || s.TenantShare > want+1e-9 {
			t.Errorf("second %d: share %g, want %g", s.Index, s.TenantShare, want)
		}
	}

	// Without other load, the tenant spends half of the burst rate, while credits come back at the refill rate.
	config.Tenants[0].Schedule = model.Schedule{}
	for spares, want := range map[bool]float64{false: 100 * megabyte, true: 200 * megabyte} {
		config.Tenants[0].SparesCredits = spares
		m = store(t, config)
		m.Advance(5 * time.Second)
		credits, _ := m.Credits("volume")
		near(t, "credits", credits, want, 1e-9)
	}
}

func TestTenantMayStopTheStore(t *testing.T) {
	m := store(t, model.Config{
		Buckets: []model.Bucket{facts()},
		Tenants: []model.Tenant{{Share: 1, SparesCredits: true, Schedule: model.Schedule{At: time.Second, For: 5 * time.Second}}},
	})
	load := model.Load{Kind: model.Write, Bytes: 10000, Depth: 4}
	answers := load.Run(m, 0, 8*time.Second)
	if got := rate(answers, time.Second, 6*time.Second, false); got != 0 {
		t.Errorf("%g bytes per second pass while the tenant takes everything", got)
	}
	near(t, "after it", rate(answers, 6*time.Second, 8*time.Second, false), 60*megabyte, 1e-2)
}

func TestFailures(t *testing.T) {
	m := store(t, model.Config{
		Buckets: []model.Bucket{facts()},
		Latency: model.Latency{Fixed: time.Millisecond},
		Failures: []model.Failure{
			{Error: model.FailureEIO, Path: "job.*", Kinds: []model.Kind{model.Write}, Count: 2},
			{Error: model.FailureEROFS, Schedule: model.Schedule{At: 10 * time.Second, For: time.Second}},
		},
	})
	now := time.Duration(0)
	ask := func(kind model.Kind, name string) (syscall.Errno, time.Duration) {
		t.Helper()
		asked := now
		m.Submit(now, model.Request{Kind: kind, Name: name, Bytes: 60000})
		for {
			now = m.Next()
			if answers := m.Advance(now); len(answers) > 0 {
				return answers[0].Errno, answers[0].At - asked
			}
		}
	}
	expect := func(kind model.Kind, name string, want syscall.Errno, least, most time.Duration) {
		t.Helper()
		if errno, took := ask(kind, name); errno != want || took < least || took > most {
			t.Errorf("%s of %s: %v after %s, want %v after %s to %s", kind, name, errno, took, want, least, most)
		}
	}
	soon := 3 * time.Millisecond
	expect(model.Read, "job.1", 0, 2*time.Millisecond, soon)
	expect(model.Write, "other", 0, 2*time.Millisecond, soon)
	expect(model.Write, "dir/job.1", syscall.EIO, time.Millisecond, time.Millisecond)
	expect(model.Write, "job.2", syscall.EIO, time.Millisecond, time.Millisecond)
	expect(model.Write, "job.2", 0, 2*time.Millisecond, soon)

	m.Fail(now, model.Failure{Error: model.FailureStall, Stall: 5 * time.Second, Path: "job.2", Count: 1})
	expect(model.Write, "job.2", 0, 5*time.Second, 5*time.Second)
	expect(model.Write, "job.2", 0, 2*time.Millisecond, soon)

	if errno := m.Metadata(now, model.Create, "x"); errno != 0 {
		t.Errorf("create: %v", errno)
	}
	m.Advance(10 * time.Second)
	now = 10 * time.Second
	for kind, want := range map[model.Kind]syscall.Errno{model.Create: syscall.EROFS, model.Change: syscall.EROFS} {
		if errno := m.Metadata(now, kind, "x"); errno != want {
			t.Errorf("%s of a read-only store: %v", kind, errno)
		}
	}
	expect(model.Write, "x", syscall.EROFS, time.Millisecond, time.Millisecond)
	expect(model.Read, "x", 0, 2*time.Millisecond, soon)
	m.Heal(now)
	expect(model.Write, "x", 0, 2*time.Millisecond, soon)
}

func TestTruthIsWhatWasAnswered(t *testing.T) {
	m := store(t, model.Config{Buckets: []model.Bucket{facts()}, Latency: model.Latency{Jitter: 4 * time.Millisecond}})
	write := model.Load{Kind: model.Write, Bytes: 100000, Depth: 7}
	answers := write.Run(m, 0, 9500*time.Millisecond)
	seconds := m.Truth(0)
	if len(seconds) != 9 {
		t.Fatalf("%d seconds", len(seconds))
	}
	for _, s := range seconds {
		from := time.Duration(s.Index) * time.Second
		if got, want := float64(s.WriteBytes), rate(answers, from, from+time.Second, false); got != want {
			t.Errorf("second %d: %g bytes, answered %g", s.Index, got, want)
		}
		if math.Abs(s.Busy-1) > 1e-9 {
			t.Errorf("second %d: busy for %g of it", s.Index, s.Busy)
		}
		if s.InFlight != 7 || s.ReadOperations+s.SyncOperations+s.Errors != 0 || s.WriteOperations*100000 != s.WriteBytes {
			t.Errorf("%+v", s)
		}
	}
	m.Advance(12 * time.Second)
	if idle := m.Truth(11)[0]; idle.Busy != 0 || idle.InFlight != 0 {
		t.Errorf("without demand: %+v", idle)
	}
	if rest := m.Truth(11); len(rest) != 1 || rest[0].Index != 11 || m.Truth(12) != nil {
		t.Errorf("the rest is %+v", rest)
	}
}

func TestReconfigure(t *testing.T) {
	config := model.Config{Buckets: []model.Bucket{facts()}}
	m := store(t, config)
	load := model.Load{Kind: model.Write, Bytes: 10000, Depth: 1}
	load.Run(m, 0, 2*time.Second) // spends half of the credits

	faster := facts()
	faster.BaselinePerSecond, faster.RefillPerSecond = 30*megabyte, model.Pointer(1*megabyte)
	if err := m.Reconfigure(3*time.Second, model.Config{Buckets: []model.Bucket{faster}}); err != nil {
		t.Fatal(err)
	}
	credits, _ := m.Credits("volume")
	near(t, "kept credits", credits, 110*megabyte, 1e-3)
	answers := load.Run(m, 3*time.Second, 20*time.Second)
	near(t, "new baseline", rate(answers, 10*time.Second, 20*time.Second, false), 30*megabyte, 1e-3)

	faster.StartFill = model.Pointer(0.75)
	if err := m.Reconfigure(20*time.Second, model.Config{Buckets: []model.Bucket{faster}}); err != nil {
		t.Fatal(err)
	}
	credits, _ = m.Credits("volume")
	near(t, "filled again", credits, 150*megabyte, 1e-3)

	faster.Name = "another"
	if err := m.Reconfigure(20*time.Second, model.Config{Buckets: []model.Bucket{faster}}); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("another bucket: %v", err)
	}
}

func TestValidate(t *testing.T) {
	bucket := func(change func(*model.Bucket)) model.Config {
		b := facts()
		change(&b)
		return model.Config{Buckets: []model.Bucket{b}}
	}
	for want, config := range map[string]model.Config{
		`counts: "packets" must be bytes or operations`: bucket(func(b *model.Bucket) { b.Counts = "packets" }),
		"baselinePerSecond: must be above 0":            bucket(func(b *model.Bucket) { b.BaselinePerSecond = 0 }),
		"burstPerSecond 6e+07 and size 0: give both":    bucket(func(b *model.Bucket) { b.Size = 0 }),
		"refillPerSecond 7e+07, or the credits never":   bucket(func(b *model.Bucket) { b.RefillPerSecond = model.Pointer(7e7) }),
		"startFill: 2 must lie":                         bucket(func(b *model.Bucket) { b.StartFill = model.Pointer(2) }),
		"unique":                                        {Buckets: []model.Bucket{facts(), facts()}},
		"share: 0 must be above 0":                      {Tenants: []model.Tenant{{}}},
		`there is no bucket "x"`:                        {Tenants: []model.Tenant{{Share: 1, Buckets: []string{"x"}}}},
		"add up to 1.2":                                 {Buckets: []model.Bucket{facts()}, Tenants: []model.Tenant{{Share: .6}, {Share: .6}}},
		"for: 0s must be above 0":                       {Tenants: []model.Tenant{{Share: 1, Schedule: model.Schedule{Every: time.Second}}}},
		"stall: 0s must be above 0":                     {Failures: []model.Failure{{Error: model.FailureStall}}},
		"floor: 4ns must be 0 or at least 1us":          {Latency: model.Latency{Floor: 4}},
		"at: -1s must be":                               {Tenants: []model.Tenant{{Share: 1, Schedule: model.Schedule{At: -time.Second}}}},
		`error: "" must be`:                             {Failures: []model.Failure{{}}},
	} {
		if err := config.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if err := (model.Config{Buckets: []model.Bucket{facts()}}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestPauses checks that a pause lasts from the last answer to the next request, even within one second. Syncs and tiny
// reads do not end it.
func TestPauses(t *testing.T) {
	m := store(t, model.Config{Latency: model.Latency{Fixed: 100 * time.Millisecond}})
	write := model.Request{Kind: model.Write, Bytes: 4096}
	for _, at := range []time.Duration{300, 350, 700, 3000, 4000, 5200, 5303} { // milliseconds
		switch at {
		case 3000:
			m.Submit(at*time.Millisecond, model.Request{Kind: model.Sync})
		case 4000:
			m.Submit(at*time.Millisecond, model.Request{Kind: model.Read, Bytes: 300}) // too small to count as load
		default:
			m.Submit(at*time.Millisecond, write)
		}
	}
	m.Advance(7 * time.Second)
	want := map[int]model.Pause{
		// A second shows the longest pause that ended in it: 0 to 300 ms, not 450 to 700 ms.
		0: {From: 0, To: 300 * time.Millisecond},
		5: {From: 800 * time.Millisecond, To: 5200 * time.Millisecond}, // 5300 to 5303 ms is too short to be a pause
	}
	for _, s := range m.Truth(0) {
		if s.Pause != want[s.Index] {
			t.Errorf("second %d: the pause %+v, want %+v", s.Index, s.Pause, want[s.Index])
		}
	}
}
