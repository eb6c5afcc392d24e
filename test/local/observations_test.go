package local

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/prometheus"
)

// observedFile drains a bucket, of which the layout has already used some, and queries the store for its level.
const observedFile = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: observed}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}]}]
    clients: {count: 1}
    workload: {fio: {pattern: Sequential, readPercent: 0, blockSize: 128Ki, queueDepth: 16, datasetSize: 32Mi}}
    phases:
    - {name: layout, prepare: {}}
    - {name: burst, burstDrain: {minDuration: 10s, maxDuration: 40s}}
    observations:
    - {name: level, query: 'burst_balance{volume="vol-1"}', unit: '%', creditsOf: data}
    - {name: sum, query: 'sum(answer) + 1', phases: [burst]}
    - {name: nothing, query: no_such_metric, phases: [burst]}
`

// exporter is a store's metrics endpoint: it serves the level of its only bucket in percent, and the number 41.
type exporter struct {
	*httptest.Server
	mu     sync.Mutex
	served []levelAt
}

type levelAt struct {
	at    time.Time
	level float64
}

func export(t *testing.T, store *burstfs.Mounted, bucket model.Bucket) *exporter {
	t.Helper()
	e := &exporter{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		credits, ok := store.FS.Credits(bucket.Name)
		if !ok {
			http.Error(w, "no such bucket", http.StatusInternalServerError)
			return
		}
		level := 100 * credits / bucket.Size
		e.mu.Lock()
		e.served = append(e.served, levelAt{time.Now(), level})
		e.mu.Unlock()
		_, _ = fmt.Fprintf(w, "burst_balance{volume=\"vol-1\"} %g\nanswer 41\n", level)
	}))
	t.Cleanup(e.Close)
	return e
}

// around returns the lowest and the highest level that Prometheus may return for an instant, of the last two levels
// that were served before it and the next. The next counts because a sample has the time at which its scrape began.
func (e *exporter) around(at time.Time) (least, most float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	after := slices.IndexFunc(e.served, func(one levelAt) bool { return one.at.After(at) })
	if after < 0 {
		after = len(e.served) - 1
	}
	least, most = math.Inf(1), math.Inf(-1)
	for _, one := range e.served[max(after-2, 0) : after+1] {
		least, most = min(least, one.level), max(most, one.level)
	}
	return least, most
}

// TestObservations runs the built program with a real Prometheus, which scrapes an exporter of the store's own credits.
// It checks that the observed level, at the start of the drain and during it, is the one that the store served.
func TestObservations(t *testing.T) {
	t.Parallel()
	bucket := model.Bucket{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 5e6, BurstPerSecond: 30e6, Size: 100e6}
	store := Mount(t, model.Config{Latency: model.Latency{Fixed: time.Millisecond}, Buckets: []model.Bucket{bucket}})
	source := export(t, store, bucket)
	_, port, err := net.SplitHostPort(source.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server := prometheus.Start(t, "global: {scrape_interval: 2s}\nscrape_configs: [{job_name: store, static_configs: [{targets: ['127.0.0.1:"+port+"']}]}]\n", nil)
	hang.Until(t, "Prometheus has scraped the store", func() bool {
		found, err := server.Query("burst_balance", time.Now())
		return err == nil && len(found) == 1
	})
	page := filepath.Join(t.TempDir(), "page.html")
	document := Ended(t, Start(t, "run", "--local", "-f", Write(t, Usual, observedFile), "--target", "data="+store.Path(), "-o", "json", "--save", page,
		"--prometheus", server.URL(), "--prometheus-interval", "2s"))

	series := map[string]v1alpha1.ObservedSeries{}
	if document.Observations != nil {
		for _, s := range document.Observations.Series {
			series[s.Step+" "+s.Observation] = s
		}
	}
	drain := document.Steps[len(document.Steps)-1]
	level := func(text string) float64 {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Errorf("%q is no number", text)
		}
		return value
	}
	s := series[drain.ID+" level"]
	if s.MissingSeconds > 0 { // the machine was too busy to scrape
		if !slices.ContainsFunc(document.Warnings, func(w v1alpha1.Warning) bool {
			return w.Type == v1alpha1.WarningObservationIncomplete && strings.HasPrefix(w.Message, "observation level: ")
		}) {
			t.Errorf("%d s are missing, and the warnings are %+v", s.MissingSeconds, document.Warnings)
		}
		return
	}
	if s.Labels != `burst_balance{instance="127.0.0.1:`+port+`", job="store", volume="vol-1"}` || s.Points < 5 {
		t.Fatalf("the observations are %+v", document.Observations)
	}
	least, most := source.around(drain.LastIOTime.Time)
	if last := level(s.Last); last < least-0.01 || last > most+0.01 {
		t.Errorf("the last level is %g, served were %g to %g", last, least, most)
	}
	burst := TargetOf(t, document, "burst").Burst
	least, most = source.around(drain.FirstIOTime.Time)
	if burst == nil || burst.ObservedCreditPercentAtStart == nil {
		t.Errorf("the drain has no observed level: %+v", burst)
	} else if start := float64(*burst.ObservedCreditPercentAtStart); start < math.Round(least) || start > math.Round(most) || start > 95 {
		t.Errorf("the level at the start is %g, served were %g to %g; the layout has spent some", start, least, most)
	}
	if sum := series[drain.ID+" sum"]; sum.Min != "42" || sum.Max != "42" || sum.Labels != "" {
		t.Errorf("41 and 1 are %+v", sum)
	}
	var failed []string
	for _, w := range document.Warnings {
		if w.Type == v1alpha1.WarningObservationFailed {
			failed = append(failed, w.Message)
		}
	}
	if len(failed) != 1 || failed[0] != "observation nothing: no value in any step" {
		t.Errorf("the failed observations are %q", failed)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), `data-chart="observation-0"`) {
		t.Errorf("the page has no chart of the level: %v", err)
	}
}

// TestRefusedObservation checks that a run does not start if Prometheus rejects a query.
func TestRefusedObservation(t *testing.T) {
	t.Parallel()
	server := prometheus.Holding(t, "# TYPE a gauge\na 1 1\n")
	directory := t.TempDir()
	file := Write(t, "    phases:\n", "    observations: [{name: bad, query: 'sum('}]\n    phases:\n")
	got := Call(t, "run", "--local", "-f", file, "--target", "data="+directory, "--prometheus", server.URL())
	if got.Code == 0 || !strings.Contains(got.Stderr, "spec.run.observations[0] (bad): Prometheus rejected the query: 1:5: parse error: unclosed left parenthesis") {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	Empty(t, directory)
	if got := Call(t, "run", "-f", file, "--prometheus", server.URL()); got.Code == 0 || !strings.Contains(got.Stderr, "--prometheus requires --local") {
		t.Errorf("in a cluster: exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}
