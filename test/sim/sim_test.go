package sim_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/sim"
)

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// world returns a world with one target, "store".
func world(t *testing.T, benchmark *builders.BenchmarkBuilder, config model.Config, blocks int64) *sim.World {
	t.Helper()
	stores, err := sim.StoreOf("store", config, blocks)
	must(t, err)
	w, err := sim.NewWorld(benchmark, stores)
	must(t, err)
	t.Cleanup(w.Close)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func conduct(t *testing.T, w *sim.World) *v1alpha1.BenchmarkRun {
	t.Helper()
	run, err := w.Conduct(context.Background())
	must(t, err)
	return run
}

func facts() model.Config {
	return model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 10e6, BurstPerSecond: 60e6, Size: 20e9}},
		Latency: model.Latency{Fixed: time.Millisecond}}
}
