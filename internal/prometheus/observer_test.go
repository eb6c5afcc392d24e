package prometheus_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/test/hang"
	server "github.com/storagebench/storagebench/test/prometheus"
)

const (
	interval = 15 * time.Second
	minutes  = 30
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// samples returns samples of a store every 15 s, from ten minutes before start until ten minutes after the half hour
// that follows.
func samples(start time.Time) string {
	var b strings.Builder
	write := func(name, kind string, value func(seconds int) (float64, bool)) {
		fmt.Fprintf(&b, "# TYPE %s %s\n", strings.TrimSuffix(name, "_total"), kind)
		for seconds := -600; seconds <= 600+60*minutes; seconds += 15 {
			if v, ok := value(seconds); ok {
				fmt.Fprintf(&b, "%s{volume=\"v\"} %g %d\n", name, v, start.Unix()+int64(seconds))
			}
		}
	}
	// It falls from 100 by 2 per minute. Before and after, it is constant.
	write("burst_balance", "gauge", func(s int) (float64, bool) { return 100 - 2*float64(min(max(s, 0), 60*minutes))/60, true })
	// It grows by two per second, and restarts near zero after 15 minutes.
	write("cpu_seconds_total", "counter", func(s int) (float64, bool) {
		if s >= 900 {
			return float64(2 * (s - 900 + 15)), true
		}
		return float64(2 * (s + 600)), true
	})
	// It exists for the first ten minutes only. Prometheus returns its last value for five more.
	write("gone", "gauge", func(s int) (float64, bool) { return 7, s <= 600 })
	// Its newest sample is two minutes old at the end.
	write("late", "gauge", func(s int) (float64, bool) { return 1, s <= 60*minutes-120 })
	return b.String()
}

// TestObservationsOfAStore queries a real Prometheus for series whose figures can be calculated by hand.
func TestObservationsOfAStore(t *testing.T) {
	start := time.Now().Add(-3 * time.Hour).Truncate(time.Minute)
	held := server.Holding(t, samples(start))
	run := &v1alpha1.BenchmarkRun{}
	run.Namespace = "team"
	for _, query := range []string{"burst_balance", "rate(cpu_seconds_total[1m])", "cpu_seconds_total", "gone", "late", "nothing", "1 + 1", `"text"`, "sum(", "burst_balance # all of it"} {
		run.Spec.Run.Observations = append(run.Spec.Run.Observations, v1alpha1.Observation{Name: query, Query: query})
	}
	run.Spec.Run.Observations[0].CreditsOf = "store"
	run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "drain-1", Phase: "drain", Kind: v1alpha1.PhaseBurstDrain, Purpose: v1alpha1.StepDrain, Targets: []string{"store"}}}
	at := func(after time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: start.Add(after)} }
	run.Status.Steps = []v1alpha1.StepStatus{{ID: "drain-1", Attempt: 1, FirstIOTime: at(0), MeasuredTime: at(time.Minute), LastIOTime: at(minutes * time.Minute),
		EndTime: at(minutes * time.Minute)}}

	got := observation.Evaluate(run, evaluate(t, held.URL(), observation.Queries(run, interval)), interval)
	var texts []string
	for _, s := range got.Series {
		text := fmt.Sprintf("%s: %s %d: %s..%s, %s %s %s", s.Observation, s.Labels, s.Points, s.First, s.Last, s.Min, s.Mean, s.Max)
		if s.MissingSeconds+int64(s.Resets) > 0 {
			text += fmt.Sprintf(", missing %d s, %d resets", s.MissingSeconds, s.Resets)
		}
		texts = append(texts, text)
	}
	for _, w := range got.Warnings {
		texts = append(texts, string(w.Type)+": "+w.Message)
	}
	// 29 minutes at 15 s, including both ends, are 117 values. The balance falls from 98 to 40, 69 on average. The counter
	// is 1,320 after the first minute and 2,970 before it restarts. Its rate shows no trace of the restart. A series that
	// ends after ten minutes has values for 5 more, minus one.
	want := []string{
		`burst_balance: burst_balance{volume="v"} 117: 98..40, 40 69 98`,
		`rate(cpu_seconds_total[1m]): {volume="v"} 117: 2..2, 2 2 2`,
		`cpu_seconds_total: cpu_seconds_total{volume="v"} 117: 1320..1830, 30 1511.538462 2970, missing 0 s, 1 resets`,
		`gone: gone{volume="v"} 57: 7..7, 7 7 7, missing 900 s, 0 resets`,
		`late: late{volume="v"} 117: 1..1, 1 1 1`,
		`1 + 1:  117: 2..2, 2 2 2`,
		`burst_balance # all of it: burst_balance{volume="v"} 117: 98..40, 40 69 98`,
		`ObservationIncomplete: observation cpu_seconds_total: cpu_seconds_total{volume="v"} was reset in step drain-1: use rate or increase, which account for resets`,
		`ObservationIncomplete: observation gone: gone{volume="v"} has no value for 15m0s of step drain-1`,
		`ObservationIncomplete: observation late: the newest sample was 2m0s old at the end of step drain-1`,
		`ObservationFailed: observation nothing: no value in any step`,
		`ObservationFailed: observation "text": Prometheus rejected the query: invalid expression type "string" for range query, must be Scalar or instant Vector`,
		`ObservationFailed: observation sum(: Prometheus rejected the query: 1:5: parse error: unclosed left parenthesis`,
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Complete {
		t.Error("it is complete, with a series that is late")
	}
	if diff := cmp.Diff([]observation.Credit{{Step: "drain-1", Target: "store", Observation: "burst_balance", Percent: 100}}, got.Credits); diff != "" {
		t.Errorf("credits (-want +got):\n%s", diff)
	}
}

