package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/terminal"
)

const watchedFile = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: watched}
spec:
  run:
    targets:
    - name: data
      volumes: [{name: data, claimName: data}]
      documented: {throughput: {baseline: 4M, burst: 16M, bucket: 200M, refill: 2M}}
    clients: {count: 2, spread: Any}
    workload: {fio: {pattern: Sequential, readPercent: 0, blockSize: 256Ki, queueDepth: 8, datasetSize: 16Mi}}
    phases:
    - {name: layout, prepare: {}}
    - {name: burst, burstDrain: {minDuration: 10s, maxDuration: 60s}}
    - {name: baseline, steady: {duration: 15s}}
`

// TestWatch watches a run of the real operator in a terminal of 80 columns and 24 lines. The view must show a drain
// with its remaining credits. Ctrl-C, first in the view of `run` and then in that of `watch`, must close the view and
// say that the run continues, and the run must complete.
func TestWatch(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	t.Parallel()
	s := newSpace(t)
	// The store is so slow that it limits the burst even on a busy machine. Otherwise the drain would find no drop.
	s.burstClaim("data", model.Config{Latency: model.Latency{Fixed: time.Millisecond},
		Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 4e6, BurstPerSecond: 16e6,
			RefillPerSecond: model.Pointer(2e6), Size: 200e6}}})
	program, err := commandLine()
	must(t, err)
	file := filepath.Join(t.TempDir(), "watched.yaml")
	must(t, os.WriteFile(file, []byte(watchedFile), 0o600))
	to := []string{"--kubeconfig", s.Kubeconfig, "-n", s.namespace}
	environment := []string{"LANG=C.UTF-8", "NO_PROXY=*", "no_proxy=*"}

	on := terminal.New(t, 80, 24, environment, append([]string{program, "run", "-f", file}, to...)...)
	seen := on.Until(2*time.Minute, "watched  watched-", "Running", "✓ layout", "▶ burst", "· baseline", "throughput", "IOPS", "latency",
		"clients     2 of 2 load", "credits", "of data's", "Ctrl-C closes this view; the run continues in the cluster")
	t.Logf("the view of `run`:\n%s", seen)
	on.Fits(seen, 80)
	if strings.Count(seen, "▶ burst") != 1 {
		t.Errorf("the view is there more than once:\n%s", seen)
	}
	name := s.run().Name
	on.Tmux("send-keys", "C-c")
	left := []string{"Stopped watching; " + name + " continues in the cluster.", "kubectl storagebench watch " + name, "exit code 130"}
	on.Until(20*time.Second, left...)
	if run := s.run(); run.Status.EndTime != nil || run.DeletionTimestamp != nil {
		t.Errorf("the run does not continue: %+v", run.Status.Conditions)
	}

	again := terminal.New(t, 80, 24, environment, append([]string{program, "watch", "watched"}, to...)...)
	seen = again.Until(time.Minute, "✓ layout", "watched-", "to go")
	t.Logf("the view of `watch`:\n%s", seen)
	again.Fits(seen, 80)
	again.Tmux("send-keys", "C-c")
	again.Until(20*time.Second, left...)

	run := s.ended(wholeRun)
	s.complete(run)
	if burst := targetOf(s, run, "burst", "data").Burst; burst == nil || burst.Bytes == nil || burst.Bytes.Baseline == nil {
		t.Errorf("the drain has no baseline after its view was closed: %+v", burst)
	}
	// A view that stays open to the end shows the result and exits with its code.
	ended := terminal.New(t, 80, 24, environment, append([]string{program, "watch", name}, to...)...)
	ended.Until(time.Minute, "exit code 0")
	if all := ended.All(); !strings.Contains(all, "watched  complete, valid") {
		t.Errorf("the result is not shown:\n%s", all)
	}
	s.clean()
}
