package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/series"
)

// answering returns a client of a server that returns the same text for each query.
func answering(t *testing.T, answer func() string) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer())) }))
	t.Cleanup(s.Close)
	client, err := New(Config{URL: s.URL, Interval: DefaultInterval}, "team")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// hour returns a run with a step of one hour, and the query of its observation for this step.
func hour() (*v1alpha1.BenchmarkRun, observation.Query) {
	start := time.Unix(1_700_000_000, 0)
	at := func(after time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: start.Add(after)} }
	run := &v1alpha1.BenchmarkRun{}
	run.Spec.Run.Observations = []v1alpha1.Observation{{Name: "all", Query: "up"}}
	run.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "steady-1", Phase: "steady", Purpose: v1alpha1.StepMeasure}}
	run.Status.Steps = []v1alpha1.StepStatus{{ID: "steady-1", Attempt: 1, FirstIOTime: at(0), LastIOTime: at(time.Hour), EndTime: at(time.Hour)}}
	return run, observation.Queries(run, DefaultInterval)[0]
}

// matrix returns an answer with a series for each set of labels. All its values are the same.
func matrix(t *testing.T, q observation.Query, value string, labels ...map[string]string) string {
	t.Helper()
	var values [][2]any
	for i := range q.Evaluations() {
		values = append(values, [2]any{float64(q.Start.Add(time.Duration(i)*q.Resolution).UnixMilli()) / 1000, value})
	}
	var result []any
	for _, one := range labels {
		result = append(result, map[string]any{"metric": one, "values": values})
	}
	text, err := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": result}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAnswersAreSmall checks that little is kept of an answer with many series.
func TestAnswersAreSmall(t *testing.T) {
	_, q := hour()
	var many []map[string]string
	for i := range 200 {
		many = append(many, map[string]string{"__name__": "up", "at": strings.Repeat("x", 1000), "i": fmt.Sprintf("%03d", i)})
	}
	text := matrix(t, q, "1", many...)
	got := answering(t, func() string { return text }).Ask(context.Background(), q)
	if got.Problem != "" || len(got.Series) != 8 || got.More != 192 {
		t.Fatalf("%d series and %d more: %s", len(got.Series), got.More, got.Problem)
	}
	seen := map[string]bool{}
	for _, s := range got.Series {
		if seen[s.Labels] = true; len(s.Points) > 0 || len(s.Labels) > 256 {
			t.Errorf("%d points, labels of %d bytes", len(s.Points), len(s.Labels))
		}
	}
	if len(seen) != 8 {
		t.Errorf("8 series have %d different labels", len(seen))
	}
}

// TestAnswersArePrintable checks that labels and messages from a server contain no control characters.
func TestAnswersArePrintable(t *testing.T) {
	run, q := hour()
	const evil = "a\x1b[2J\n\u202e"
	for _, text := range []string{
		matrix(t, q, "1", map[string]string{"__name__": evil, evil: evil, "b": evil}),
		`{"status":"error","errorType":"bad_data","error":"` + strings.Repeat(`\u001b[2J\u202e`, 100_000) + `"}`,
		`{"status":"error","errorType":"internal","error":"\u001b[2J"}`,
	} {
		answer := answering(t, func() string { return text }).Ask(context.Background(), q)
		outcome := observation.Evaluate(run, []observation.Answer{answer}, DefaultInterval)
		texts := []string{answer.Problem}
		for _, s := range outcome.Series {
			texts = append(texts, s.Labels)
		}
		for _, w := range outcome.Warnings {
			texts = append(texts, w.Message)
		}
		if len(strings.Join(texts, "")) < 4 {
			t.Errorf("nothing is said about %.80q", text)
		}
		for _, one := range texts {
			if len(one) > 512 || strings.ContainsFunc(one, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%d bytes: %.200q", len(one), one)
			}
		}
	}
}

// TestHugeValues checks that results with huge values can be stored.
func TestHugeValues(t *testing.T) {
	run, q := hour()
	for _, value := range []string{"1.7e308", "-1.7e308", "1e299", "+Inf", "NaN"} {
		answer := answering(t, func() string { return matrix(t, q, value, map[string]string{"a": "b"}) }).Ask(context.Background(), q)
		outcome := observation.Evaluate(run, []observation.Answer{answer}, DefaultInterval)
		log := &series.Log{Observed: outcome.Over}
		if _, err := log.Encode(series.MaxBytes); err != nil {
			t.Errorf("%s: %v", value, err)
		}
		for _, s := range outcome.Series {
			if strings.Contains(s.Mean, "Inf") || strings.Contains(s.Mean, "NaN") {
				t.Errorf("%s: the mean is %s", value, s.Mean)
			}
		}
	}
}

// TestOneAnswerIsReadAtATime checks that only one answer is read at a time.
func TestOneAnswerIsReadAtATime(t *testing.T) {
	_, q := hour()
	client := answering(t, func() string { return matrix(t, q, "1", map[string]string{"__name__": "up"}) })
	reading <- struct{}{}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if got := client.Ask(ctx, q); got.Problem != "Prometheus did not answer in time" {
		t.Errorf("beside another answer: %d series, %q", len(got.Series), got.Problem)
	}
	<-reading
	for range 3 {
		if got := client.Ask(context.Background(), q); got.Problem != "" || len(got.Series) != 1 {
			t.Errorf("afterwards: %d series, %q", len(got.Series), got.Problem)
		}
	}
	if len(reading) != 0 {
		t.Error("it still holds the turn to read")
	}
}

// TestProblemsHideTheAddress checks that no problem reveals the address of the operator's Prometheus to authors of
// benchmarks.
func TestProblemsHideTheAddress(t *testing.T) {
	_, q := hour()
	gone := httptest.NewServer(nil)
	gone.Close()
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	for url, want := range map[string]string{
		gone.URL:                         "connection refused",
		secure.URL:                       "the server's certificate cannot be verified",
		"http://prometheus-here.invalid": "no such host",
		strings.Replace(secure.URL, "https", "http", 1): "client error: 400",
	} {
		client, err := New(Config{URL: url, Interval: DefaultInterval}, "team")
		if err != nil {
			t.Fatal(err)
		}
		got := client.Ask(context.Background(), q).Problem
		if !strings.Contains(got, want) && want != "no such host" || strings.Contains(got, "127.0.0.1") || strings.Contains(got, "prometheus-here") {
			t.Errorf("%s: the problem is %q, want %q", url, got, want)
		}
	}
}