// TestResolutionInMilliseconds queries values every 8.001 s, which has no exact floating-point representation.
func TestResolutionInMilliseconds(t *testing.T) {
	held := server.Holding(t, "# TYPE a gauge\na 1 1\n")
	start := time.Now().Add(-time.Hour).Truncate(time.Minute)
	at := func(after time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: start.Add(after)} }
	run := &v1alpha1.BenchmarkRun{}
	run.Spec.Run.Observations = []v1alpha1.Observation{{Name: "two", Query: "1 + 1"}}
	run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "write-1", Phase: "write"}}
	run.Status.Steps = []v1alpha1.StepStatus{{ID: "write-1", Attempt: 1, FirstIOTime: at(0), MeasuredTime: at(time.Second),
		LastIOTime: at(16*time.Second + 2*time.Millisecond), EndTime: at(17 * time.Second)}}

	got := observation.Evaluate(run, evaluate(t, held.URL(), observation.Queries(run, interval)), interval)
	if len(got.Warnings) > 0 || len(got.Series) != 1 || got.Series[0].Points != 2 {
		t.Errorf("series %+v, warnings %+v; want 2 points and no warnings", got.Series, got.Warnings)
	}
}

// evaluate runs queries as a run does.
func evaluate(t *testing.T, url string, queries []observation.Query) []observation.Answer {
	t.Helper()
	observer := prometheus.NewObserver(prometheus.Config{URL: url, Interval: interval}, "team")
	observer.Ask(queries)
	var answers []observation.Answer
	hang.Until(t, "the queries are answered", func() (ended bool) {
		answers, ended = observer.Answers()
		return ended
	})
	return answers
}

// TestChecks checks that Prometheus verifies queries before a run.
func TestChecks(t *testing.T) {
	held := server.Holding(t, "# TYPE a gauge\na 1 1\n")
	run := &v1alpha1.RunSpec{Observations: []v1alpha1.Observation{{Name: "good", Query: "up"}, {Name: "bad", Query: "up{"}}}
	got := observation.Refused(run, evaluate(t, held.URL(), observation.Checks(run, time.Now())))
	if len(got) != 1 || !strings.Contains(got[0].Message, `observation bad: Prometheus rejected the query: 1:4: parse error`) {
		t.Errorf("the warnings are %+v", got)
	}
}

// TestServers checks that a server that misbehaves costs no more than its answer.
func TestServers(t *testing.T) {
	var elsewhere bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer other.Close()
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "Prometheus "},
		"answers without end": {func(w http.ResponseWriter, _ *http.Request) {
			for line := []byte(strings.Repeat(" ", 1<<20)); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}, "the answer is larger than 4 MiB"},
		"asks for a password": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "Prometheus returned an error: client error: 401"},
		"is something else":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, "Prometheus "},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(test.serve)
			defer s.Close()
			answer := ask(t, prometheus.Config{URL: s.URL, Interval: interval})
			if !strings.Contains(answer.Problem, test.want) || strings.Contains(answer.Problem, s.URL) || strings.Contains(answer.Problem, "127.0.0.1") {
				t.Errorf("the problem is %q", answer.Problem)
			}
		})
	}
	if elsewhere {
		t.Error("it has followed the redirect")
	}
	s := httptest.NewServer(nil)
	s.Close()
	if answer := ask(t, prometheus.Config{URL: s.URL, Interval: interval}); !strings.Contains(answer.Problem, "cannot query Prometheus: ") || answer.Refused {
		t.Errorf("of a server that is not there: %+v", answer)
	}
}

func ask(t *testing.T, config prometheus.Config) observation.Answer {
	t.Helper()
	client, err := prometheus.New(config, "team")
	must(t, err)
	now := time.Now()
	return client.Ask(context.Background(), observation.Query{Expression: "up", Start: now, Measured: now, End: now})
}

// TestRequests checks what a request carries: the current token, and the namespace for a proxy that enforces it.
func TestRequests(t *testing.T) {
	var tokens, namespaces []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens, namespaces = append(tokens, r.Header.Get("Authorization")), append(namespaces, r.URL.Query().Get("namespace"))
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[]}}`))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	for _, token := range []string{"one", "two"} {
		must(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
		if answer := ask(t, prometheus.Config{URL: s.URL + "/prefix", TokenFile: file, NamespaceParameter: "namespace", Interval: interval}); answer.Problem != "" {
			t.Error(answer.Problem)
		}
	}
	if diff := cmp.Diff([]string{"Bearer one", "Bearer two"}, tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"team", "team"}, namespaces); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	for url, want := range map[string]string{
		"http://prometheus.monitoring:9090": "", "https://mimir.example/prometheus": "",
		"": "use http://", "prometheus:9090": "use http://", "ftp://a": "use http://", "http://": "use http://",
		"http://user:secret@a": "visible in process lists", "http://a?b=c": "remove the part that starts with ?", ":": "cannot be parsed",
	} {
		config := prometheus.Config{URL: url, Interval: interval}
		err := config.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: %v, want %q", url, err, want)
		}
	}
	config := prometheus.Config{URL: "http://a", Interval: time.Millisecond}
	if config.Check() == nil {
		t.Error("a scrape interval of 1 ms is accepted")
	}
}
