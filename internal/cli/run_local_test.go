//go:build linux

package cli

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/local"
	"github.com/storagebench/storagebench/internal/report"
)

// TestLaterRunCannotStart checks that the results of earlier runs are shown if a later run cannot start. They are also
// recorded as printed, so that the guard does not report the last one as a run that died.
func TestLaterRunCannotStart(t *testing.T) {
	documents := []report.Document{readDocument(t, "result-a.json"), readDocument(t, "result-b.json")}
	for _, ended := range []int{0, 1, 2} {
		var runs repetitions
		var out, messages, journal bytes.Buffer
		err := runs.conduct(Streams{Out: &out, Err: &messages}, runOptions{repeat: 3, output: "json"}, local.NewJournal(&journal), func() (report.Document, error) {
			if len(runs.documents) == ended {
				return report.Document{}, errors.New("the directory is in use")
			}
			return documents[len(runs.documents)], nil
		})
		if ended == 0 {
			if err == nil || err.Error() != "the directory is in use" || out.Len() > 0 || journal.Len() > 0 {
				t.Errorf("no run: %v, printed %q, journal %q", err, out.String(), journal.String())
			}
			continue
		}
		last := documents[ended-1]
		if err == nil || err.Error() != exitError(report.ExitFailed).Error() || !strings.Contains(out.String(), `"`+last.Run+`"`) {
			t.Errorf("after %d runs: %v, and the result does not name %s:\n%s", ended, err, last.Run, out.String())
		}
		if !strings.Contains(messages.String(), "error: the directory is in use") || !strings.Contains(journal.String(), `"printed":true`) {
			t.Errorf("after %d runs: said %q, journal %q", ended, messages.String(), journal.String())
		}
	}
}

// TestLocalPlanSharesTheDirectory checks that a local plan spends the credits of one directory that all clients share,
// even if the file specifies a claim per client.
func TestLocalPlanSharesTheDirectory(t *testing.T) {
	const text = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: b}
spec:
  run:
    targets:
    - name: data
      documented: {throughput: {baseline: 80M, burst: 800M, bucket: 800G}}
      volumes:
      - name: data
        claimTemplate:
          scope: PerClient
          spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
    clients: {count: 8}
    workload:
      fio: {pattern: Random, readPercent: 0, blockSize: 64Ki, datasetSize: 1Gi, rateLimit: {bytesPerSecond: 50M}}
    phases:
    - name: ramp
      ramp: {dimension: Clients, steps: [1, 8], stepDuration: 20m}
`
	for local, want := range map[bool]float64{false: 52, true: 100} { // per claim: 1200 s * (50 - 10) MB/s = 48 of 100 GB
		read := &source{name: "b.yaml", text: []byte(text)}
		all, err := understand([]*source{read}, loadOptions{local: local})
		if err != nil || len(read.faults) > 0 {
			t.Fatal(err, read.faults)
		}
		if got := all[0].plan.Steps[0].Credits["data"].EndPercent; math.Abs(got-want) > 1 {
			t.Errorf("local is %t: %g %% are left, want %g %%", local, got, want)
		}
	}
}
