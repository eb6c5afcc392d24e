package burstfs_test

import (
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
		{"1MiB", facts, load{"write", 1 << 20, 16, 9 * time.Second}, drain{60e6, 10e6, 4}},
		{"64KiB", facts, load{"read", 64 << 10, 32, 8 * time.Second}, drain{60e6, 10e6, 4}},
		{"4KiB", model.Config{Buckets: []model.Bucket{operations}}, load{"randwrite", 4 << 10, 32, 6 * time.Second}, drain{1200, 300, 2.4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			backing := t.TempDir()
			prepare(t, backing, "file")
			f := burstfs.Mount(t, test.config, backing)
			completions := test.load.run(t, f, "file")
			bucket := test.config.Buckets[0]
			c := sums(completions, bucket.Counts == model.CountsOperations)
			c.measure(test.want.seconds, test.load.runtime.Seconds()).hold(t, test.want, 0.02)

			ended := time.Since(f.Start())
			time.Sleep(2100 * time.Millisecond)
			truth, counted := f.Truth(), 0
			for _, one := range completions {
				counted += one.bytes
			}
			var bytes, count int64
			for _, s := range truth {
				if t.Failed() {
					t.Logf("%+v", s)
				}
				bytes += s.Bytes()
				count += s.Operations()
			}
			if bytes != int64(counted) || count != int64(len(completions)) {
				t.Errorf("the store counts %d bytes and %d operations, fio %d and %d", bytes, count, counted, len(completions))
			}
			// Nothing is asked any more, so all of the refill stays.
			last := truth[len(truth)-1]
			idle := float64(last.Index+1) - ended.Seconds()
			if got, want := last.Credits[0], idle*bucket.Refill(); got < 0.98*want || got > want+0.3*bucket.Refill() {
				t.Errorf("%g credits %.2f s after the end, the refill gives %g", got, idle, want)
			}
		})
	}
}
