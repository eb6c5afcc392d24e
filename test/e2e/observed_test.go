package e2e

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/prometheus"
)

// reachablePrometheus starts a Prometheus on the address of this machine that pods can reach.
func (s *space) reachablePrometheus() *prometheus.Server {
	s.Helper()
	var nodes corev1.NodeList
	must(s.T, s.api.List(s.Context(), &nodes))
	node := nodes.Items[0].Status.Addresses[0].Address
	connection, err := net.Dial("udp", net.JoinHostPort(node, "9")) // selects the local address; sends nothing
	must(s.T, err)
	defer func() { _ = connection.Close() }()
	host, _, err := net.SplitHostPort(connection.LocalAddr().String())
	must(s.T, err)
	return prometheus.Reachable(s.T, host, "global: {}\n")
}

// clock is an observation with a known value: the seconds since a given time.
func clock(since time.Time) v1alpha1.Observation {
	return v1alpha1.Observation{Name: "clock", Query: fmt.Sprintf("time() - %d", since.Unix()), Unit: "s"}
}

// checkClock checks that the clock was observed during the measured time of each step and at no other time.
func checkClock(t *testing.T, run *v1alpha1.BenchmarkRun, since time.Time) {
	t.Helper()
	for _, warning := range run.Status.Warnings {
		if strings.HasPrefix(string(warning.Type), "Observation") {
			if strings.Contains(warning.Message, "in time") || strings.Contains(warning.Message, "deadline") {
				t.Skipf("the machine is too busy to query Prometheus: %s", warning.Message)
			}
			t.Errorf("%s: %s", warning.Type, warning.Message)
		}
	}
	if run.Status.Observations == nil || len(run.Status.Observations.Series) != len(run.Spec.Steps) {
		t.Fatalf("the observations of %d steps are %+v", len(run.Spec.Steps), run.Status.Observations)
	}
	for _, observed := range run.Status.Observations.Series {
		value := func(text string) float64 {
			number, err := strconv.ParseFloat(text, 64)
			must(t, err)
			return number
		}
		seconds := func(at time.Time) float64 { return float64(at.UnixMicro()-since.Unix()*1e6) / 1e6 }
		step := stepOf(run, observed.Step)
		if step == nil || step.MeasuredTime == nil || step.LastIOTime == nil {
			t.Errorf("%s was observed, and has no I/O: %+v", observed.Step, step)
			continue
		}
		first, mean, last := value(observed.First), value(observed.Mean), value(observed.Last)
		const millisecond = 1e-3 // the resolution of Prometheus' timestamps
		if first < seconds(step.MeasuredTime.Time)-millisecond || last > seconds(step.LastIOTime.Time)+millisecond ||
			first != value(observed.Min) || last != value(observed.Max) || math.Abs(mean-(first+last)/2) > millisecond {
			t.Errorf("%s: %+v, measured from %g s to %g s", observed.Step, observed, seconds(step.MeasuredTime.Time), seconds(step.LastIOTime.Time))
		}
	}
}
