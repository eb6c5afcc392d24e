package local_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/local"
	"github.com/storagebench/storagebench/test/soak"
)

// TestSearchOfAServer searches the highest rate of a server with constant service time, with real fio. The result must
// be between 95 % and 100 % of the rate at which an M/D/1 queue reaches the bound. The mount and the machine add about
// 0.25 ms to each latency, which can only lower the result; to limit the effect, the server is slow and the bound wide.
// It takes about half an hour.
func TestSearchOfAServer(t *testing.T) {
	soak.Only(t)
	const perSecond, bound = 500, 10 * time.Millisecond
	store := local.Mount(t, model.Config{Buckets: []model.Bucket{{Name: "server", Counts: model.CountsOperations, BaselinePerSecond: perSecond}}})
	file := local.Write(t,
		"count: 2", "count: 1", "readPercent: 50, blockSize: 4Ki, jobs: 1, queueDepth: 4", "readPercent: 100, blockSize: 4Ki, fileSharing: Shared",
		"- {name: mixed, steady: {duration: 1s}}", `- name: search
      search: {objective: {latency: {percentile: "99", max: 10ms}}, rate: {min: 75, max: 600}, regime: Any, stepDuration: 90s, warmUp: 5s}`)
	run := local.Start(t, "run", "--local", "-f", file, "--target", "data="+store.Path(), "-o", "json")
	got := run.WaitFor(t, 2*time.Hour)
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	target := local.TargetOf(t, got.Document(t), "search")
	for _, warning := range target.Warnings {
		if warning.Type == v1alpha1.WarningClientCPUSaturated || warning.Type == v1alpha1.WarningClientCPUThrottled {
			soak.Inconclusive(t, "the machine was too busy to offer the rates: %s", warning.Message)
		}
	}
	if target.Search == nil || !target.Search.Found || target.Search.AtLeast {
		t.Fatalf("%+v", target.Search)
	}
	limit, found := truth.HighestRate(perSecond, bound, 0.99), float64(*target.Search.OfferedIOPS)
	soak.Report(t, "The highest rate of a single server", "found %g/s, and the queue M/D/1 has p99 %s at %.1f/s: %+.1f %%",
		found, bound, limit, 100*(found/limit-1))
	if found > limit || found < 0.95*limit {
		t.Errorf("found %g/s, but an M/D/1 queue reaches the bound at %.1f/s\n%s", found, limit, target.Search.Message)
	}
}
