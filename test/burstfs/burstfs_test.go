package burstfs_test

import (
	"os"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

func scenario(t *testing.T, name string) model.Config {
	t.Helper()
	config, err := burstfs.Scenario(name)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// experiment is a fio run on a fresh store.
type experiment struct {
	completions []completion
	store       *burstfs.Mounted
}

// ended is when the store had nothing in flight any more, in seconds of its clock: it was busy from the begin of its last
// second of work to there.
func (e experiment) ended() float64 {
	end := 0.0
	for _, s := range e.store.Truth() {
		if s.Busy > 0 {
			end = float64(s.Index) + s.Busy
		}
	}
	return end
}

// idle is the share of the runtime in which nothing was asked of the store.
func (e experiment) idle(runtime time.Duration) float64 {
	idle, seconds := 0.0, int(runtime.Seconds())
	began := false
	for _, s := range e.store.Truth() {
		if !began { // of the second in which fio begins nothing is known
			began = s.InFlight > 0
			continue
		}
		if seconds--; seconds <= 0 {
			break
		}
		idle += 1 - s.Busy
	}
	return idle / runtime.Seconds()
}

// stood is by how much longer than by the parameters fio has waited between two answers. While there are requests in flight
// that is the machine, or a part of it, standing still.
func (e experiment) stood(t *testing.T, config model.Config, l load) float64 {
	t.Helper()
	return longest(e.completions, l.runtime) - longest(l.predict(t, config, 0), l.runtime)
}

// longest time between two answers, in seconds. At the end of its runtime fio takes all that is in flight as one.
func longest(completions []completion, runtime time.Duration) float64 {
	most := 0.0
	for i, one := range completions[1:] {
		if one.seconds < runtime.Seconds() {
			most = max(most, one.seconds-completions[i].seconds)
		}
	}
	return most
}

// inMemory is a directory that no slow disk serves.
func inMemory(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("/dev/shm", "burstfs")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(directory)) })
	return directory
}

// saturate runs a load that a store can be judged by: one that always has something in flight. On a machine that
// is busy otherwise fio or the mount may have to wait longer than what is in flight lasts, or for so long that answers come
// in heaps which bend the lines through them by a percent; then what fio sees is the machine and not the store, and it is done
// again.
func saturate(t *testing.T, config model.Config, l load) experiment {
	t.Helper()
	// Answers that a line of two seconds misses at its end for s seconds bend it by three times the square of s/2: by 1.7 %.
	const attempts, most, still = 5, 0.004, 0.15
	for attempt := 1; ; attempt++ {
		backing := inMemory(t)
		prepare(t, backing, "file")
		e := experiment{store: burstfs.Mount(t, config, backing)}
		e.completions = l.run(t, e.store, "file")
		idle, stood := e.idle(l.runtime), e.stood(t, config, l)
		switch {
		case idle <= most && stood <= still:
			return e
		case attempt == attempts:
			t.Fatalf("this machine is too busy: in %d attempts fio asked nothing of the store for more than %g %% of the time, or had no answer for %g s",
				attempts, 100*most, still)
		}
		t.Logf("attempt %d: fio asked nothing of the store for %.1f %% of the time, and waited for an answer %.3f s too long; again", attempt, 100*idle, stood)
	}
}

// What real fio sees of a store is what its parameters say: the rates within 2 %, and so is the time that the
// credits last. What the store says of itself is what fio counted, to the byte.
func TestFioSeesTheParameters(t *testing.T) {
	operations := model.Bucket{
		Name: "operations", Counts: model.CountsOperations, BurstPerSecond: 1200, BaselinePerSecond: 300,
		Size: 2400, RefillPerSecond: model.Pointer(200),
	}
	facts := scenario(t, "facts")
	for _, test := range []struct {
		name   string
		config model.Config
		load   load
		want   drain
	}{
		{"1MiB", facts, load{"write", 1 << 20, 16, 8 * time.Second}, drain{60e6, 10e6, 4}},
		{"64KiB", facts, load{"read", 64 << 10, 128, 7 * time.Second}, drain{60e6, 10e6, 4}},
		{"4KiB", model.Config{Buckets: []model.Bucket{operations}}, load{"randwrite", 4 << 10, 128, 6 * time.Second}, drain{1200, 300, 2.4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := saturate(t, test.config, test.load)
			bucket := test.config.Buckets[0]
			c := sums(e.completions, bucket.Counts == model.CountsOperations)
			c.measure(test.want.seconds, test.load.runtime.Seconds()).hold(t, test.want, 0.02)

			time.Sleep(2100 * time.Millisecond)
			truth, counted := e.store.Truth(), 0
			for _, one := range e.completions {
				counted += one.bytes
			}
			var bytes, count int64
			deepest := 0
			for _, s := range truth {
				if t.Failed() {
					t.Logf("%+v", s)
				}
				deepest = max(deepest, s.InFlight)
				bytes += s.Bytes()
				count += s.Operations()
			}
			if bytes != int64(counted) || count != int64(len(e.completions)) {
				t.Errorf("the store counts %d bytes and %d operations, fio %d and %d", bytes, count, counted, len(e.completions))
			}
			if deepest < test.load.depth*9/10 || deepest > test.load.depth {
				t.Errorf("%d requests were in flight at once, fio has %d", deepest, test.load.depth)
			}
			// Nothing is asked any more, so all of the refill stays.
			last := truth[len(truth)-1]
			idle := float64(last.Index+1) - e.ended()
			if got, want := last.Credits[0], idle*bucket.Refill(); got < 0.98*want || got > 1.02*want {
				t.Errorf("%g credits %.2f s after the end, the refill gives %g", got, idle, want)
			}
		})
	}
}
