package local

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
)

// TestObjectives checks that each objective is judged by its figure, including a percentile for which results have no
// field, and that a missed objective determines the exit code.
func TestObjectives(t *testing.T) {
	t.Parallel()
	// One client: on a busy machine, two may start so far apart that they have too little time in common, and then nothing
	// is judged.
	file := Write(t, "count: 2", "count: 1", "duration: 1s", "duration: 4s", "spec:\n", `spec:
  objectives:
  - {name: some, phase: mixed, operation: Read, throughput: {min: 1k}}
  - {name: tail, phase: mixed, operation: Read, latency: {percentile: "97.5", min: 1us, max: 100s}}
  - {name: layout, phase: layout, iops: {min: 1, max: 1G}}
  - {name: never, phase: mixed, operation: Write, throughput: {min: 1P}}
`)
	got := Call(t, "run", "--local", "-f", file, "--target", "data="+t.TempDir(), "-o", "json")
	document := got.Document(t)
	if got.Code != report.ExitMissed || len(document.Objectives) != 4 {
		t.Fatalf("exit code %d, %+v\n%s", got.Code, document.Objectives, got.Stderr)
	}
	read := document.Phases[1].Targets[0].Operations[0]
	for i, want := range []v1alpha1.Verdict{v1alpha1.VerdictMet, v1alpha1.VerdictMet, v1alpha1.VerdictMet, v1alpha1.VerdictMissed} {
		if one := document.Objectives[i]; one.Verdict != want || one.Observed == nil || one.Required == nil {
			t.Errorf("%+v, want %s", one, want)
		}
	}
	if *document.Objectives[0].Observed != *read.BytesPerSecond {
		t.Errorf("%d B/s are judged, and %d measured", *document.Objectives[0].Observed, *read.BytesPerSecond)
	}
	// A busy machine may leave too few samples for p95 and p99.
	least, most := read.Latency.MinNanoseconds, read.Latency.MaxNanoseconds
	if p95 := read.Latency.P95Nanoseconds; p95 != nil {
		least = *p95
	}
	if p99 := read.Latency.P99Nanoseconds; p99 != nil {
		most = *p99
	}
	if tail := *document.Objectives[1].Observed; tail < least || tail > most {
		t.Errorf("p97.5 is %d, and p95 and p99 are %d and %d", tail, least, most)
	}
	refused := Call(t, "plan", "-f", Write(t, "spec:\n", "spec:\n  objectives: [{name: burst, phase: mixed, burst: {min: 1M}}]\n"))
	if refused.Code != report.ExitFailed || !strings.Contains(refused.Stderr, "spec.objectives[0].phase") {
		t.Errorf("a plan with an objective that cannot be judged: exit code %d\n%s", refused.Code, refused.Stderr)
	}
}
