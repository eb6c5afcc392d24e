package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/prometheus"
	"github.com/storagebench/storagebench/test/soak"
)

// TestPrometheusLive checks that the counters, rates and latencies that a real Prometheus scrapes during a run agree
// with the final status, although the operator is killed during the run. TestCore compares the results, dashboards and
// alerts.
func TestPrometheusLive(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	prometheus.Program(t, "prometheus")
	s := newSpace(t)
	server := s.prometheus()
	small := model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 10e6, BurstPerSecond: 40e6, Size: 120e6}}}
	large := model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 15e6, BurstPerSecond: 50e6, Size: 140e6}}}
	s.burstClaim("small", small)
	s.burstClaim("large", large)
	began := time.Now()
	s.apply(builders.Benchmark("watched").
		Target("small").Throughput("10M", "40M", "120M", "").
		Target("large").Throughput("15M", "50M", "140M", "").
		BurstDrain("drain", "10s", "60s").Steady("steady", "20s").WarmUp("0s").Cooldown("rest", "2s").Obj())
	s.restartedInDrain(server)
	run := s.ended(wholeRun)
	s.log(run)
	s.complete(run)
	s.sameLive(t, server, run, began)
	s.clean()
}

// sameLive compares what was scraped during the run with its final status.
func (s *space) sameLive(t *testing.T, server *prometheus.Server, run *v1alpha1.BenchmarkRun, began time.Time) {
	t.Helper()
	last := func(expression string) float64 {
		t.Helper()
		series, err := server.Range(expression, began, time.Now())
		must(t, err)
		if len(series) != 1 {
			t.Fatalf("%s gives %d series", expression, len(series))
		}
		return series[0].Last()
	}
	// Counters include failed attempts, for example one in which a client received the start too late; the figures do not.
	counted := func(step, what, expression string, want, percent float64) {
		t.Helper()
		if made := stepOf(run, step); made == nil || made.Attempt == 1 {
			near(t, what, last(expression), want, percent)
		} else if got := last(expression); got < want*(1-percent/100) {
			t.Errorf("%s: %g, want at least %g", what, got, want)
		}
	}
	for i, phase := range run.Status.Phases {
		step := fmt.Sprintf("%02d-%s", i, phase.Name)
		for _, target := range phase.Targets {
			for _, figures := range target.Operations {
				where := fmt.Sprintf(`{namespace=%q, run=%q, phase=%q, target=%q, operation=%q`, s.namespace, run.Name, phase.Name, target.Target, figures.Operation)
				if phase.Name == "drain" {
					// The killed operator and its successor continue one series, and the successor may have reset it.
					counted(step, "bytes of "+where, "max_over_time(storagebench_run_bytes_total"+where+"}[3m])", float64(figures.Bytes), 5)
				}
				if phase.Name != "steady" {
					continue
				}
				// If one client starts a step late, what the others did before is in the counter, but not in the rate.
				counted(step, "bytes of "+where, "storagebench_run_bytes_total"+where+"}", float64(figures.Bytes), 2)
				counted(step, "operations of "+where, "storagebench_run_operations_total"+where+"}", float64(figures.Operations), 2)
				// A sample that arrives a second late, or two on a busy machine, falls into another rate window: at most a seventh
				// of one.
				near(t, "throughput of "+where, last("max_over_time(rate(storagebench_run_bytes_total"+where+"}[15s])[3m:1s])"), float64(*figures.BytesPerSecond), 25)
				near(t, "p99 of "+where, last("storagebench_run_latency_seconds"+where+`, percentile="99"}`), float64(*figures.Latency.P99Nanoseconds)/1e9, 0.001)
			}
		}
	}
	if clients := last(fmt.Sprintf(`max_over_time(sum(storagebench_run_clients{namespace=%q, state="Ready"})[3m:1s])`, s.namespace)); clients != 2 {
		t.Errorf("%g clients were ready at most, want 2", clients)
	}
	if taken := last(fmt.Sprintf(`sum(storagebench_run_samples_total{namespace=%q})`, s.namespace)); taken < 20 {
		t.Errorf("only %g samples of two clients", taken)
	}
}
