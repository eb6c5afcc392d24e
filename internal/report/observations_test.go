package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/report"
)

// observedPaper is a drain without documented limits. The store reports its credits, which fall from 80 % by one
// percent every five seconds. Three nodes report their CPUs. The network has values only in the first minute of each
// step.
func observedPaper() paper { return observed(burstPaper(false)) }

func observed(made paper) paper {
	made.benchmark.Mutate(func(run *v1alpha1.RunSpec) {
		run.Observations = []v1alpha1.Observation{
			{Name: "burst-balance", Query: "aws_ebs_burst_balance_average{volume_id=\"vol-1\"}", Unit: "%", Phases: []string{"burst"}, CreditsOf: "share"},
			{Name: "node-cpu", Query: "sum by (node) (\n  rate(node_cpu_seconds_total{mode!=\"idle\"}[1m])\n)", Unit: "cores", Phases: []string{"burst", "baseline"}},
			{Name: "network", Query: "rate(node_network_transmit_bytes_total[1m])", Unit: "B/s", Phases: []string{"burst"}},
			{Name: "mistyped", Query: "no_such_metric", Phases: []string{"burst"}},
		}
	})
	made.prometheus = func(q *observation.Query) []observation.Series {
		each := func(labels string, until time.Duration, value func(seconds float64) float64) observation.Series {
			s := observation.Series{Labels: labels}
			for i := range q.Evaluations() {
				if after := time.Duration(i) * q.Resolution; after <= until {
					s.Points = append(s.Points, observation.Point{At: q.Start.Add(after), Value: value(after.Seconds())})
				}
			}
			return s
		}
		switch q.Observation {
		case 0:
			return []observation.Series{each(`{volume_id="vol-1"}`, time.Hour, func(s float64) float64 { return max(80-s/5, 0) })}
		case 1:
			var all []observation.Series
			for i := range 3 {
				all = append(all, each(fmt.Sprintf(`{node="n%d"}`, i), time.Hour, func(float64) float64 { return 0.5 + float64(i) }))
			}
			return all
		case 2:
			return []observation.Series{each("", time.Minute, func(float64) float64 { return 260e6 })}
		}
		return nil
	}
	return made
}

// TestObservationsBesideCauses checks that the observations of a phase are shown with the evidence of its cause.
func TestObservationsBesideCauses(t *testing.T) {
	_, evidence, _ := strings.Cut(text(t, observed(burstPaper(true)).document(t), verbose), "Evidence:")
	evidence, _, _ = strings.Cut(strings.Join(strings.Fields(evidence), " "), "Warnings")
	for _, want := range []string{
		"burst: observed meanwhile: burst-balance 55 %, node-cpu 0.5 cores to 2.5 cores, network 260.0 MB/s",
		"baseline: observed meanwhile: node-cpu 0.5 cores to 2.5 cores",
	} {
		if !strings.Contains(evidence, want) {
			t.Errorf("the evidence is %s; want %q", evidence, want)
		}
	}
	if strings.Contains(evidence, "refill: observed") {
		t.Errorf("nothing was observed in the refill: %s", evidence)
	}
}

func TestObservationsCSV(t *testing.T) {
	d := observedPaper().document(t)
	text := written(t, "observed.observations.golden.csv", func(w io.Writer) error { return report.CSV(w, d, report.CSVObservations) })
	points := 0
	for _, o := range d.Series.Observed {
		points += len(o.Points)
	}
	if rows := strings.Count(text, "\n") - 1; rows != points || points == 0 {
		t.Errorf("%d rows for %d values", rows, points)
	}
}

// TestObservationsOverTime checks that the page has a chart for each observation with values, on the time axis of the
// throughput: the phases must have the same positions.
func TestObservationsOverTime(t *testing.T) {
	var b bytes.Buffer
	if err := report.HTML(&b, observedPaper().document(t)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	ground := func(id string) string {
		_, chart, found := strings.Cut(page, `data-chart="`+id+`"`)
		if !found {
			t.Errorf("there is no chart %s", id)
		}
		_, band, _ := strings.Cut(chart, `data-name="burst"`)
		_, path, _ := strings.Cut(band, ` d="`)
		path, _, _ = strings.Cut(path, `"`)
		return path
	}
	want := ground("throughput")
	for i := range 3 {
		if got := ground(fmt.Sprintf("observation-%d", i)); got != want || got == "" {
			t.Errorf("observation %d: the phase is drawn at %q, beside the throughput at %q", i, got, want)
		}
	}
	if strings.Contains(page, "observation-3") {
		t.Error("there is a chart of an observation without values")
	}
}
